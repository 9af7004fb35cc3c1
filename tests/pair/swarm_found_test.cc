// What the swarm (tests/swarm) found, each as a story of its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "pair.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

bool contains(const std::vector<EventKind>& events, EventKind kind) {
    return std::find(events.begin(), events.end(), kind) != events.end();
}

TEST(SwarmFound, a_send_queue_that_is_drained_by_an_acknowledgement_says_so) {
    Pair pair;
    pair.client.post({.work = Work::send, .length = 100});
    pair.run(base::Duration{500'000});  // it is under way
    QpAttributes attributes;
    attributes.state = QpState::sqd;
    attributes.drain_notify = true;
    ASSERT_EQ(pair.client.adapter.queue_pairs().modify(pair.client.qpn, attributes,
                                                       kState | kDrainNotify),
              Refusal::none);
    EXPECT_FALSE(contains(pair.client.events(), EventKind::sq_drained));
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(contains(pair.client.events(), EventKind::sq_drained));
}

// The next packet of a host, taken out of its hands.
Packet next_packet(Pair& pair, Host& host) {
    Packet packet;
    EXPECT_TRUE(host.adapter.poll_transmit(pair.now, Lanes::open(), packet));
    return packet;
}

TEST(SwarmFound, an_old_atomic_that_is_asked_for_again_does_not_count_against_a_new_one) {
    Pair pair({.max_reads = 1, .max_incoming_reads = 1});
    const Post atomic{.work = Work::fetch_add, .length = 8, .remote_offset = 64};
    pair.client.post(atomic);
    const Packet old = next_packet(pair, pair.client);
    pair.server.adapter.on_packet(pair.now, old);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    pair.client.post(atomic);
    const Packet fresh = next_packet(pair, pair.client);
    // A copy of the first comes late; its answer still waits when the second comes.
    pair.server.adapter.on_packet(pair.now, old);
    pair.server.adapter.on_packet(pair.now, fresh);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(SwarmFound, what_was_read_before_an_error_is_answered_before_the_objection) {
    Pair pair;
    pair.client.post({.work = Work::read, .length = 5000, .remote_offset = 64});
    pair.client.post({.work = Work::write, .length = 10, .rkey = pair.client.peer_key ^ 1});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
}

TEST(SwarmFound, a_read_whose_memory_goes_away_is_refused_at_once) {
    Pair pair;
    pair.client.post({.work = Work::read, .length = 5000, .remote_offset = 64});
    pair.server.adapter.on_packet(pair.now, next_packet(pair, pair.client));
    EXPECT_EQ(next_packet(pair, pair.server).payload_length, 1024u);
    ASSERT_EQ(pair.server.adapter.memory().deregister_region(pair.server.key), Refusal::none);
    const Packet objection = next_packet(pair, pair.server);
    EXPECT_EQ(objection.extended.ack.syndrome,
              wire::syndrome_of(wire::NakCode::remote_access_error));
    EXPECT_EQ(pair.server.state(), QpState::error);
}

TEST(SwarmFound, a_late_copy_of_a_read_does_no_harm_when_its_memory_is_gone) {
    Pair pair;
    pair.client.post({.work = Work::read, .length = 5000, .remote_offset = 64});
    const Packet request = next_packet(pair, pair.client);
    pair.server.adapter.on_packet(pair.now, request);
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    pair.server.adapter.on_packet(pair.now, request);
    EXPECT_EQ(next_packet(pair, pair.server).payload_length, 1024u);
    ASSERT_EQ(pair.server.adapter.memory().deregister_region(pair.server.key), Refusal::none);
    pair.run();
    EXPECT_EQ(pair.server.state(), QpState::rts);
}

TEST(SwarmFound, one_lost_answer_costs_one_retry_however_many_follow_it) {
    Pair pair({.retry_count = 1});
    pair.wire.drop_nth(2);  // the first of eight answers
    pair.client.post({.work = Work::read, .length = 8 * 1024, .remote_offset = 64});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.counters().implied_nak_seq_err, 1u);
}

}  // namespace
}  // namespace tulle::transport
