// Path migration: both ends arm an alternate path, and either takes the other along onto it.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using wire::Operation;

constexpr EndpointIndex kOtherPort{4};  // of the server
constexpr uint8_t kOtherLevel = 3;

Refusal order(Host& host, Migration migration) {
    return host.adapter.queue_pairs().modify(host.qpn, {.migration = migration}, kMigrationState);
}

// An alternate path to the peer's port, as yet in state REARM.
void load(Host& host, EndpointIndex peer) {
    QpAttributes attributes;
    attributes.alternate = {.endpoint = peer, .service_level = kOtherLevel, .ack_timeout = 10};
    attributes.migration = Migration::rearm;
    ASSERT_EQ(
        host.adapter.queue_pairs().modify(host.qpn, attributes, kAlternatePath | kMigrationState),
        Refusal::none);
}

// Both ends have one and have heard so of each other.
void arm(Pair& pair) {
    load(pair.client, kOtherPort);
    load(pair.server, pair.client.endpoint);
    pair.client.post({.work = Work::write, .length = 8});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    ASSERT_EQ(pair.client.qp().migration, Migration::armed);
    ASSERT_EQ(pair.server.qp().migration, Migration::armed);
    pair.wire.log.clear();
}

bool goes_to_first_port(const Packet& packet) {
    return packet.destination == 2;
}

TEST(PathMigration, both_ends_are_armed_when_each_has_heard_of_the_other) {
    Pair pair;
    load(pair.client, kOtherPort);
    pair.client.post({.work = Work::write, .length = 8});
    pair.run();
    EXPECT_FALSE(pair.wire.find(Operation::write_only).packet.migrated);
    EXPECT_TRUE(pair.wire.find(Operation::acknowledge).packet.migrated);
    EXPECT_EQ(pair.client.qp().migration, Migration::rearm);  // the server is not ready
    load(pair.server, pair.client.endpoint);
    EXPECT_EQ(pair.server.qp().migration, Migration::rearm);
    pair.client.post({.work = Work::write, .length = 8});
    pair.run();
    EXPECT_EQ(pair.server.qp().migration, Migration::armed);
    EXPECT_EQ(pair.client.qp().migration, Migration::armed);
    EXPECT_TRUE(pair.client.events().empty());
    EXPECT_TRUE(pair.server.events().empty());
}

TEST(PathMigration, nobody_can_order_what_takes_two) {
    Pair pair;
    EXPECT_EQ(order(pair.client, Migration::armed), Refusal::invalid_argument);
    EXPECT_EQ(order(pair.client, Migration::migrated), Refusal::none);  // as it is
    EXPECT_EQ(order(pair.client, Migration::rearm), Refusal::none);
    EXPECT_EQ(order(pair.client, Migration::migrated), Refusal::invalid_argument);
}

TEST(PathMigration, an_armed_alternate_path_is_taken_after_the_retries) {
    Pair pair({.retry_count = 2});
    arm(pair);
    pair.wire.drop_if(goes_to_first_port);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 3000u);
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::path_migrated});
    EXPECT_EQ(pair.wire.count_to(EndpointIndex{2}), 9u);
    EXPECT_EQ(pair.wire.count_to(kOtherPort), 3u);
    EXPECT_EQ(pair.client.qp().migration, Migration::migrated);
    EXPECT_EQ(pair.wire.find(Operation::send_last, 4).packet.service_level, kOtherLevel);
}

TEST(PathMigration, the_peer_follows_onto_its_own_alternate_path) {
    for (const Work work : {Work::send, Work::read}) {
        Pair pair({.retry_count = 2});
        arm(pair);
        pair.wire.drop_if(goes_to_first_port);
        pair.client.post({.work = work, .length = 3000});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.server.events(), std::vector{EventKind::path_migrated});
        EXPECT_EQ(pair.server.qp().migration, Migration::migrated);
        EXPECT_EQ(pair.wire.log.back().packet.service_level, kOtherLevel);
        EXPECT_TRUE(pair.wire.log.back().packet.migrated);
    }
}

