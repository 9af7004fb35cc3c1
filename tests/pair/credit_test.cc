// Credit that a receiver grants (RCCC): a sender begins without asking, then sends what it was
// given and no more; grants that are lost are made up for.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

// 16 Gb/s times 4 us are 8,000 bytes, and one and a half of that is a window: twelve packets.
const RcccSettings& settings() {
    static const RcccSettings made = [] {
        RcccSettings rccc;
        rccc.base_rtt = base::Duration{4'000'000};
        rccc.packet_bytes = 1024;
        rccc.request_after = base::Duration{50'000'000};
        EXPECT_EQ(rccc.set_line(base::Rate::bits_per_second(16'000'000'000)), "");
        return rccc;
    }();
    return made;
}

PairOptions credited() {
    PairOptions options;
    options.loss = LossPolicy::selective_repeat;
    options.delivery = Delivery::unordered;
    options.paths = {PathPolicy::oblivious, 16};
    options.reorder_tolerance = 64;
    options.timeouts = {200_us, 200_us, 3};
    options.receiver_credit = &settings();
    return options;
}

bool is_grant(const Packet& packet) {
    return packet.opcode == wire::kCnpOpcode && !packet.becn;
}

uint32_t data_packets(const Pair& pair) {
    uint32_t count = 0;
    for (const Sent& sent : pair.wire.log) count += sent.to == pair.server.endpoint ? 1 : 0;
    return count;
}

TEST(Credit, the_first_window_goes_at_once_and_the_rest_at_the_receivers_pace) {
    Pair pair(credited());
    pair.client.post({.work = Work::write, .length = 200 * 1024});
    pair.run(1_us);
    const uint32_t first = data_packets(pair);
    EXPECT_GE(first, 11u);
    EXPECT_LE(first, 12u);
    // 188 packets and more at 0.99 of 16 Gb/s.
    pair.run(base::Duration{int64_t{188} * 1024 * 8'000 / 16 * 100 / 99});
    EXPECT_EQ(pair.client.completions_waiting(), 0u);
    pair.run(20_us);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 200 * 1024));
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
}

TEST(Credit, grants_go_back_to_the_sender_and_are_no_notifications) {
    Pair pair(credited());
    pair.client.post({.work = Work::write, .length = 64 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    uint32_t grants = 0;
    uint32_t last = 0;
    for (const Sent& sent : pair.wire.log) {
        if (!is_grant(sent.packet)) continue;
        ++grants;
        EXPECT_EQ(sent.to, pair.client.endpoint);
        EXPECT_GE(credit_ahead(sent.packet.extended.ack.msn, last), 0);
        last = sent.packet.extended.ack.msn;
    }
    EXPECT_GT(grants, 10u);
    EXPECT_EQ(pair.client.counters().rp_cnp_handled, 0u);
    EXPECT_EQ(pair.client.counters().rp_cnp_ignored, 0u);
    EXPECT_EQ(pair.server.counters().np_cnp_sent, 0u);
}

TEST(Credit, a_sender_that_hears_nothing_asks_with_a_packet) {
    Pair pair(credited());
    pair.wire.drop_if([&](const Packet& packet) {
        return is_grant(packet) && pair.now < base::Instant{} + 40_us;
    });
    pair.client.post({.work = Work::write, .length = 64 * 1024});
    pair.run(45_us);
    const uint32_t before = data_packets(pair);
    EXPECT_LT(before, 20u);
    pair.run(20_us);
    EXPECT_GT(data_packets(pair), before);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 64 * 1024));
}

TEST(Credit, without_any_grant_everything_arrives_all_the_same) {
    Pair pair(credited());
    pair.wire.drop_if(is_grant);
    pair.client.post({.work = Work::write, .length = 32 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 32 * 1024));
}

TEST(Credit, trimmed_packets_go_again_with_credit) {
    Pair pair(credited());
    uint32_t seen = 0;
    pair.wire.change([&](Packet& packet) {
        const bool is_data = packet.payload_length != 0 && !packet.has_selective_ack();
        if (!is_data || ++seen % 3 != 0 || seen >= 40) return;
        packet.trimmed = true;
        packet.payload_length = 0;
    });
    pair.client.post({.work = Work::write, .length = 64 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 64 * 1024));
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Credit, a_message_after_a_long_pause_need_not_wait) {
    Pair pair(credited());
    for (int i = 0; i < 3; ++i) {
        pair.client.post({.work = Work::send, .length = 4 * 1024});
        pair.run(20_us);
        EXPECT_EQ(pair.client.completion().status, Status::success);
        pair.run();
    }
}

// What answers bring was asked for: it takes no credit.
TEST(Credit, reads_and_atomics_go_on) {
    Pair pair(credited());
    pair.client.post({.work = Work::read, .length = 100 * 1024});
    pair.client.post({.work = Work::fetch_add, .length = 8, .remote_offset = 512 * 1024});
    pair.client.post({.work = Work::write, .length = 40 * 1024, .remote_offset = 256 * 1024});
    pair.run();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.server, 0, pair.client, 0, 100 * 1024));
}

}  // namespace
}  // namespace tulle::transport
