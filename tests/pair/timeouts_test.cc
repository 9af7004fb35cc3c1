// Silence: how long the requester waits, how often it tries, and what it says when it gives up.
#include <gtest/gtest.h>

#include "pair.h"
#include "transport/retry.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

bool always(const Packet&) {
    return true;
}

TEST(Timeouts, a_silent_peer_is_tried_retry_count_times_more) {
    for (const uint8_t retries : {uint8_t{0}, uint8_t{1}, uint8_t{3}, uint8_t{7}}) {
        Pair pair({.retry_count = retries});
        pair.wire.drop_if(always);
        pair.client.post({.work = Work::send, .length = 100, .id = 5});
        pair.run();
        EXPECT_EQ(pair.wire.log.size(), 1u + retries);
        const Completion completion = pair.client.completion();
        EXPECT_EQ(completion.id, 5u);
        EXPECT_EQ(static_cast<int>(completion.status), 12);
        EXPECT_EQ(completion.vendor_error, 0x81u);
        EXPECT_EQ(pair.client.state(), QpState::error);
        EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 1u + retries);
        EXPECT_EQ(pair.client.counters().req_cqe_error, 1u);
    }
}

TEST(Timeouts, the_timeout_is_4096_nanoseconds_times_a_power_of_two) {
    for (const uint8_t code : {uint8_t{1}, uint8_t{8}, uint8_t{14}, uint8_t{20}}) {
        Pair pair({.ack_timeout = code, .retry_count = 3});
        pair.wire.drop_if(always);
        pair.client.post({.work = Work::send, .length = 100});
        pair.run();
        ASSERT_EQ(pair.wire.log.size(), 4u);
        for (size_t i = 1; i < 4; ++i)
            EXPECT_EQ(pair.wire.log[i].at - pair.wire.log[i - 1].at,
                      4096_ns * (int64_t{1} << code));
    }
}

TEST(Timeouts, code_zero_waits_for_ever) {
    Pair pair({.ack_timeout = 0});
    pair.wire.drop_if(always);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_EQ(pair.wire.log.size(), 1u);
    EXPECT_TRUE(pair.client.sends.empty());
    EXPECT_EQ(pair.client.adapter.next_deadline(), Instant::never());
}

TEST(Timeouts, an_answer_makes_the_retries_count_anew) {
    Pair pair({.retry_count = 2});
    for (const uint64_t n : {1u, 2u, 4u, 5u, 7u, 8u}) pair.wire.drop(Operation::send_only, n);
    for (int i = 0; i < 3; ++i) {
        pair.client.post({.work = Work::send, .length = 100});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
    }
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 6u);
}

TEST(Timeouts, while_answers_come_no_timeout_strikes) {
    // 64 packets a READ at a distance of half the timeout: far longer than one timeout in all.
    Pair pair({.delay = 1_us, .ack_timeout = 1});
    pair.client.post({.work = Work::read, .length = 64 * 1024, .remote_offset = 0});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Timeouts, a_finished_queue_pair_waits_for_nothing) {
    Pair pair;
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    pair.run();
    EXPECT_EQ(pair.client.adapter.next_deadline(), Instant::never());
    EXPECT_EQ(pair.server.adapter.next_deadline(), Instant::never());
}

TEST(Timeouts, when_it_gives_up_the_rest_is_flushed_in_order) {
    Pair pair({.retry_count = 1});
    pair.wire.drop_if(always);
    for (uint64_t i = 0; i < 4; ++i) pair.client.post({.work = Work::write, .length = 10, .id = i});
    pair.client.post_receive(0, 100, 40);
    pair.client.post_receive(0, 100, 41);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
    for (uint64_t i = 1; i < 4; ++i) {
        const Completion completion = pair.client.completion();
        EXPECT_EQ(completion.id, i);
        EXPECT_EQ(completion.status, Status::flushed);
        EXPECT_EQ(completion.vendor_error, 0xf9u);
    }
    for (uint64_t i = 40; i < 42; ++i) {
        const Completion completion = pair.client.receive_completion();
        EXPECT_EQ(completion.id, i);
        EXPECT_EQ(completion.status, Status::flushed);
        EXPECT_EQ(completion.vendor_error, 0xf9u);
    }
    EXPECT_EQ(pair.client.counters().req_cqe_flush_error, 3u);
    EXPECT_EQ(pair.client.counters().resp_cqe_flush_error, 2u);
}

TEST(Timeouts, a_nak_of_a_gap_that_never_closes_ends_in_retry_exceeded) {
    Pair pair({.retry_count = 3});
    pair.wire.drop_if([](const Packet& packet) {
        return wire::operation_of(static_cast<uint8_t>(packet.opcode)) == Operation::write_first;
    });
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
    EXPECT_EQ(pair.wire.count(Operation::write_first), 4u);
}

}  // namespace
}  // namespace tulle::transport
