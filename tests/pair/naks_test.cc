// Objections of the responder, and every status that a completion can have.
#include <gtest/gtest.h>

#include "pair.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using wire::NakCode;
using wire::Operation;

// The NAK that ended the connection, the last packet that the server sent.
uint8_t last_syndrome(const Pair& pair) {
    for (auto sent = pair.wire.log.rbegin(); sent != pair.wire.log.rend(); ++sent)
        if (sent->operation() == Operation::acknowledge) return sent->packet.extended.ack.syndrome;
    return 0;
}

int status_of(const Completion& completion) {
    return static_cast<int>(completion.status);
}

TEST(Naks, a_key_that_names_nothing_is_a_remote_access_error) {
    for (const Work work : {Work::write, Work::read, Work::fetch_add, Work::compare_swap}) {
        Pair pair;
        pair.client.post({.work = work, .length = 8, .rkey = 0xdead00});
        pair.run();
        EXPECT_EQ(status_of(pair.client.completion()), 10);
        EXPECT_EQ(last_syndrome(pair), wire::syndrome_of(NakCode::remote_access_error));
        EXPECT_EQ(pair.client.state(), QpState::error);
        EXPECT_EQ(pair.server.state(), QpState::error);
        EXPECT_EQ(pair.client.counters().req_remote_access_errors, 1u);
        EXPECT_EQ(pair.server.counters().resp_remote_access_errors, 1u);
        EXPECT_EQ(pair.server.events(), std::vector{EventKind::qp_access_error});
    }
}

TEST(Naks, an_operation_that_the_queue_pair_does_not_offer_is_an_invalid_request) {
    struct Case {
        Work work;
        uint32_t missing;
    };
    for (const Case& c :
         {Case{Work::write, kRemoteWrite}, Case{Work::write_with_immediate, kRemoteWrite},
          Case{Work::read, kRemoteRead}, Case{Work::fetch_add, kRemoteAtomic},
          Case{Work::compare_swap, kRemoteAtomic}, Case{Work::atomic_write, kRemoteWrite},
          Case{Work::flush, kFlushGlobal}}) {
        const uint32_t all = kRemoteWrite | kRemoteRead | kRemoteAtomic | kFlushGlobal;
        Pair pair({.access = all & ~c.missing});
        const std::vector<std::byte> before = pair.server.memory;
        pair.client.post({.work = c.work, .length = 8, .flush_placement = 1});
        pair.run();
        EXPECT_EQ(status_of(pair.client.completion()), 9) << int(c.work);
        EXPECT_EQ(last_syndrome(pair), wire::syndrome_of(NakCode::invalid_request));
        EXPECT_EQ(pair.client.counters().req_remote_invalid_request, 1u);
        EXPECT_EQ(pair.server.memory, before);
        EXPECT_EQ(pair.server.events(), std::vector{EventKind::qp_request_error});
    }
}

TEST(Naks, a_message_longer_than_its_receive_fails_at_both_ends) {
    for (const uint32_t length : {17u, 1025u, 3000u}) {
        Pair pair({.receive_bytes = 16});
        pair.client.post({.work = Work::send, .length = length});
        pair.run();
        EXPECT_EQ(status_of(pair.client.completion()), 9);
        EXPECT_EQ(last_syndrome(pair), wire::syndrome_of(NakCode::invalid_request));
        EXPECT_EQ(status_of(pair.server.receive_completion()), 1);
        EXPECT_TRUE(pair.server.events().empty());  // the completion says it
        EXPECT_EQ(pair.server.receive_completion().status, Status::flushed);
        EXPECT_EQ(pair.server.counters().resp_local_length_error, 1u);
        EXPECT_EQ(pair.server.counters().resp_cqe_error, 1u);
        EXPECT_EQ(pair.server.state(), QpState::error);
    }
}

TEST(Naks, a_receive_into_memory_that_may_not_be_written_fails_at_both_ends) {
    Pair pair({.receives = 0});
    const Sge bad{Host::kBase, 100, pair.server.key ^ 1};
    pair.server.adapter.post_receive(pair.server.qpn, {3, std::span(&bad, 1)});
    pair.client.post({.work = Work::send, .length = 50});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 11);
    EXPECT_EQ(status_of(pair.server.receive_completion()), 4);
}

TEST(Naks, the_receive_of_a_write_that_may_not_write_has_a_local_access_error) {
    for (const uint32_t length : {8u, 3000u}) {
        Pair pair;
        pair.client.post({.work = Work::write_with_immediate, .length = length, .rkey = 0xdead00});
        pair.run();
        EXPECT_EQ(status_of(pair.client.completion()), 10);
        // A long one is refused with its first packet, which has no claim to a receive yet.
        EXPECT_EQ(status_of(pair.server.receive_completion()), length == 8 ? 8 : 5);
        EXPECT_EQ(status_of(pair.server.receive_completion()), 5);
    }
}

TEST(Naks, the_receive_of_a_write_whose_region_is_gone_at_its_end_has_a_local_access_error) {
    Pair pair;
    pair.wire.delay(Operation::write_last_with_immediate, 1, base::Duration{5'000'000});
    pair.client.post({.work = Work::write_with_immediate, .length = 3000});
    pair.run(base::Duration{2'000'000});
    EXPECT_EQ(pair.server.adapter.memory().deregister_region(pair.server.key), Refusal::none);
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 10);
    EXPECT_EQ(status_of(pair.server.receive_completion()), 8);
    EXPECT_EQ(status_of(pair.server.receive_completion()), 5);
}

