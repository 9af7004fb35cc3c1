// No exception reaches a program, which may be written in C: missing memory and refused threads
// become the errno of the call, and NULL if it returns a pointer.
//
// Each call is defined under its name, as if it were exported. A header that CMake generates from
// the list lib*.guarded renames it to tulle_inner_NAME. The exported NAME is a jump to
// Guard<tulle_inner_NAME>::call, which catches. Tables of operations hold such guards, too.
//
// Only exceptions of the standard library are caught. The one by which the C library ends a thread
// (pthread_cancel) passes through.
#pragma once

#include <cerrno>
#include <new>
#include <system_error>
#include <type_traits>

#include "verbs/explain.h"

namespace tulle::verbs {

// How a call reports failure, if it does not return a pointer.
enum class Failure { error_number, minus_one, negative_error };

template <class Answer, Failure how>
Answer failed(int error) {
    errno = error;
    if constexpr (std::is_pointer_v<Answer>)
        return nullptr;
    else if constexpr (!std::is_void_v<Answer>)
        return static_cast<Answer>(how == Failure::error_number     ? error
                                   : how == Failure::negative_error ? -error
                                                                    : -1);
}

// The errno of a call's result; 0 if it is no failure.
template <Failure how, class Answer>
int error_of(const Answer& answer) {
    if constexpr (std::is_pointer_v<Answer>)
        return answer == nullptr ? errno : 0;
    else if constexpr (how == Failure::error_number)
        return static_cast<int>(answer);
    else if constexpr (how == Failure::negative_error)
        return answer < 0 ? -static_cast<int>(answer) : 0;
    else
        return answer == static_cast<Answer>(-1) ? errno : 0;
}

// Name: a type with the name of the call, for the message about a refused call; void if failing is
// usual.
template <auto Call, Failure how, class Name>
struct Guard;

template <class Answer, class... Arguments, Answer (*Call)(Arguments...), Failure how, class Name>
struct Guard<Call, how, Name> {
    static Answer call(Arguments... arguments) {
        try {
            if constexpr (std::is_void_v<Answer>) {
                return Call(arguments...);
            } else {
                const Answer answer = Call(arguments...);
                if constexpr (!std::is_void_v<Name>)
                    if (const int error = error_of<how>(answer)) [[unlikely]]
                        on_refused(Name::text(), error, arguments...);
                return answer;
            }
        } catch (const std::system_error& error) {
            return failed<Answer, how>(error.code().value());
        } catch (const std::exception&) {
            return failed<Answer, how>(ENOMEM);
        }
    }
};

}  // namespace tulle::verbs

// For tables of operations.
#define TULLE_GUARD(function, how)                                 \
    ([] {                                                          \
        struct Name {                                              \
            static const char* text() { return "ibv_" #function; } \
        };                                                         \
        return Guard<function, Failure::how, Name>::call;          \
    }())

#if defined(__x86_64__)
#define TULLE_JUMP(name) "endbr64\n jmp *tulle_guard_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define TULLE_JUMP(name)                                                                \
    "bti c\n adrp x16, tulle_guard_" #name "\n ldr x16, [x16, :lo12:tulle_guard_" #name \
    "]\n br x16\n"
#endif

// The exported name. A jump passes on any arguments, which no generic function could do.
#define TULLE_GUARDED_EXPORT(name, how, Name)                                              \
    extern "C" {                                                                           \
    extern __attribute__((visibility("hidden"))) decltype(&name) const tulle_guard_##name; \
    decltype(&name) const tulle_guard_##name =                                             \
        tulle::verbs::Guard<tulle_inner_##name, tulle::verbs::Failure::how, Name>::call;   \
    }                                                                                      \
    __asm__(".pushsection .text\n .p2align 4\n .globl " #name "\n .type " #name            \
            ",@function\n" #name ":\n" TULLE_JUMP(name) ".size " #name ", .-" #name        \
                                                        "\n .popsection");
#define TULLE_GUARDED(name, how)                    \
    namespace {                                     \
    struct NameOf_##name {                          \
        static const char* text() { return #name; } \
    };                                              \
    }                                               \
    TULLE_GUARDED_EXPORT(name, how, NameOf_##name)
// For calls that often fail in normal use: no message.
#define TULLE_GUARDED_QUIETLY(name, how) TULLE_GUARDED_EXPORT(name, how, void)
