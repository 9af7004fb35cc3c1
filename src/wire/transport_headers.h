// The headers of the InfiniBand transport (IBTA vol 1, 9.2 to 9.4 and annex A19): the base
// transport header, followed by the extended headers that the opcode requires (opcode.h).
#pragma once

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

// Base transport header (9.2): first header of every transport packet.
struct Bth {
    static constexpr size_t kSize = 12;
    Bits8 opcode;
    bool solicited_event = false;
    bool migrated = false;
    uint8_t pad_count = 0;  // bytes that pad the payload to a multiple of four
    uint8_t transport_version = 0;
    PKey pkey = kDefaultPKey;
    bool fecn = false;
    bool becn = false;
    Bits8 reserved_a;
    Qpn dest_qp;
    bool ack_request = false;
    Bits8 reserved_b;
    Psn psn;
    static constexpr auto kFields =
        fields(field<&Bth::opcode, 8>("opcode"), field<&Bth::solicited_event, 1>("solicited_event"),
               field<&Bth::migrated, 1>("migrated"), field<&Bth::pad_count, 2>("pad_count"),
               field<&Bth::transport_version, 4>("transport_version"),
               field<&Bth::pkey, 16>("pkey"), field<&Bth::fecn, 1>("fecn"),
               field<&Bth::becn, 1>("becn"), field<&Bth::reserved_a, 6>("reserved_a"),
               field<&Bth::dest_qp, 24>("dest_qp"), field<&Bth::ack_request, 1>("ack_request"),
               field<&Bth::reserved_b, 7>("reserved_b"), field<&Bth::psn, 24>("psn"));
};

// Reliable datagram (9.3.1): the end-to-end context that carries the packet.
struct Rdeth {
    static constexpr size_t kSize = 4;
    Bits8 reserved;
    EeContext ee_context;
    static constexpr auto kFields =
        fields(field<&Rdeth::reserved, 8>("reserved"), field<&Rdeth::ee_context, 24>("ee_context"));
};

// Datagram (9.3.2).
struct Deth {
    static constexpr size_t kSize = 8;
    QKey qkey;
    Bits8 reserved;
    Qpn source_qp;
    static constexpr auto kFields =
        fields(field<&Deth::qkey, 32>("qkey"), field<&Deth::reserved, 8>("reserved"),
               field<&Deth::source_qp, 24>("source_qp"));
};

// Extended reliable connection (annex A14): the shared receive queue of the target.
struct Xrceth {
    static constexpr size_t kSize = 4;
    Bits8 reserved;
    SrqNumber srq;
    static constexpr auto kFields =
        fields(field<&Xrceth::reserved, 8>("reserved"), field<&Xrceth::srq, 24>("srq"));
};

// FLUSH (annex A19): what to make visible or persistent, and over which range.
struct Feth {
    static constexpr size_t kSize = 4;
    Bits32 reserved;
    uint8_t selectivity = 0;  // 0: the memory range of the RETH, 1: the whole region
    Bits8 placement;          // bit 0: global visibility, bit 1: persistence
    static constexpr auto kFields =
        fields(field<&Feth::reserved, 26>("reserved"), field<&Feth::selectivity, 2>("selectivity"),
               field<&Feth::placement, 4>("placement"));
};

// RDMA (9.3.3).
struct Reth {
    static constexpr size_t kSize = 16;
    VirtualAddress virtual_address;
    RKey rkey;
    uint32_t dma_length = 0;
    static constexpr auto kFields =
        fields(field<&Reth::virtual_address, 64>("virtual_address"), field<&Reth::rkey, 32>("rkey"),
               field<&Reth::dma_length, 32>("dma_length"));
};

// Atomic request (9.3.4).
struct AtomicEth {
    static constexpr size_t kSize = 28;
    VirtualAddress virtual_address;
    RKey rkey;
    Key64 swap_or_add;
    Key64 compare;
    static constexpr auto kFields = fields(
        field<&AtomicEth::virtual_address, 64>("virtual_address"),
        field<&AtomicEth::rkey, 32>("rkey"), field<&AtomicEth::swap_or_add, 64>("swap_or_add"),
        field<&AtomicEth::compare, 64>("compare"));
};

// Acknowledgement (9.3.5); syndrome.h explains the syndrome.
struct Aeth {
    static constexpr size_t kSize = 4;
    Bits8 syndrome;
    uint32_t msn = 0;  // message sequence number, 24 bits
    static constexpr auto kFields =
        fields(field<&Aeth::syndrome, 8>("syndrome"), field<&Aeth::msn, 24>("msn"));
};

// Answer to an atomic request (9.5.3): the value before the operation.
struct AtomicAckEth {
    static constexpr size_t kSize = 8;
    Key64 original;
    static constexpr auto kFields = fields(field<&AtomicAckEth::original, 64>("original"));
};

// Immediate data (9.3.6).
struct ImmDt {
    static constexpr size_t kSize = 4;
    Bits32 immediate;
    static constexpr auto kFields = fields(field<&ImmDt::immediate, 32>("immediate"));
};

// Invalidate (9.3.7): the key that the responder invalidates.
struct Ieth {
    static constexpr size_t kSize = 4;
    RKey rkey;
    static constexpr auto kFields = fields(field<&Ieth::rkey, 32>("rkey"));
};

// The sixteen reserved bytes of a congestion notification packet (annex A17.9.3).
struct CnpReserved {
    static constexpr size_t kSize = 16;
    std::array<uint8_t, 16> reserved{};
    static constexpr auto kFields = fields(field<&CnpReserved::reserved, 128>("reserved"));
};

}  // namespace tulle::wire
