// Receivers that are not ready: the wait that they ask for, and how often it is granted.
#include <gtest/gtest.h>

#include "pair.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

TEST(Rnr, the_requester_waits_as_long_as_the_nak_says) {
    struct Case {
        uint8_t code;
        base::Duration wait;
    };
    for (const Case& c : {Case{1, 10_us}, Case{2, 20_us}, Case{5, 60_us}, Case{12, 640_us},
                          Case{31, 491'520_us}, Case{0, 655'360_us}}) {
        Pair pair({.rnr_retry = 2, .min_rnr_timer = c.code, .receives = 0});
        pair.client.post({.work = Work::send, .length = 100});
        pair.run();
        ASSERT_EQ(pair.wire.count(Operation::send_only), 3u);
        const Instant first = pair.wire.find(Operation::send_only, 1).at;
        const Instant second = pair.wire.find(Operation::send_only, 2).at;
        EXPECT_EQ(second - first, c.wait + 2_us) << int{c.code};
    }
}

TEST(Rnr, a_receive_that_is_posted_in_time_takes_the_message) {
    Pair pair({.receives = 0});
    pair.client.post({.work = Work::send, .length = 100});
    pair.run(300_us);
    EXPECT_EQ(pair.server.counters().out_of_buffer, 1u);
    pair.server.post_receive(kReceiveArea, 4096, 9);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().id, 9u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Rnr, rnr_retry_says_how_often_it_is_tried_again) {
    for (const uint8_t retries : {uint8_t{0}, uint8_t{3}, uint8_t{6}}) {
        Pair pair({.rnr_retry = retries, .receives = 0});
        pair.client.post({.work = Work::send, .length = 100});
        pair.run();
        EXPECT_EQ(pair.wire.count(Operation::send_only), 1u + retries);
        const Completion completion = pair.client.completion();
        EXPECT_EQ(static_cast<int>(completion.status), 13);
        EXPECT_EQ(completion.vendor_error, kVendorRnrExceeded);
        EXPECT_EQ(pair.client.state(), QpState::error);
        EXPECT_EQ(pair.client.counters().rnr_nak_retry_err, 1u);
    }
}

TEST(Rnr, a_patient_adapter_asks_on_for_a_while) {
    Pair pair({.rnr_retry = 0, .min_rnr_timer = 0, .rnr_patience = 512_ms, .receives = 0});
    pair.client.post({.work = Work::send, .length = 100, .id = 1});
    pair.run(300_ms);
    pair.server.post_receive(kReceiveArea, 4096);
    pair.run(310_ms);  // sooner than the 655 ms that the receiver asked for
    EXPECT_EQ(pair.client.completion().status, Status::success);
    // And no longer: the next one finds nobody who posts.
    pair.client.post({.work = Work::send, .length = 100, .id = 2});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::rnr_retry_exceeded);
}

TEST(Rnr, seven_tries_for_ever) {
    Pair pair({.rnr_retry = 7, .receives = 0});
    pair.client.post({.work = Work::send, .length = 100});
    pair.run(100_ms);
    EXPECT_GT(pair.wire.count(Operation::send_only), 100u);
    pair.server.post_receive(kReceiveArea, 4096);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Rnr, what_came_before_is_acknowledged_by_the_nak) {
    Pair pair({.rnr_retry = 0, .receives = 0});
    pair.client.post({.work = Work::write, .length = 100, .id = 1});
    pair.client.post({.work = Work::send, .length = 100, .id = 2});
    pair.wire.drop_if([](const Packet& packet) {  // ACKs, not the RNR NAK
        return wire::operation_of(static_cast<uint8_t>(packet.opcode)) == Operation::acknowledge &&
               wire::ack_kind(packet.extended.ack.syndrome) == wire::AckKind::ack;
    });
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::rnr_retry_exceeded);
}

TEST(Rnr, a_long_message_without_a_receive_is_stopped_at_its_first_packet) {
    Pair pair({.receives = 0});
    pair.client.post({.work = Work::send, .length = 10 * 1024});
    pair.run(300_us);
    pair.server.post_receive(kReceiveArea, 16384);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 10u * 1024);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea, 10 * 1024));
    EXPECT_EQ(pair.server.counters().out_of_buffer, 1u);
}

TEST(Rnr, a_write_with_immediate_needs_a_receive_for_its_last_packet_only) {
    Pair pair({.receives = 0});
    pair.client.post({.work = Work::write_with_immediate, .length = 3000, .immediate = 8});
    pair.run(300_us);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 2048));
    EXPECT_EQ(pair.wire.count(Operation::write_last_with_immediate), 1u);
    pair.server.post_receive(kReceiveArea, 10);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().immediate_or_rkey, 8u);
    EXPECT_EQ(pair.wire.count(Operation::write_first), 1u);
    EXPECT_EQ(pair.wire.count(Operation::write_last_with_immediate), 2u);
}

TEST(Rnr, progress_makes_the_tries_count_anew) {
    Pair pair({.rnr_retry = 1, .receives = 0, .grants_credits = false});
    for (uint64_t i = 0; i < 4; ++i) {
        pair.client.post({.work = Work::send, .length = 100});
        pair.run(300_us);
        pair.server.post_receive(kReceiveArea, 4096, i);
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
    }
    EXPECT_EQ(pair.server.counters().out_of_buffer, 4u);
}

TEST(Rnr, selective_repeat_waits_too) {
    Pair pair({.loss = LossPolicy::selective_repeat, .receives = 0});
    pair.client.post({.work = Work::send, .length = 5000});
    pair.client.post({.work = Work::send, .length = 5000});
    pair.run(300_us);
    pair.server.post_receive(kReceiveArea, 8192, 1);
    pair.server.post_receive(kReceiveArea + 8192, 8192, 2);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().id, 1u);
    EXPECT_EQ(pair.server.receive_completion().id, 2u);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea + 8192, 5000));
}

}  // namespace
}  // namespace tulle::transport
