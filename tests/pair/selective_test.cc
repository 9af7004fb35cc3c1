// Selective repeat: what is missing goes again, each time that it is lost, and nothing else does.
#include <gtest/gtest.h>

#include <algorithm>

#include "pair.h"
#include "transport/retry.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

PairOptions selective() {
    return {.loss = LossPolicy::selective_repeat};
}

// When the copies of requests went that were not the first with their PSN.
std::vector<Instant> sent_again(const Pair& pair) {
    std::vector<uint32_t> psns;
    std::vector<Instant> times;
    for (const Sent& sent : pair.wire.log) {
        if (sent.to != pair.server.endpoint) continue;
        const uint32_t psn = sent.packet.psn().value;
        if (std::find(psns.begin(), psns.end(), psn) != psns.end()) times.push_back(sent.at);
        psns.push_back(psn);
    }
    return times;
}

void expect_written(Pair& pair, uint32_t length) {
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, length));
}

TEST(Selective, all_holes_are_repaired_in_one_round_trip) {
    Pair pair(selective());
    for (const uint64_t n : {3u, 4u, 9u, 21u, 30u}) pair.wire.drop(Operation::write_middle, n);
    pair.client.post({.work = Work::write, .length = 40 * 1024});
    pair.run();
    expect_written(pair, 40 * 1024);
    EXPECT_EQ(sent_again(pair), std::vector(5, Instant{} + 2_us));
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Selective, a_hole_wider_than_an_answer_tells_of_is_repaired_too) {
    Pair pair(selective());
    for (uint64_t n = 10; n < 210; ++n) pair.wire.drop(Operation::write_middle, n);
    pair.client.post({.work = Work::write, .length = 400 * 1024});
    pair.run();
    expect_written(pair, 400 * 1024);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 200u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Selective, a_packet_that_is_lost_again_goes_a_third_time_without_a_timeout) {
    PairOptions options = selective();
    options.max_packets_outstanding = 8;
    Pair pair(options);
    uint32_t left = 2;
    pair.wire.drop_if([&](const Packet& packet) {
        const bool is_it =
            packet.psn() == wire::psn_plus(options.client_psn, 3) && packet.payload_length == 1024;
        return is_it && left-- > 0;
    });
    pair.client.post({.work = Work::write, .length = 40 * 1024});
    pair.run();
    expect_written(pair, 40 * 1024);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 2u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Selective, after_a_timeout_one_packet_goes_and_its_answer_tells_of_the_rest) {
    Pair pair(selective());
    for (uint64_t n = 5; n <= 8; ++n) pair.wire.drop(Operation::write_middle, n);
    pair.wire.drop(Operation::write_last);
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    expect_written(pair, 10 * 1024);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 1u);
    // Nobody asked for an answer to the first five: the oldest is the probe, and has come.
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 1u + 5u);
}

TEST(Selective, only_what_is_missing_goes_again_after_a_timeout) {
    Pair pair(selective());
    pair.wire.drop(Operation::write_middle, 2);
    // Every answer to what came is lost, but for those after the timeout.
    pair.wire.drop_if([&](const Packet& packet) {
        return packet.opcode == wire::opcode_of(Service::rc, Operation::acknowledge) &&
               pair.now < Instant{} + 10_us;
    });
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    expect_written(pair, 10 * 1024);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 1u);
    // The oldest, which had come, as a probe; and the one that was lost.
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 2u);
}

TEST(Selective, what_is_too_far_ahead_is_dropped_and_counted) {
    PairOptions server = selective();
    server.reorder_packets = 4;
    Pair pair(selective(), server);
    pair.wire.drop(Operation::write_first);
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    expect_written(pair, 10 * 1024);
    EXPECT_EQ(pair.server.counters().dropped_too_early, 6u);
}

TEST(Selective, a_sender_goes_no_further_ahead_than_packets_are_kept) {
    PairOptions options = selective();
    options.reorder_packets = 4;
    Pair pair(options);
    pair.wire.drop(Operation::write_first);
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    expect_written(pair, 10 * 1024);
    EXPECT_EQ(pair.server.counters().dropped_too_early, 0u);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 1u);
}

TEST(Selective, a_packet_that_is_overtaken_by_few_is_late_and_not_lost) {
    for (const uint32_t tolerance : {0u, 4u, 5u}) {
        PairOptions options = selective();
        options.reorder_tolerance = tolerance;
        Pair pair(options);
        pair.wire.delay(Operation::write_middle, 4, base::Duration{1});  // behind the five others
        pair.client.post({.work = Work::write, .length = 10 * 1024});
        pair.run();
        expect_written(pair, 10 * 1024);
        EXPECT_EQ(pair.client.counters().retransmitted_packets, tolerance < 5 ? 1u : 0u);
        EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
    }
}

