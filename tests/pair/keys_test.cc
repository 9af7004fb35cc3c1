// Keys of packets: the partition key of every packet, the queue key of datagrams.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

constexpr wire::PKey kFull{0x8001};
constexpr wire::PKey kLimited{0x0001};
constexpr wire::PKey kOther{0x8002};

bool arrives(wire::PKey from, wire::PKey to) {
    PairOptions client{.retry_count = 0};
    PairOptions server;
    client.pkey = from;
    server.pkey = to;
    Pair pair(client, server);
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    const bool received = !pair.server.receives.empty();
    EXPECT_EQ(pair.server.counters().pkey_violations, received ? 0u : 1u);
    return received;
}

TEST(Keys, a_full_member_talks_to_full_and_limited_members_of_its_partition) {
    EXPECT_TRUE(arrives(kFull, kFull));
    EXPECT_TRUE(arrives(kFull, kLimited));
    EXPECT_TRUE(arrives(kLimited, kFull));
}

TEST(Keys, limited_members_do_not_talk_to_each_other) {
    EXPECT_FALSE(arrives(kLimited, kLimited));
}

TEST(Keys, another_partition_is_not_heard) {
    EXPECT_FALSE(arrives(kOther, kFull));
}

TEST(Keys, a_datagram_with_the_wrong_queue_key_is_dropped_and_counted) {
    Pair pair({.type = QpType::ud});
    pair.client.post(
        {.work = Work::send,
         .length = 8,
         .datagram = DatagramTarget{
             .endpoint = pair.server.endpoint, .qpn = pair.server.qpn, .qkey = QKey{0x1235}}});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(pair.server.receives.empty());
    EXPECT_EQ(pair.server.counters().qkey_violations, 1u);
}

TEST(Keys, a_queue_key_with_its_highest_bit_stands_for_the_queue_pairs_own) {
    Pair pair({.type = QpType::ud});
    pair.client.post(
        {.work = Work::send,
         .length = 8,
         .datagram = DatagramTarget{
             .endpoint = pair.server.endpoint, .qpn = pair.server.qpn, .qkey = QKey{0x8000'0000}}});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().byte_count, 48u);
    EXPECT_EQ(pair.wire.log[0].packet.extended.send.qkey, QKey{0x1234});
}

}  // namespace
}  // namespace tulle::transport
