#include "wire/icrc.h"

#include <algorithm>
#include <cstring>

#include "wire/crc.h"
#include "wire/ip.h"
#include "wire/link.h"
#include "wire/transport_headers.h"

namespace tulle::wire {
namespace {

constexpr std::byte kOnes{0xff};
constexpr size_t kLargestEnvelope = Lrh::kSize + Grh::kSize + Udp::kSize;

void mask_grh(std::byte* grh) {
    grh[0] |= std::byte{0x0f};
    grh[1] = grh[2] = grh[3] = kOnes;
    grh[7] = kOnes;
}

void mask_ipv4(std::byte* ip) {
    ip[1] = ip[8] = ip[10] = ip[11] = kOnes;
}

void mask_udp(std::byte* udp) {
    udp[6] = udp[7] = kOnes;
}

void mask_envelope(Encapsulation encapsulation, std::byte* headers) {
    switch (encapsulation) {
        case Encapsulation::infiniband_local: headers[0] |= std::byte{0xf0}; return;
        case Encapsulation::infiniband_global:
            std::memset(headers, 0xff, Lrh::kSize);
            mask_grh(headers + Lrh::kSize);
            return;
        case Encapsulation::roce_v1: mask_grh(headers); return;
        case Encapsulation::roce_v2_ipv4:
            mask_ipv4(headers);
            mask_udp(headers + Ipv4::kSize);
            return;
        case Encapsulation::roce_v2_ipv6:
            mask_grh(headers);
            mask_udp(headers + Grh::kSize);
            return;
    }
}

// Polynomials modulo that of CRC-32; the lowest power is in the highest bit.
constexpr uint32_t kPolynomial = 0xedb8'8320;

uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = 0x8000'0000; bit != 0; bit >>= 1) {
        if ((a & bit) != 0) product ^= b;
        b = (b & 1) != 0 ? b >> 1 ^ kPolynomial : b >> 1;
    }
    return product;
}

// The factor that removes this many bytes from a register: x to the power of minus eight per byte.
uint32_t undo_bytes(size_t bytes) {
    constexpr uint32_t kOne = 0x8000'0000;
    uint32_t step = (kOne ^ kPolynomial) << 1 | 1;  // one bit
    for (int squares = 0; squares < 3; ++squares) step = multiply(step, step);
    uint32_t power = kOne;
    for (; bytes != 0; bytes >>= 1, step = multiply(step, step))
        if ((bytes & 1) != 0) power = multiply(power, step);
    return power;
}

// What each byte of the identification, bytes 4 and 5 of the header, adds to the state after an
// IPv4 envelope. This works because a CRC is linear.
using ByTwoBytes = std::array<std::array<uint32_t, 256>, 2>;
ByTwoBytes identification_table() {
    constexpr size_t kEnvelope = Ipv4::kSize + Udp::kSize;
    ByTwoBytes table{};
    for (size_t place = 0; place < table.size(); ++place) {
        std::array<std::byte, kEnvelope> bytes{};
        for (size_t value = 0; value < table[place].size(); ++value) {
            bytes[4 + place] = static_cast<std::byte>(value);
            table[place][value] = crc32_update(0, bytes);
        }
    }
    return table;
}

bool lacks_lrh(Encapsulation encapsulation) {
    return encapsulation >= Encapsulation::roce_v1;
}

}  // namespace

size_t icrc_envelope_size(Encapsulation encapsulation) {
    switch (encapsulation) {
        case Encapsulation::infiniband_local: return Lrh::kSize;
        case Encapsulation::infiniband_global: return Lrh::kSize + Grh::kSize;
        case Encapsulation::roce_v1: return Grh::kSize;
        case Encapsulation::roce_v2_ipv4: return Ipv4::kSize + Udp::kSize;
        case Encapsulation::roce_v2_ipv6: return Grh::kSize + Udp::kSize;
    }
    return 0;
}

uint32_t icrc(Encapsulation encapsulation, Bytes covered) {
    const size_t envelope = icrc_envelope_size(encapsulation);
    const size_t headers = envelope + Bth::kSize;
    TULLE_CHECK(covered.size() >= headers);

    // Eight bytes of ones replace a missing LRH.
    std::array<std::byte, Lrh::kSize + kLargestEnvelope + Bth::kSize> masked;
    masked.fill(kOnes);
    std::byte* copy = masked.data() + Lrh::kSize;
    std::memcpy(copy, covered.data(), headers);
    mask_envelope(encapsulation, copy);
    copy[envelope + 4] = kOnes;

    const Bytes prefix = lacks_lrh(encapsulation) ? Bytes(masked.data(), Lrh::kSize + headers)
                                                  : Bytes(copy, headers);
    const uint32_t state = crc32_update(kCrc32Start, prefix);
    return crc32_finish(crc32_update(state, covered.subspan(headers)));
}

uint32_t icrc_of_envelope(Encapsulation encapsulation, Bytes envelope) {
    TULLE_CHECK(lacks_lrh(encapsulation) && envelope.size() == icrc_envelope_size(encapsulation));
    std::array<std::byte, Lrh::kSize + kLargestEnvelope> masked;
    std::memset(masked.data(), 0xff, Lrh::kSize);
    std::byte* copy = masked.data() + Lrh::kSize;
    std::memcpy(copy, envelope.data(), envelope.size());
    mask_envelope(encapsulation, copy);
    return crc32_update(kCrc32Start, Bytes(masked.data(), Lrh::kSize + envelope.size()));
}

uint32_t icrc_with_identification(uint32_t state, uint16_t identification) {
    static const ByTwoBytes table = identification_table();
    return state ^ table[0][identification >> 8] ^ table[1][identification & 0xff];
}

uint32_t icrc_with(uint32_t state, Bytes transport) {
    TULLE_CHECK(transport.size() >= Bth::kSize);
    constexpr size_t kTogether = Bth::kSize + 4;  // two steps of the tables
    std::array<std::byte, kTogether> masked;
    const size_t first = std::min(kTogether, transport.size());
    std::memcpy(masked.data(), transport.data(), first);
    masked[4] = kOnes;
    state = crc32_update(state, Bytes(masked.data(), first));
    return crc32_finish(crc32_update(state, transport.subspan(first)));
}

// A CRC is linear: the difference of two depends only on the differing field, as if the field had
// been fed into an empty register, followed by zeros. Dividing by the factor of those zeros gives
// the field.
std::optional<uint16_t> identification_for(uint32_t expected, uint32_t found, size_t covered) {
    constexpr size_t kBefore = 4;  // bytes of the IPv4 header before the field
    const uint32_t field = multiply(expected ^ found, undo_bytes(covered - kBefore));
    if (field > 0xffff) return std::nullopt;
    return static_cast<uint16_t>((field & 0xff) << 8 | field >> 8);
}

uint16_t vcrc(Bytes covered) {
    return crc16_finish(crc16_update(kCrc16Start, covered));
}

}  // namespace tulle::wire