TEST(Selective, of_a_read_only_the_answers_that_are_missing_are_asked_for) {
    Pair pair(selective());
    for (const uint64_t n : {3u, 4u, 20u, 40u}) pair.wire.drop(Operation::read_response_middle, n);
    pair.client.post({.work = Work::read, .length = 64 * 1024, .remote_offset = 0});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 64 * 1024));
    EXPECT_EQ(pair.wire.count(Operation::read_request), 4u);  // three rows
    EXPECT_EQ(pair.server.counters().retransmitted_packets, 4u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Selective, writes_behind_a_read_that_is_repaired_do_not_go_again) {
    Pair pair(selective());
    pair.wire.drop(Operation::read_response_first);
    pair.client.post({.work = Work::read, .length = 8 * 1024, .remote_offset = 0});
    pair.client.post(
        {.work = Work::write, .length = 8 * 1024, .offset = 0x8000, .remote_offset = 0x8000});
    pair.client.post(
        {.work = Work::read, .length = 4 * 1024, .offset = 0x4000, .remote_offset = 0x8000});
    pair.run();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 8 * 1024));
    EXPECT_TRUE(same_bytes(pair.client, 0x4000, pair.client, 0x8000, 4 * 1024));
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 1u);  // the request for one answer
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Selective, an_early_packet_that_finds_no_receive_goes_again_alone) {
    PairOptions options = selective();
    options.receives = 1;
    options.grants_credits = false;
    options.min_rnr_timer = 1;
    Pair pair(options);
    pair.wire.drop(Operation::send_only);
    for (int i = 0; i < 3; ++i) pair.client.post({.work = Work::send, .length = 100});
    pair.run(5_us);
    pair.server.post_receive(kReceiveArea + 8192, 100, 1);
    pair.server.post_receive(kReceiveArea + 16384, 100, 2);
    pair.run();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.server.receive_completion().byte_count, 100u);
    }
    EXPECT_LE(pair.client.counters().retransmitted_packets, 3u);
}

// Answers about later packets come while the receiver's time runs. It asked for 640 us, and a
// timeout is 262 us.
TEST(Selective, no_timeout_runs_while_the_receiver_is_given_time) {
    PairOptions options = selective();
    options.receives = 0;
    options.grants_credits = false;
    options.ack_timeout = 6;
    options.retry_count = 0;
    Pair pair(options);
    pair.wire.delay(Operation::write_only, 1, 2_us);
    pair.client.post({.work = Work::send, .length = 100});
    pair.client.post({.work = Work::write, .length = 1024});
    pair.run(500_us);
    pair.server.post_receive(kReceiveArea, 100);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

// The window may let nothing go then, while the answers to others in flight are lost.
TEST(Selective, a_timeout_runs_from_the_end_of_the_time_that_the_receiver_is_given) {
    PairOptions options = selective();
    options.receives = 0;
    options.grants_credits = false;
    options.ack_timeout = 6;
    Pair pair(options);
    pair.wire.delay(Operation::send_only, 1, 2_us);
    pair.client.post({.work = Work::send, .length = 100});
    pair.client.post({.work = Work::write, .length = 1024});
    pair.run(10_us);
    const RequesterState& r = pair.client.adapter.queue_pairs().find(pair.client.qpn)->requester;
    ASSERT_GT(r.wait_until, pair.now);
    EXPECT_EQ(r.ack_deadline, r.wait_until + ack_timeout(options.ack_timeout));
}

TEST(Selective, a_packet_that_never_arrives_ends_the_connection_with_its_status) {
    for (const LossPolicy loss : {LossPolicy::selective_repeat, LossPolicy::go_back_n}) {
        PairOptions options;
        options.loss = loss;
        options.retry_count = 3;
        Pair pair(options);
        pair.wire.drop_if([&](const Packet& packet) {
            return packet.psn() == wire::psn_plus(options.client_psn, 5) &&
                   packet.payload_length == 1024;
        });
        pair.client.post({.work = Work::write, .length = 40 * 1024});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
        EXPECT_EQ(pair.client.state(), QpState::error);
    }
}

TEST(Selective, a_packet_that_is_always_trimmed_ends_the_connection_too) {
    for (const LossPolicy loss : {LossPolicy::selective_repeat, LossPolicy::go_back_n}) {
        PairOptions options;
        options.loss = loss;
        options.retry_count = 1;
        options.ack_timeout = 1;  // 8 us
        Pair pair(options);
        pair.wire.change([&](Packet& packet) {
            if (packet.psn() != wire::psn_plus(options.client_psn, 5) || packet.payload_length == 0)
                return;
            packet.trimmed = true;
            packet.payload_length = 0;
            packet.payload = {};
        });
        pair.client.post({.work = Work::write, .length = 40 * 1024});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
    }
}

TEST(Timeouts, may_be_given_in_units_of_time_and_are_short_with_few_packets) {
    for (const uint32_t packets : {2u, 10u}) {
        PairOptions options = selective();
        options.timeouts = {.high = 300_us, .low = 50_us, .few_packets = 3};
        Pair pair(options);
        pair.wire.drop_if([&](const Packet& packet) {
            return packet.payload_length == 1024 && pair.now < Instant{} + 200_us;
        });
        pair.client.post({.work = Work::write, .length = packets * 1024});
        pair.run();
        expect_written(pair, packets * 1024);
        // The second timeout in a row is twice as long.
        const std::vector<Instant> times = sent_again(pair);
        EXPECT_EQ(times[0], Instant{} + (packets == 2 ? 50_us : 300_us));
        EXPECT_TRUE(packets != 2 || times[1] == Instant{} + 150_us);
    }
}

}  // namespace
}  // namespace tulle::transport
