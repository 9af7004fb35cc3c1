// A value, or a sentence that says why there is none. Mistakes of a user or a peer travel in a
// Result; no exception crosses the border of a room.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace tulle::base {

// One sentence for a person: what is wrong, where, and what to write instead.
struct Error {
    std::string message;
};

template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() {
        TULLE_CHECK(ok());
        return *std::get_if<0>(&state_);
    }
    const T& value() const {
        TULLE_CHECK(ok());
        return *std::get_if<0>(&state_);
    }
    const Error& error() const {
        TULLE_CHECK(!ok());
        return *std::get_if<1>(&state_);
    }

    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

private:
    std::variant<T, Error> state_;
};

}  // namespace tulle::base
