// A file descriptor that its destructor closes.
#pragma once

#include <unistd.h>

#include <utility>

namespace tulle::cli {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }

    int get() const { return value_; }
    int release() { return std::exchange(value_, -1); }
    explicit operator bool() const { return value_ >= 0; }

private:
    int value_ = -1;
};

}  // namespace tulle::cli