TEST(PathMigration, a_requester_follows_when_the_answer_says_so) {
    Pair pair;
    arm(pair);
    EXPECT_EQ(order(pair.server, Migration::migrated), Refusal::none);
    EXPECT_EQ(pair.server.events(), std::vector{EventKind::path_migrated});
    pair.client.post({.work = Work::write, .length = 8});
    pair.run();
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::path_migration_error});
    EXPECT_EQ(pair.client.qp().migration, Migration::armed);  // it did not come from that port

    load(pair.client, pair.server.endpoint);
    load(pair.server, pair.client.endpoint);
    for (int i = 0; i < 2; ++i) {
        pair.client.post({.work = Work::write, .length = 8});
        pair.run();
    }
    EXPECT_EQ(order(pair.server, Migration::migrated), Refusal::none);
    pair.client.post({.work = Work::write, .length = 8});
    pair.run();
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::path_migrated});
    EXPECT_EQ(pair.client.qp().migration, Migration::migrated);
}

TEST(PathMigration, a_request_over_a_path_that_was_not_agreed_upon_is_refused_and_told_once) {
    Pair pair({.retry_count = 1});
    arm(pair);
    load(pair.server, EndpointIndex{5});  // another port of the client than it will use
    pair.client.post({.work = Work::write, .length = 8});
    pair.run();
    ASSERT_EQ(pair.server.qp().migration, Migration::armed);
    pair.wire.drop_if(goes_to_first_port);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.server.events(), std::vector{EventKind::path_migration_error});
    EXPECT_EQ(pair.server.qp().migration, Migration::armed);
    EXPECT_EQ(pair.server.state(), QpState::rts);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 3000u);
}

TEST(PathMigration, a_packet_from_before_both_were_armed_moves_nobody) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 8});
    pair.run();
    const Packet old = pair.wire.find(Operation::write_only).packet;
    const Packet old_answer = pair.wire.find(Operation::acknowledge).packet;
    EXPECT_TRUE(old.migrated);
    arm(pair);
    pair.inject(old, pair.server.endpoint);
    pair.inject(old_answer, pair.client.endpoint);
    EXPECT_EQ(pair.server.qp().migration, Migration::armed);
    EXPECT_EQ(pair.client.qp().migration, Migration::armed);
    EXPECT_TRUE(pair.server.events().empty());
    EXPECT_TRUE(pair.client.events().empty());
}

TEST(PathMigration, a_long_message_goes_on_over_the_new_path_from_where_it_is) {
    Pair pair;
    arm(pair);
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    Packet packet;
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet));
        EXPECT_EQ(packet.destination, 2u);
    }
    EXPECT_EQ(order(pair.client, Migration::migrated), Refusal::none);
    for (uint32_t i = 0; i < 6; ++i) {
        ASSERT_TRUE(pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet));
        EXPECT_EQ(packet.destination, kOtherPort.value);
        EXPECT_TRUE(packet.migrated);
        EXPECT_EQ(packet.psn(), (Psn{0x10'0005u + i}));
    }
}

TEST(PathMigration, a_path_that_is_not_armed_is_not_taken) {
    Pair pair({.retry_count = 2});
    load(pair.client, kOtherPort);
    pair.wire.drop_if(goes_to_first_port);
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
    EXPECT_EQ(pair.wire.count_to(kOtherPort), 0u);
}

TEST(PathMigration, when_the_alternate_path_fails_too_the_connection_is_given_up) {
    Pair pair({.retry_count = 1});
    arm(pair);
    pair.wire.drop_if([](const Packet&) { return true; });
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
    EXPECT_EQ(pair.wire.log.size(), 4u);
}

TEST(PathMigration, a_queue_pair_that_has_changed_its_path_can_be_destroyed) {
    Pair pair({.retry_count = 0, .service_level = 1});
    arm(pair);
    pair.wire.drop_if(goes_to_first_port);
    pair.client.post({.work = Work::send, .length = 10});
    pair.run(base::Duration{1'000'000});
    pair.client.lanes.room_bytes.fill(0);
    pair.client.post({.work = Work::send, .length = 10});  // waits in the lane of level 1
    pair.client.adapter.on_timer(pair.now + base::Duration{100'000'000'000});
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::path_migrated});
    EXPECT_EQ(pair.client.adapter.queue_pairs().destroy(pair.client.qpn), Refusal::none);
    Packet packet;
    EXPECT_FALSE(pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet));
}

}  // namespace
}  // namespace tulle::transport