TEST(Naks, a_write_that_may_not_write_and_finds_no_receive_ends_none) {
    Pair pair({.receives = 0});
    pair.client.post({.work = Work::write_with_immediate, .length = 8, .rkey = 0xdead00});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 10);
    EXPECT_TRUE(pair.server.receives.empty());
}

TEST(Naks, a_send_from_memory_that_may_not_be_read_fails_before_it_goes) {
    Pair pair;
    pair.client.post({.work = Work::send, .length = 50, .lkey = pair.client.key ^ 1});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 4);
    EXPECT_EQ(pair.client.state(), QpState::error);
    EXPECT_TRUE(pair.wire.log.empty());
}

TEST(Naks, a_failing_send_waits_until_the_work_before_it_is_done) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 50, .id = 1});
    pair.client.post({.work = Work::send, .length = 50, .id = 2, .lkey = pair.client.key ^ 1});
    pair.client.post({.work = Work::write, .length = 50, .id = 3});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 0);
    EXPECT_EQ(status_of(pair.client.completion()), 4);
    EXPECT_EQ(status_of(pair.client.completion()), 5);
}

TEST(Naks, a_read_into_memory_that_may_not_be_written_fails_with_local_protection) {
    PairOptions read_only;
    read_only.region_access = 0;
    Pair pair(read_only, PairOptions{});
    pair.client.post({.work = Work::read, .length = 50});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 4);
    EXPECT_EQ(pair.client.memory[0], Host::pattern(0, 1));
}

TEST(Naks, an_atomic_with_less_than_eight_bytes_for_its_answer_is_a_local_length_error) {
    Pair pair;
    pair.client.post({.work = Work::fetch_add, .length = 4, .compare_or_add = 1});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 1);
    EXPECT_EQ(pair.client.memory[0], Host::pattern(0, 1));
}

TEST(Naks, a_local_invalidation_of_a_key_that_cannot_be_is_a_local_operation_error) {
    Pair pair;
    pair.client.post({.work = Work::local_invalidate, .rkey = pair.client.key});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 2);
    EXPECT_EQ(pair.client.state(), QpState::error);
}

TEST(Naks, a_window_that_cannot_be_bound_is_a_window_bind_error) {
    Pair pair;
    pair.client.post({.work = Work::bind_window, .binding = WindowBinding{}});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 6);
}

TEST(Naks, a_reason_that_does_not_exist_is_a_bad_response) {
    Pair pair;
    pair.wire.drop(Operation::acknowledge);
    pair.client.post({.work = Work::write, .length = 50});
    pair.run(base::Duration{10'000'000});
    Packet nak = pair.forged(pair.client, Operation::acknowledge, Psn{0x10'0000});
    nak.extended.ack.syndrome = wire::syndrome_of(wire::AckKind::nak, 17);
    pair.inject(nak, pair.client.endpoint);
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 7);
}

TEST(Naks, a_nak_completes_what_came_before_it) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 3000, .id = 1});
    pair.client.post({.work = Work::read, .length = 100, .offset = 8000, .id = 2});
    pair.client.post({.work = Work::write, .length = 10, .id = 3, .rkey = 77});
    pair.client.post({.work = Work::write, .length = 10, .id = 4});
    pair.run();
    const std::vector<int> statuses = {0, 0, 10, 5};
    for (uint64_t i = 0; i < 4; ++i) {
        const Completion completion = pair.client.completion();
        EXPECT_EQ(completion.id, i + 1);
        EXPECT_EQ(status_of(completion), statuses[i]);
    }
}

TEST(Naks, a_failure_completes_even_work_that_was_not_signalled) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 10, .flags = 0, .rkey = 77});
    pair.client.post({.work = Work::write, .length = 10, .flags = 0});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 10);
    EXPECT_EQ(status_of(pair.client.completion()), 5);
}

TEST(Naks, a_lost_nak_leaves_the_requester_to_its_timeouts) {
    Pair pair({.retry_count = 2});
    pair.wire.drop(Operation::acknowledge);
    pair.client.post({.work = Work::write, .length = 10, .rkey = 77});
    pair.run();
    EXPECT_EQ(status_of(pair.client.completion()), 12);
    EXPECT_EQ(pair.server.counters().dropped_bad_state, 2u);
}

TEST(Naks, the_message_sequence_number_counts_what_was_done) {
    Pair pair({.grants_credits = false});
    for (int i = 0; i < 3; ++i) {
        pair.client.post({.work = Work::write, .length = 3000});
        pair.run();
        const Packet& ack = pair.wire.log.back().packet;
        EXPECT_EQ(ack.extended.ack.msn, static_cast<uint32_t>(i + 1));
        EXPECT_EQ(ack.extended.ack.syndrome, 0x1f);
    }
    pair.client.post({.work = Work::read, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.wire.log.back().packet.extended.ack.msn, 4u);
}

}  // namespace
}  // namespace tulle::transport
