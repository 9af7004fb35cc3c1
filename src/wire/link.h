// InfiniBand's link layer (IBTA vol 1, 7): the local route header at the start of every data
// packet, and the flow-control packet that grants credits for one virtual lane.
#pragma once

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

// The header after the local route header (LNH).
enum class NextHeader : uint8_t { raw = 0, ip = 1, bth = 2, grh = 3 };

// Local route header (IBTA vol 1, 7.7).
struct Lrh {
    static constexpr size_t kSize = 8;
    uint8_t virtual_lane = 0;
    uint8_t link_version = 0;
    uint8_t service_level = 0;
    Bits8 reserved_a;
    NextHeader next_header = NextHeader::bth;
    Lid destination;
    Bits8 reserved_b;
    uint16_t packet_words = 0;  // four-byte words from this header to the ICRC, inclusive
    Lid source;
    static constexpr auto kFields = fields(
        field<&Lrh::virtual_lane, 4>("virtual_lane"), field<&Lrh::link_version, 4>("link_version"),
        field<&Lrh::service_level, 4>("service_level"), field<&Lrh::reserved_a, 2>("reserved_a"),
        field<&Lrh::next_header, 2>("next_header"), field<&Lrh::destination, 16>("destination"),
        field<&Lrh::reserved_b, 5>("reserved_b"), field<&Lrh::packet_words, 11>("packet_words"),
        field<&Lrh::source, 16>("source"));
};

// Flow-control packet (IBTA vol 1, 7.9.4): counts blocks of 64 bytes, modulo 4096.
struct FlowControl {
    static constexpr size_t kSize = 6;
    static constexpr uint8_t kNormal = 0;
    static constexpr uint8_t kInit = 1;
    uint8_t operation = kNormal;
    uint16_t total_blocks_sent = 0;  // FCTBS
    uint8_t virtual_lane = 0;
    uint16_t credit_limit = 0;  // FCCL
    Bits16 lpcrc;
    static constexpr auto kFields =
        fields(field<&FlowControl::operation, 4>("operation"),
               field<&FlowControl::total_blocks_sent, 12>("total_blocks_sent"),
               field<&FlowControl::virtual_lane, 4>("virtual_lane"),
               field<&FlowControl::credit_limit, 12>("credit_limit"),
               field<&FlowControl::lpcrc, 16>("lpcrc"));
};

}  // namespace tulle::wire
