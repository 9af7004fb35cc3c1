// Memory that processes share: an anonymous file that has no name, so that nothing is left behind
// whoever dies. Its size is sealed: a peer that could shrink it could kill us with a bus error.
#pragma once

#include <cstddef>

#include "live/descriptor.h"

namespace tulle::live {

class SharedMemory {
public:
    enum class Peers { read, write };  // what others may do with it

    SharedMemory() = default;
    ~SharedMemory();
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;

    // Zeros, mapped for reading and writing here. Empty if there is no room.
    static SharedMemory create(size_t bytes, Peers peers);
    // What a peer has sent. Empty unless it has this size and cannot change it.
    static SharedMemory map(Descriptor file, size_t bytes, Peers peers);

    explicit operator bool() const { return address_ != nullptr; }
    std::byte* data() const { return address_; }
    int file() const { return file_.get(); }  // of memory that was created here
    void close_file() { file_.reset(); }      // the mapping stays

private:
    bool map_here(size_t bytes, bool writable);

    Descriptor file_;
    std::byte* address_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace tulle::live
