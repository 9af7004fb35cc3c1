#include "decode/repeats.h"

#include <gtest/gtest.h>

namespace tulle::decode {
namespace {

wire::Frame packet(uint32_t psn, bool is_marked = false) {
    wire::Frame frame;
    frame.kind = wire::FrameKind::transport;
    frame.transport.bth.psn.value = psn;
    frame.transport.bth.fecn = is_marked;
    return frame;
}

TEST(Repeats, a_packet_that_passes_two_taps_is_one) {
    Repeats repeats;
    EXPECT_EQ(repeats.see(packet(7), 0), Sighting::fresh);
    EXPECT_EQ(repeats.see(packet(8), 0), Sighting::fresh);
    EXPECT_EQ(repeats.see(packet(7), 1), Sighting::again);
    EXPECT_EQ(repeats.see(packet(8), 1), Sighting::again);
}

TEST(Repeats, what_is_sent_again_is_new_once) {
    Repeats repeats;
    repeats.see(packet(7), 0);
    repeats.see(packet(7), 1);
    EXPECT_EQ(repeats.see(packet(7), 0), Sighting::fresh);
    EXPECT_EQ(repeats.see(packet(7), 1), Sighting::again);
}

TEST(Repeats, packets_of_parallel_paths_are_different_ones) {
    Repeats repeats;
    EXPECT_EQ(repeats.see(packet(1), 0), Sighting::fresh);
    EXPECT_EQ(repeats.see(packet(2), 1), Sighting::fresh);
    EXPECT_EQ(repeats.see(packet(3), 0), Sighting::fresh);
}

TEST(Repeats, a_mark_between_two_taps_is_told_once) {
    Repeats repeats;
    EXPECT_EQ(repeats.see(packet(1), 0), Sighting::fresh);
    EXPECT_EQ(repeats.see(packet(1, true), 1), Sighting::again_marked);
    EXPECT_EQ(repeats.see(packet(1, true), 2), Sighting::again);
}

}  // namespace
}  // namespace tulle::decode
