// End-to-end credits: the receiver says how many receives it has, and the sender keeps to it.
#include <gtest/gtest.h>

#include "pair.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

TEST(Credits, an_acknowledgement_says_how_many_receives_wait) {
    struct Case {
        uint32_t left;
        uint8_t code;
    };
    for (const Case& c :
         {Case{0, 0}, Case{1, 1}, Case{4, 4}, Case{5, 4}, Case{8, 6}, Case{40, 10}}) {
        Pair pair({.receives = c.left + 1, .receive_bytes = 64});
        pair.client.post({.work = Work::send, .length = 8});
        pair.run();
        EXPECT_EQ(pair.wire.find(Operation::acknowledge).packet.extended.ack.syndrome, c.code);
    }
}

TEST(Credits, a_sender_that_knows_the_limit_does_not_run_into_rnr) {
    Pair pair({.receives = 1});
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    for (int i = 0; i < 8; ++i) pair.server.post_receive(kReceiveArea, 64);
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();  // learns of seven more
    const uint64_t sent = pair.wire.count(Operation::send_only);
    for (int i = 0; i < 12; ++i) pair.client.post({.work = Work::send, .length = 8});
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.count(Operation::send_only), sent + 6);  // table 46 has 6, not 7
    EXPECT_EQ(pair.server.counters().out_of_buffer, 0u);
}

TEST(Credits, without_a_credit_one_message_goes_alone_to_ask) {
    Pair pair({.receives = 1});
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    for (int i = 0; i < 3; ++i) pair.client.post({.work = Work::send, .length = 8});
    pair.run(100_us);
    EXPECT_EQ(pair.wire.count(Operation::send_only), 2u);
    EXPECT_EQ(pair.server.counters().out_of_buffer, 1u);
    for (int i = 0; i < 3; ++i) pair.server.post_receive(kReceiveArea, 64);
    pair.run();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.counters().out_of_buffer, 1u);
}

TEST(Credits, work_that_takes_no_receive_needs_no_credit) {
    Pair pair({.receives = 1});
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    for (int i = 0; i < 5; ++i) pair.client.post({.work = Work::write, .length = 8});
    pair.client.post({.work = Work::read, .length = 8});
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.count(Operation::write_only), 5u);
    EXPECT_EQ(pair.wire.count(Operation::read_request), 1u);
}

TEST(Credits, a_peer_that_grants_none_is_sent_to_without_limit) {
    Pair pair({.receives = 2, .grants_credits = false});
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    EXPECT_EQ(pair.wire.find(Operation::acknowledge).packet.extended.ack.syndrome & 0x1f,
              wire::kNoCredits);
    for (int i = 0; i < 5; ++i) pair.client.post({.work = Work::send, .length = 8});
    pair.run(500_ns);
    EXPECT_EQ(pair.wire.count(Operation::send_only), 6u);
}

TEST(Credits, a_shared_receive_queue_grants_none) {
    Pair pair({.shared_receives = true});
    pair.client.post({.work = Work::send, .length = 8});
    pair.run();
    EXPECT_EQ(pair.wire.find(Operation::acknowledge).packet.extended.ack.syndrome & 0x1f,
              wire::kNoCredits);
}

TEST(Credits, the_answer_of_a_read_brings_credits_too) {
    Pair pair({.receives = 5});
    pair.client.post({.work = Work::read, .length = 8});
    pair.run();
    EXPECT_EQ(pair.wire.find(Operation::read_response_only).packet.extended.ack.syndrome, 4);
}

}  // namespace
}  // namespace tulle::transport
