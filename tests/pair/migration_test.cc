// Path migration: when the retries on one path are spent, an armed alternate path is taken.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using wire::Operation;

constexpr uint32_t kOtherPort = 4;  // of the server

// The client's queue pair with an alternate path, in this state of migration.
void arm(Pair& pair, Migration migration) {
    QpAttributes attributes;
    attributes.alternate = {
        .endpoint = EndpointIndex{kOtherPort}, .service_level = 3, .ack_timeout = 10};
    attributes.migration = migration;
    ASSERT_EQ(pair.client.adapter.modify_qp(pair.client.qpn, attributes,
                                            kAlternatePath | kMigrationState),
              Refusal::none);
}

bool goes_to_first_port(const Packet& packet) {
    return packet.destination == 2;
}

TEST(PathMigration, an_armed_alternate_path_is_taken_after_the_retries) {
    Pair pair({.retry_count = 2});
    arm(pair, Migration::armed);
    pair.wire.drop_if(goes_to_first_port);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 3000u);
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::path_migrated});
    EXPECT_EQ(pair.wire.count_to(EndpointIndex{2}), 9u);
    EXPECT_EQ(pair.wire.count_to(EndpointIndex{kOtherPort}), 3u);
    EXPECT_EQ(pair.client.qp().migration, Migration::migrated);
    EXPECT_EQ(pair.wire.log.back().packet.service_level, 0u);  // the server's answers
    EXPECT_EQ(pair.wire.find(Operation::send_last, 4).packet.service_level, 3u);
}

TEST(PathMigration, packets_say_whether_the_path_is_the_one_agreed_upon) {
    Pair pair;
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    EXPECT_TRUE(pair.wire.find(Operation::send_only).packet.migrated);
    arm(pair, Migration::armed);
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    EXPECT_FALSE(pair.wire.find(Operation::send_only, 2).packet.migrated);
}

TEST(PathMigration, a_path_that_is_not_armed_is_not_taken) {
    for (const Migration migration : {Migration::rearm, Migration::migrated}) {
        Pair pair({.retry_count = 2});
        arm(pair, migration);
        pair.wire.drop_if(goes_to_first_port);
        pair.client.post({.work = Work::send, .length = 10});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
        EXPECT_EQ(pair.wire.count_to(EndpointIndex{kOtherPort}), 0u);
    }
}

TEST(PathMigration, when_the_alternate_path_fails_too_the_connection_is_given_up) {
    Pair pair({.retry_count = 1});
    arm(pair, Migration::armed);
    pair.wire.drop_if([](const Packet&) { return true; });
    pair.client.post({.work = Work::send, .length = 10});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
    EXPECT_EQ(pair.wire.log.size(), 4u);
}

TEST(PathMigration, a_queue_pair_that_has_changed_its_path_can_be_destroyed) {
    Pair pair({.retry_count = 0, .service_level = 1});
    arm(pair, Migration::armed);
    pair.wire.drop_if(goes_to_first_port);
    pair.client.post({.work = Work::send, .length = 10});
    pair.run(base::Duration{1'000'000});
    pair.client.lanes.room_bytes.fill(0);
    pair.client.post({.work = Work::send, .length = 10});  // waits in the lane of level 1
    pair.client.adapter.on_timer(pair.now + base::Duration{100'000'000'000});
    EXPECT_EQ(pair.client.events(), std::vector{EventKind::path_migrated});
    EXPECT_EQ(pair.client.adapter.destroy_qp(pair.client.qpn), Refusal::none);
    Packet packet;
    EXPECT_FALSE(pair.client.adapter.poll_transmit(pair.now, Lanes::open(), packet));
}

}  // namespace
}  // namespace tulle::transport
