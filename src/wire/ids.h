// Identifiers and numbers in packets, each with its own type: a PSN cannot be passed as a QPN.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace tulle::wire {

struct Psn {  // 24 bits on the wire; compare with psn_before(), never with <
    uint32_t value = 0;
    bool operator==(const Psn&) const = default;
};

struct Qpn {  // 24 bits on the wire
    uint32_t value = 0;
    auto operator<=>(const Qpn&) const = default;
};

struct EeContext {  // end-to-end context of the reliable datagram service, 24 bits on the wire
    uint32_t value = 0;
    auto operator<=>(const EeContext&) const = default;
};

struct SrqNumber {  // shared receive queue of an XRC target, 24 bits on the wire
    uint32_t value = 0;
    auto operator<=>(const SrqNumber&) const = default;
};

struct Lid {
    uint16_t value = 0;
    auto operator<=>(const Lid&) const = default;
};

struct PKey {  // partition key: bit 15 is full membership
    uint16_t value = 0;
    auto operator<=>(const PKey&) const = default;
};

struct QKey {  // bit 31: only privileged consumers may send with it
    uint32_t value = 0;
    auto operator<=>(const QKey&) const = default;
};

struct RKey {
    uint32_t value = 0;
    auto operator<=>(const RKey&) const = default;
};

struct VirtualAddress {
    uint64_t value = 0;
    auto operator<=>(const VirtualAddress&) const = default;
};

struct Guid {
    uint64_t value = 0;
    auto operator<=>(const Guid&) const = default;
};

struct Key64 {  // M_Key, SA_Key and other 64-bit keys, identifiers and masks: read as hexadecimal
    uint64_t value = 0;
    auto operator<=>(const Key64&) const = default;
};

struct Bits8 {  // reserved bits, flags and codes that a person reads as hexadecimal
    uint8_t value = 0;
    auto operator<=>(const Bits8&) const = default;
};

struct Bits16 {
    uint16_t value = 0;
    auto operator<=>(const Bits16&) const = default;
};

struct Bits32 {
    uint32_t value = 0;
    auto operator<=>(const Bits32&) const = default;
};

struct Gid {  // also an IPv6 address
    std::array<uint8_t, 16> bytes{};
    auto operator<=>(const Gid&) const = default;
};

struct Ipv4Address {
    std::array<uint8_t, 4> bytes{};
    auto operator<=>(const Ipv4Address&) const = default;
};

struct MacAddress {
    std::array<uint8_t, 6> bytes{};
    auto operator<=>(const MacAddress&) const = default;
};

inline constexpr uint32_t kPsnMask = 0xff'ffff;
inline constexpr PKey kDefaultPKey{0xffff};
inline constexpr Lid kPermissiveLid{0xffff};
inline constexpr QKey kGsiQKey{0x8001'0000};  // Q_Key of QP 1 (IBTA vol 1, 10.2.5)

constexpr Psn psn_plus(Psn psn, uint32_t count) {
    return Psn{(psn.value + count) & kPsnMask};
}

// The distance from `from` up to `to` on the 24-bit circle.
constexpr uint32_t psn_distance(Psn from, Psn to) {
    return (to.value - from.value) & kPsnMask;
}

// True if `a` comes before `b` in the circular 24-bit sequence space.
constexpr bool psn_before(Psn a, Psn b) {
    const uint32_t distance = psn_distance(a, b);
    return distance != 0 && distance < 0x80'0000;
}

// An IPv4 address in the form of a GID, ::ffff:a.b.c.d (RFC 4291, 2.5.5.2).
constexpr Gid gid_of(Ipv4Address address) {
    Gid gid;
    gid.bytes[10] = gid.bytes[11] = 0xff;
    for (size_t i = 0; i < 4; ++i) gid.bytes[12 + i] = address.bytes[i];
    return gid;
}

inline constexpr size_t kIpv4Prefix = 12;  // bytes of a GID before an IPv4 address

constexpr bool is_ipv4(const Gid& gid) {
    constexpr Gid kAny = gid_of(Ipv4Address{});
    for (size_t i = 0; i < kIpv4Prefix; ++i)
        if (gid.bytes[i] != kAny.bytes[i]) return false;
    return true;
}

}  // namespace tulle::wire
