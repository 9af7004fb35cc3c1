// The tables of a port and of a switch (IBTA vol 1, 14.2.5.7 to 14.2.5.12), 64 bytes at a time: the
// attribute modifier says which block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/ids.h"
#include "wire/layout.h"

namespace tulle::wire {

struct PKeyTable {
    static constexpr size_t kSize = 64;
    std::array<PKey, 32> entries{};
    static constexpr auto kFields = fields(field<&PKeyTable::entries, 512>("entries"));
};

// Modifier: input port in bits 15 to 8, output port in bits 7 to 0.
struct SlToVlMappingTable {
    static constexpr size_t kSize = 8;
    std::array<uint8_t, 16> vl_of_sl{};  // 15: drop
    static constexpr auto kFields = fields(field<&SlToVlMappingTable::vl_of_sl, 64>("vl_of_sl"));
};

struct VlArbitrationEntry {
    static constexpr size_t kSize = 2;
    Bits8 reserved;
    uint8_t vl = 0;
    uint8_t weight = 0;  // in units of 64 bytes; 0: skipped
    static constexpr auto kFields = fields(field<&VlArbitrationEntry::reserved, 4>("reserved"),
                                           field<&VlArbitrationEntry::vl, 4>("vl"),
                                           field<&VlArbitrationEntry::weight, 8>("weight"));
};

// Modifier: block in bits 31 to 16 (1, 2: low priority; 3, 4: high priority), port in the rest.
struct VlArbitrationTable {
    static constexpr size_t kSize = 64;
    std::array<VlArbitrationEntry, 32> entries{};
    static constexpr auto kFields = fields(field<&VlArbitrationTable::entries, 512>("entries"));
};

// Block n: the output ports of the LIDs 64n to 64n + 63.
struct LinearForwardingTable {
    static constexpr size_t kSize = 64;
    std::array<uint8_t, 64> ports{};
    static constexpr auto kFields = fields(field<&LinearForwardingTable::ports, 512>("ports"));
};

struct RandomForwardingEntry {
    static constexpr size_t kSize = 4;
    Lid lid;
    bool valid = false;
    uint8_t lmc = 0;
    Bits8 reserved;
    uint8_t port = 0;
    static constexpr auto kFields = fields(field<&RandomForwardingEntry::lid, 16>("lid"),
                                           field<&RandomForwardingEntry::valid, 1>("valid"),
                                           field<&RandomForwardingEntry::lmc, 3>("lmc"),
                                           field<&RandomForwardingEntry::reserved, 4>("reserved"),
                                           field<&RandomForwardingEntry::port, 8>("port"));
};

struct RandomForwardingTable {
    static constexpr size_t kSize = 64;
    std::array<RandomForwardingEntry, 16> entries{};
    static constexpr auto kFields = fields(field<&RandomForwardingTable::entries, 512>("entries"));
};

// Modifier: position in bits 31 to 28 (ports 16p to 16p + 15), block in bits 8 to 0 (the multicast
// LIDs from 0xc000 + 32n on). Bit k of a mask is port 16p + k.
struct MulticastForwardingTable {
    static constexpr size_t kSize = 64;
    std::array<Bits16, 32> port_masks{};
    static constexpr auto kFields =
        fields(field<&MulticastForwardingTable::port_masks, 512>("port_masks"));
};

}  // namespace tulle::wire
