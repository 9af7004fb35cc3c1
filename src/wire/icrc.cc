#include "wire/icrc.h"

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

    // Eight bytes of ones stand before the headers where there is no LRH.
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

uint16_t vcrc(Bytes covered) {
    return crc16_finish(crc16_update(kCrc16Start, covered));
}

}  // namespace tulle::wire
