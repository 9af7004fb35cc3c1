// A management datagram as sent: 256 bytes. Fields that every hop needs are read and written in
// place; attributes go through the field lists of wire/mad.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/mad/smp.h"

namespace tulle::control {

inline constexpr uint16_t kPermissiveLid = 0xffff;
inline constexpr uint8_t kManagementLane = 15;  // for SMPs; all other MADs use data lanes

class MadBytes {
public:
    wire::Bytes bytes() const { return bytes_; }
    wire::MutableBytes bytes() { return bytes_; }

    uint8_t management_class() const { return at(1); }
    bool is_directed() const { return at(1) == wire::kClassSubnetDirectedRoute; }
    uint8_t method() const { return at(3); }
    bool is_smp() const { return is_directed() || at(1) == wire::kClassSubnetLidRouted; }
    bool is_returning() const { return (at(4) & 0x80) != 0; }
    uint8_t hop_pointer() const { return at(6); }
    void set_hop_pointer(uint8_t hop) { put(6, hop); }
    uint8_t hop_count() const { return at(7); }
    // Entries 1 to 63. Only a wrong SMP names others, and it is never sent on.
    uint8_t initial_path(uint8_t hop) const { return at(kInitialPath + hop % 64); }
    uint8_t return_path(uint8_t hop) const { return at(kReturnPath + hop % 64); }
    void set_return_path(uint8_t hop, uint8_t port) { put(kReturnPath + hop % 64, port); }
    uint16_t attribute() const { return static_cast<uint16_t>(at(16) << 8 | at(17)); }
    uint32_t modifier() const { return word(20); }
    uint64_t transaction() const { return uint64_t{word(8)} << 32 | word(12); }
    uint16_t status() const { return static_cast<uint16_t>((at(4) << 8 | at(5)) & 0x7fff); }
    uint64_t m_key() const { return uint64_t{word(24)} << 32 | word(28); }

    wire::Bytes data() const {
        return wire::Bytes(bytes_).subspan(wire::kSmpDataOffset, wire::kSmpDataSize);
    }
    wire::MutableBytes data() {
        return wire::MutableBytes(bytes_).subspan(wire::kSmpDataOffset, wire::kSmpDataSize);
    }

    // Turns a request into its answer, which takes the same path back.
    void answer(uint16_t status) {
        const bool is_set = method() == wire::kMethodSet;
        put(3, is_set ? uint8_t{wire::kMethodGetResp}
                      : static_cast<uint8_t>(method() | wire::kMethodResponse));
        const uint8_t direction = is_directed() ? 0x80 : 0;
        put(4, static_cast<uint8_t>(direction | (status >> 8 & 0x7f)));
        put(5, static_cast<uint8_t>(status));
    }

private:
    static constexpr size_t kInitialPath = 128;
    static constexpr size_t kReturnPath = 192;

    uint8_t at(size_t i) const { return static_cast<uint8_t>(bytes_[i]); }
    void put(size_t i, uint8_t value) { bytes_[i] = std::byte{value}; }
    uint32_t word(size_t i) const {
        return uint32_t{at(i)} << 24 | uint32_t{at(i + 1)} << 16 | uint32_t{at(i + 2)} << 8 |
               at(i + 3);
    }

    std::array<std::byte, wire::kMadSize> bytes_{};
};
static_assert(sizeof(MadBytes) == wire::kMadSize);

}  // namespace tulle::control
