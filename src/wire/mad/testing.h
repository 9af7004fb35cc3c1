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

// CM messages of the Linux kernel, from the captures cm-rping, cm-reject and cm-udaddy-sidr; zeros
// follow.
namespace captured_cm {

inline constexpr const char* kReq = R"(
    010702030000000000000002ceacc638001000000000000038c6acce000000000000000001061c06
    505400fffe77000200000000000000000000410100000001000000a0655958a7ffff37f0ffffffff
    00000000000000000000ffff0a4d000200000000000000000000ffff0a4d00039472e00000400098
    00000000000000000000000000000000000000000000000000000000000000000000000000000000
    000000000040cfd80000000000000000000000000a4d00020000000000000000000000000a4d0003)";

inline constexpr const char* kRep = R"(
    010702030000000000000002ceacc6380013000000000000c67d35b838c6acce0000000000004100
    00000000fb14d300010178e0505400fffe770003)";

inline constexpr const char* kRtu = R"(
    010702030000000000000002ceacc638001400000000000038c6accec67d35b8)";

inline constexpr const char* kDreq = R"(
    010702030000000000000002ceacc638001500000000000038c6accec67d35b8000041)";

inline constexpr const char* kDrep = R"(
    010702030000000000000002ceacc6380016000000000000c67d35b838c6acce)";

inline constexpr const char* kRej = R"(
    010702030000000000000002ceacc63e0012000000000000000000003ec6acce00000008)";

inline constexpr const char* kSidrReq = R"(
    010702030000000000000002ceacc63c00170000000000003cc6acceffff00000000000001111c06
    00408d050000000000000000000000000a4d00020000000000000000000000000a4d0003)";

inline constexpr const char* kSidrRep = R"(
    010702030000000000000002ceacc63c00180000000000003cc6acce000000000000450000000000
    01111c0601234567)";

}  // namespace captured_cm

}  // namespace tulle::wire::testing
