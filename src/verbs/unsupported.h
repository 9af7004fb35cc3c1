// Operations that this device does not have: they say so, whatever they are called with. An errno
// where the answer is a number, nullptr and errno where it is a pointer.
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

// Fills a table's entry with the answer of its type.
template <class Answer, class... Arguments>
void refuse(Answer (*&entry)(Arguments...)) {
    entry = unsupported<Answer, Arguments...>;
}

}  // namespace tulle::verbs
