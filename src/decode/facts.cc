#include "decode/facts.h"

namespace tulle::decode {
namespace {

constexpr uint8_t kCongestionExperienced = 3;

// The length from the BTH to the ICRC, by the headers in front. The frame was parsed, so these
// lengths cover at least their own headers.
size_t transport_size(const wire::Frame& frame) {
    switch (frame.encapsulation) {
        case wire::Encapsulation::infiniband_local:
            return size_t{frame.lrh.packet_words} * 4 - wire::Lrh::kSize;
        case wire::Encapsulation::infiniband_global:
            return size_t{frame.lrh.packet_words} * 4 - wire::Lrh::kSize - wire::Grh::kSize;
        case wire::Encapsulation::roce_v1: return frame.grh.payload_length;
        case wire::Encapsulation::roce_v2_ipv4:
        case wire::Encapsulation::roce_v2_ipv6: return frame.udp.length - wire::Udp::kSize;
    }
    return 0;
}

}  // namespace

uint32_t payload_bytes(const wire::Frame& frame) {
    if (!frame.cut) return static_cast<uint32_t>(frame.payload.size());
    return static_cast<uint32_t>(transport_size(frame) - frame.transport.size() -
                                 frame.transport.bth.pad_count - wire::kIcrcSize);
}

Checksums check(const wire::Frame& frame, wire::Bytes bytes) {
    Checksums checksums;
    if (frame.kind == wire::FrameKind::transport && !frame.cut) {
        checksums.icrc = frame.icrc.value == wire::expected_icrc(frame, bytes);
        if (frame.has_vcrc) checksums.vcrc = frame.vcrc.value == wire::expected_vcrc(frame, bytes);
    }
    if (frame.kind == wire::FrameKind::flow_control) {
        // Stored little endian, as the VCRC; the header description reads big endian.
        checksums.lpcrc = frame.flow_control.lpcrc == wire::expected_lpcrc(frame.flow_control);
    }
    return checksums;
}

bool is_congestion_experienced(const wire::Frame& frame) {
    switch (frame.network) {
        case wire::NetworkHeader::none: return false;
        case wire::NetworkHeader::ipv4: return frame.ipv4.ecn == kCongestionExperienced;
        case wire::NetworkHeader::ipv6:
        case wire::NetworkHeader::grh:
            return (frame.grh.traffic_class & 3) == kCongestionExperienced;
    }
    return false;
}

bool is_mad(const wire::Frame& frame) {
    return frame.kind == wire::FrameKind::transport &&
           wire::service_of(frame.transport.opcode()) == wire::Service::ud &&
           frame.transport.bth.dest_qp.value <= 1;
}

}  // namespace tulle::decode
