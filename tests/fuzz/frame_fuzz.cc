// Any bytes, as a captured packet: what was parsed is written back the same, and a packet that is
// whole survives the 64-byte structure with its meaning.
#include <algorithm>
#include <vector>

#include "wire/packet.h"
#include "wire/uet/uet.h"

namespace tulle::wire {
namespace {

bool fits_packet(const Frame& frame) {
    return frame.kind == FrameKind::transport && !frame.cut && frame.payload.size() <= kMaxPayload;
}

void check_frame(LinkLayer link, Bytes bytes, size_t original_size) {
    const Frame frame = parse_frame(link, bytes, original_size);
    std::vector<std::byte> again(frame_size(frame));
    TULLE_CHECK(write_frame(frame, again) == bytes.size());
    TULLE_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
    if (!fits_packet(frame)) return;

    static_cast<void>(expected_icrc(frame, bytes));
    std::vector<std::byte> encoded(kMaxEncodedSize);
    encoded.resize(encode(packet_of(frame), path_of(frame), frame.payload, encoded));
    const Frame second = parse_frame(link, encoded);
    TULLE_CHECK(second.kind == FrameKind::transport);
    TULLE_CHECK(second.icrc.value == expected_icrc(second, encoded));
    TULLE_CHECK(second.transport.bth.psn == frame.transport.bth.psn);
    TULLE_CHECK(second.transport.opcode() == frame.transport.opcode());
    TULLE_CHECK(second.payload.size() == frame.payload.size());
}

// The same as a socket shows it: what was parsed is written back the same, but for the ICRC.
void check_datagram(Encapsulation encapsulation, Bytes bytes) {
    const Frame frame = parse_datagram(encapsulation, bytes);
    if (frame.kind != FrameKind::transport || frame.cut) return;
    std::vector<std::byte> again(bytes.size());
    const size_t written = write_datagram(frame, again);
    TULLE_CHECK(written + kIcrcSize == bytes.size());
    TULLE_CHECK(
        std::equal(again.begin(), again.begin() + static_cast<ptrdiff_t>(written), bytes.begin()));
}

// The same of Ultra Ethernet, but for its CRC.
void check_uet(Bytes bytes) {
    const auto packet = parse_uet(bytes);
    if (!packet) return;
    std::vector<std::byte> again(bytes.size());
    TULLE_CHECK(write_uet(*packet, again) == bytes.size());
    TULLE_CHECK(std::equal(again.begin(), again.end() - kUetCrcSize, bytes.begin()));
}

}  // namespace
}  // namespace tulle::wire

// The first byte chooses the link layer and by how much the capture was cut.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle::wire;
    if (size == 0) return 0;
    const Bytes bytes = std::as_bytes(std::span(data + 1, size - 1));
    const size_t missing = data[0] >> 1;
    check_frame(data[0] % 2 == 0 ? LinkLayer::ethernet : LinkLayer::infiniband, bytes,
                bytes.size() + missing);
    check_datagram(data[0] % 2 == 0 ? Encapsulation::roce_v2_ipv4 : Encapsulation::roce_v2_ipv6,
                   bytes);
    check_uet(bytes);
    return 0;
}
