// For the tests of this folder: datagrams written as hexadecimal text.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/check.h"

namespace tulle::wire::testing {

// N bytes: the text's, then zeros. Spaces and line ends in the text are for the reader.
template <size_t N>
std::array<std::byte, N> from_hex(std::string_view text) {
    std::array<std::byte, N> bytes{};
    size_t digits = 0;
    for (const char c : text) {
        if (c == ' ' || c == '\n') continue;
        const auto digit = static_cast<size_t>(c <= '9' ? c - '0' : c - 'a' + 10);
        TULLE_CHECK(digit < 16 && digits < 2 * N);
        bytes[digits / 2] |= static_cast<std::byte>(digits % 2 == 0 ? digit << 4 : digit);
        ++digits;
    }
    return bytes;
}

}  // namespace tulle::wire::testing
