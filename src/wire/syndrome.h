// The syndrome of an acknowledgement (IBTA vol 1, 9.7.5.1.1): two bits say whether it is an ACK, an
// RNR NAK or a NAK, five bits give the credits, the wait, or the reason.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

namespace tulle::wire {

enum class AckKind : uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };

enum class NakCode : uint8_t {
    psn_sequence_error = 0,
    invalid_request = 1,
    remote_access_error = 2,
    remote_operational_error = 3,
    invalid_rd_request = 4,
};

inline constexpr uint8_t kNoCredits = 31;  // the responder does not grant end-to-end credits

constexpr uint8_t syndrome_of(AckKind kind, uint8_t code) {
    return static_cast<uint8_t>(static_cast<uint8_t>(kind) << 5 | (code & 0x1f));
}
constexpr uint8_t syndrome_of(NakCode code) {
    return syndrome_of(AckKind::nak, static_cast<uint8_t>(code));
}
constexpr AckKind ack_kind(uint8_t syndrome) {
    return static_cast<AckKind>(syndrome >> 5 & 3);
}
constexpr uint8_t ack_code(uint8_t syndrome) {
    return syndrome & 0x1f;
}

// Both code tables of the specification run 1, 2, 3, 4, 6, 8, 12, 16, 24 ...: powers of two, with
// one and a half times each between them.
constexpr uint32_t half_step(uint8_t code) {
    if (code < 2) return code;
    return code % 2 == 0 ? 1u << (code / 2) : 3u << ((code - 3) / 2);
}

// Receives that the responder has posted, by credit code (table 46); not for kNoCredits.
constexpr uint32_t credits_of(uint8_t code) {
    return half_step(code);
}
// The code for this number, or for the next smaller one in the table: twice the position of the
// highest bit, plus one if the bit below it is set.
constexpr uint8_t credit_code_of(uint32_t receives) {
    if (receives < 2) return static_cast<uint8_t>(receives);
    const auto highest = static_cast<uint32_t>(std::bit_width(receives)) - 1;
    const uint32_t code = 2 * highest + (receives >> (highest - 1) & 1);
    return static_cast<uint8_t>(std::min<uint32_t>(code, kNoCredits - 1));
}

// The wait that an RNR NAK requests, by timer code (table 47).
constexpr uint32_t rnr_wait_microseconds(uint8_t code) {
    return 10 * (code == 0 ? 65536 : half_step(code));
}

// "PSN sequence error", "remote access error" ...
std::string_view nak_reason(uint8_t code);

}  // namespace tulle::wire
