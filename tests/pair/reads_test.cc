// READs and atomics: how many are under way at a time, at either end, and where their PSNs lie.
#include <gtest/gtest.h>

#include "pair.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

TEST(Reads, no_more_are_under_way_than_the_requester_may) {
    for (const uint8_t limit : {uint8_t{1}, uint8_t{2}, uint8_t{4}}) {
        Pair pair({.max_reads = limit, .max_incoming_reads = 16});
        for (uint32_t i = 0; i < 10; ++i)
            pair.client.post({.work = i % 2 == 0 ? Work::read : Work::fetch_add,
                              .length = 8,
                              .offset = i * 8,
                              .remote_offset = i * 8});
        pair.run(500_ns);  // nothing has come back yet
        EXPECT_EQ(pair.wire.log.size(), limit);
        pair.run();
        for (int i = 0; i < 10; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    }
}

TEST(Reads, work_behind_a_read_that_has_to_wait_waits_too) {
    Pair pair({.max_reads = 1});
    pair.client.post({.work = Work::read, .length = 8});
    pair.client.post({.work = Work::read, .length = 8});
    pair.client.post({.work = Work::write, .length = 8});
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.log.size(), 1u);
    pair.run();
    EXPECT_EQ(pair.wire.count(Operation::write_only), 1u);
}

TEST(Reads, more_than_the_responder_agreed_to_are_an_invalid_request) {
    Pair pair({.max_reads = 8, .max_incoming_reads = 2});
    pair.server.lanes.room_bytes.fill(0);  // so that none is answered
    for (int i = 0; i < 3; ++i) pair.client.post({.work = Work::read, .length = 8});
    pair.run(10_us);
    EXPECT_EQ(pair.server.state(), QpState::error);
    EXPECT_EQ(pair.server.events(), std::vector{EventKind::qp_request_error});
    pair.server.lanes = Lanes::open();
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::remote_invalid_request);
}

TEST(Reads, a_responder_that_agreed_to_none_refuses_the_first) {
    Pair pair({.max_incoming_reads = 0});
    pair.client.post({.work = Work::fetch_add, .length = 8});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_invalid_request);
}

TEST(Reads, a_requester_that_may_have_none_under_way_does_not_wait_for_ever) {
    for (const Work work : {Work::read, Work::fetch_add, Work::compare_swap}) {
        Pair pair({.max_reads = 0});
        pair.client.post({.work = Work::write, .length = 8, .id = 1});
        pair.client.post({.work = work, .length = 8, .id = 2});
        pair.client.post({.work = Work::write, .length = 8, .id = 3});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.client.completion().status, Status::local_qp_operation_error);
        EXPECT_EQ(pair.client.completion().status, Status::flushed);
        EXPECT_EQ(pair.client.state(), QpState::error);
        EXPECT_EQ(pair.wire.log.size(), 2u);
    }
}

TEST(Reads, a_read_takes_one_psn_for_each_response) {
    Pair pair;
    pair.client.post({.work = Work::read, .length = 5 * 1024});
    pair.client.post({.work = Work::write, .length = 8});
    pair.run();
    EXPECT_EQ(pair.wire.find(Operation::write_only).packet.psn(), Psn{0x10'0005});
    EXPECT_EQ(pair.wire.find(Operation::read_response_last).packet.psn(), Psn{0x10'0004});
}

TEST(Reads, answers_and_acknowledgements_come_in_the_order_of_their_psns) {
    Pair pair({.max_reads = 16, .max_incoming_reads = 16});
    for (int i = 0; i < 6; ++i) {
        pair.client.post({.work = Work::write, .length = 2000});
        pair.client.post({.work = Work::read, .length = 2000, .offset = 4000});
    }
    pair.run();
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
    for (int i = 0; i < 12; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Reads, read_responses_are_whole_packets_but_the_last) {
    for (const uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
        Pair pair({.mtu = mtu});
        pair.client.post({.work = Work::read, .length = 3 * mtu + 7});
        pair.client.post({.work = Work::send, .length = 3 * mtu + 7 > 8192 ? 8192 : 3 * mtu + 7});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.wire.find(Operation::read_response_first).packet.payload_length, mtu);
        EXPECT_EQ(pair.wire.find(Operation::read_response_middle, 2).packet.payload_length, mtu);
        EXPECT_EQ(pair.wire.find(Operation::read_response_last).packet.payload_length, 7u);
        EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 3 * mtu + 7));
    }
}

TEST(Reads, a_message_of_more_psns_than_can_be_told_apart_is_a_local_length_error) {
    const uint32_t longest = 1u << 31;
    for (const Work work : {Work::read, Work::write}) {
        Pair pair({.mtu = 256, .modelled = true, .region_bytes = uint64_t{1} << 32});
        pair.client.post({.work = work, .length = longest});
        pair.run(1_us);
        EXPECT_EQ(pair.client.completion().status, Status::local_length_error);
    }
    Pair pair({.mtu = 4096, .modelled = true, .region_bytes = uint64_t{1} << 32});
    pair.client.post({.work = Work::read, .length = longest});
    pair.run(1_us);
    EXPECT_TRUE(pair.client.sends.empty());
    EXPECT_EQ(pair.client.state(), QpState::rts);
}

TEST(Reads, requests_wait_when_their_psns_could_not_be_told_from_those_under_way) {
    Pair pair({.mtu = 256, .modelled = true, .region_bytes = uint64_t{1} << 32});
    for (int i = 0; i < 3; ++i)
        pair.client.post({.work = Work::read, .length = 1u << 30});  // 2^22 PSNs each
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.count(Operation::read_request), 1u);
}

TEST(Reads, a_longer_message_than_two_gigabytes_is_refused) {
    Pair pair({.modelled = true, .region_bytes = uint64_t{1} << 33});
    EXPECT_EQ(pair.client.post({.work = Work::write, .length = (1u << 31) + 1}),
              Refusal::invalid_argument);
}

}  // namespace
}  // namespace tulle::transport
