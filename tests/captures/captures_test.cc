// What the Linux kernel put on the wire, byte for byte: README.md says what the captures hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "capture.h"
#include "wire/packet.h"

namespace tulle::wire {
namespace {

std::vector<std::filesystem::path> all_captures() {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(TULLE_CAPTURES))
        if (entry.path().extension() == ".pcap") paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

class Capture : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Capture, every_packet_decodes_and_encodes_again_to_the_same_bytes) {
    const auto packets = read_capture(GetParam());
    ASSERT_FALSE(packets.empty());
    for (const Captured& bytes : packets) {
        const Frame frame = parse_frame(LinkLayer::ethernet, bytes);
        ASSERT_EQ(frame.kind, FrameKind::transport) << frame.problem;
        ASSERT_TRUE(frame.transport.info().known);
        Captured again(frame_size(frame));
        write_frame(frame, again);
        ASSERT_EQ(again, bytes);
    }
}

TEST_P(Capture, every_packet_passes_through_the_64_byte_structure_unchanged) {
    for (const Captured& bytes : read_capture(GetParam())) {
        const Frame frame = parse_frame(LinkLayer::ethernet, bytes);
        if (frame.icrc.value != expected_icrc(frame, bytes)) continue;
        Captured again(kMaxEncodedSize);
        again.resize(encode(packet_of(frame), path_of(frame), frame.payload, again));
        ASSERT_EQ(again, bytes);
    }
}

TEST_P(Capture, exactly_the_damaged_packets_have_a_wrong_icrc) {
    std::vector<size_t> damaged;
    const auto packets = read_capture(GetParam());
    for (size_t i = 0; i < packets.size(); ++i) {
        const Frame frame = parse_frame(LinkLayer::ethernet, packets[i]);
        if (frame.icrc.value != expected_icrc(frame, packets[i])) damaged.push_back(i + 1);
    }
    const std::vector<size_t> expected =
        GetParam().stem() == "rc-corrupt-netem"
            ? std::vector<size_t>{4, 7, 28, 65, 66, 79, 85, 105, 195, 196, 208, 221, 236, 245}
            : std::vector<size_t>{};
    EXPECT_EQ(damaged, expected);
}

INSTANTIATE_TEST_SUITE_P(Kernel, Capture, ::testing::ValuesIn(all_captures()),
                         [](const auto& capture) {
                             std::string name = capture.param.stem();
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

}  // namespace
}  // namespace tulle::wire
