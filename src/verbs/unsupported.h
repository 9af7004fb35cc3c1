// Operations that this device does not support. They return an errno, or nullptr and errno if the
// result is a pointer.
#pragma once

#include <cerrno>
#include <type_traits>

namespace tulle::verbs {

template <class Answer, class... Arguments>
Answer unsupported(Arguments...) {
    if constexpr (std::is_pointer_v<Answer>) {
        errno = EOPNOTSUPP;
        return nullptr;
    } else if constexpr (!std::is_void_v<Answer>) {
        return static_cast<Answer>(EOPNOTSUPP);
    }
}

// Fills an entry of a table with the result for its type.
template <class Answer, class... Arguments>
void refuse(Answer (*&entry)(Arguments...)) {
    entry = unsupported<Answer, Arguments...>;
}

}  // namespace tulle::verbs
