// What every service does when nothing goes wrong.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

TEST(Basic, a_send_arrives_whole_and_completes_at_both_ends) {
    for (const uint32_t length : {0u, 1u, 1023u, 1024u, 1025u, 8000u}) {
        Pair pair({.mtu = 1024});
        ASSERT_EQ(pair.client.post({.work = Work::send, .length = length, .id = 77}),
                  Refusal::none);
        pair.run();
        const Completion sent = pair.client.completion();
        EXPECT_EQ(sent.status, Status::success);
        EXPECT_EQ(sent.id, 77u);
        const Completion received = pair.server.receive_completion();
        EXPECT_EQ(received.status, Status::success);
        EXPECT_EQ(received.byte_count, length);
        EXPECT_EQ(received.kind, CompletionKind::receive);
        EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, kReceiveArea, length));
    }
}

TEST(Basic, a_write_goes_where_it_was_sent_and_tells_nobody) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 5000, .offset = 10, .remote_offset = 777});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 10, pair.server, 777, 5000));
    EXPECT_TRUE(pair.server.receives.empty());
}

TEST(Basic, a_write_with_immediate_takes_a_receive) {
    Pair pair;
    pair.client.post({.work = Work::write_with_immediate,
                      .length = 3000,
                      .remote_offset = 64,
                      .immediate = 0xcafe});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    const Completion received = pair.server.receive_completion();
    EXPECT_EQ(received.kind, CompletionKind::receive_write_with_immediate);
    EXPECT_EQ(received.immediate_or_rkey, 0xcafeu);
    EXPECT_EQ(received.byte_count, 3000u);
}

TEST(Basic, a_read_brings_what_was_there) {
    for (const uint32_t length : {0u, 1u, 1024u, 1025u, 20'000u}) {
        Pair pair;
        pair.client.post(
            {.work = Work::read, .length = length, .offset = 100, .remote_offset = 5000});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success) << length;
        EXPECT_TRUE(same_bytes(pair.server, 5000, pair.client, 100, length));
    }
}

TEST(Basic, atomics_change_the_word_once_and_bring_its_value_before) {
    Pair pair;
    const uint64_t before = pair.server.word(0x8000);
    pair.client.post({.work = Work::fetch_add,
                      .length = 8,
                      .offset = 0,
                      .remote_offset = 0x8000,
                      .compare_or_add = 5});
    pair.client.post({.work = Work::compare_swap,
                      .length = 8,
                      .offset = 8,
                      .remote_offset = 0x8000,
                      .compare_or_add = before + 5,
                      .swap = 42});
    pair.client.post({.work = Work::compare_swap,
                      .length = 8,
                      .offset = 16,
                      .remote_offset = 0x8000,
                      .compare_or_add = 1,
                      .swap = 43});
    pair.run();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.word(0), before);
    EXPECT_EQ(pair.client.word(8), before + 5);
    EXPECT_EQ(pair.client.word(16), 42u);
    EXPECT_EQ(pair.server.word(0x8000), 42u);
}

TEST(Basic, completions_come_in_the_order_of_the_work) {
    Pair pair;
    for (uint64_t i = 0; i < 20; ++i)
        pair.client.post({.work = i % 3 == 0 ? Work::read : Work::write,
                          .length = 2000,
                          .remote_offset = i * 2000,
                          .id = i});
    pair.run();
    for (uint64_t i = 0; i < 20; ++i) {
        const Completion completion = pair.client.completion();
        EXPECT_EQ(completion.id, i);
        EXPECT_EQ(completion.status, Status::success);
    }
}

TEST(Basic, an_unreliable_connection_sends_and_completes_without_an_answer) {
    Pair pair({.type = QpType::uc});
    pair.client.post({.work = Work::send, .length = 3000});
    pair.client.post({.work = Work::write, .length = 3000, .remote_offset = 99});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 3000u);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 99, 3000));
    for (const Sent& sent : pair.wire.log) EXPECT_EQ(sent.to, pair.server.endpoint);
}

}  // namespace
}  // namespace tulle::transport
