// Memory windows of both types, and keys that are taken out of use.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

Status run_one(Pair& pair, const Post& post) {
    pair.client.post(post);
    pair.run();
    return pair.client.completion().status;
}

TEST(Windows, a_type_2_window_opens_exactly_its_part_of_the_region) {
    Pair pair;
    const uint32_t key = bind_window(pair, 1000, 500, kRemoteWrite | kRemoteRead);
    EXPECT_EQ(
        run_one(pair, {.work = Work::write, .length = 500, .remote_offset = 1000, .rkey = key}),
        Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 1000, 500));
    EXPECT_EQ(run_one(pair, {.work = Work::read, .length = 1, .remote_offset = 999, .rkey = key}),
              Status::remote_access_error);
}

TEST(Windows, a_window_gives_only_the_rights_it_was_bound_with) {
    Pair pair;
    const uint32_t key = bind_window(pair, 0, 500, kRemoteRead);
    EXPECT_EQ(run_one(pair, {.work = Work::read, .length = 100, .rkey = key}), Status::success);
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 100, .rkey = key}),
              Status::remote_access_error);
}

TEST(Windows, a_zero_based_window_counts_from_its_own_beginning) {
    Pair pair;
    const uint32_t key = bind_window(pair, 4000, 100, kRemoteWrite | kZeroBased);
    const uint64_t zero = uint64_t{0} - Host::kBase;
    EXPECT_EQ(
        run_one(pair, {.work = Work::write, .length = 100, .remote_offset = zero, .rkey = key}),
        Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 4000, 100));
}

TEST(Windows, an_atomic_through_a_zero_based_window_at_an_odd_place_is_refused) {
    Pair pair;
    const uint32_t key = bind_window(pair, 4001, 100, kRemoteAtomic | kZeroBased);
    const uint64_t zero = uint64_t{0} - Host::kBase;
    EXPECT_EQ(
        run_one(pair, {.work = Work::fetch_add, .length = 8, .remote_offset = zero, .rkey = key}),
        Status::remote_invalid_request);
}

TEST(Windows, a_type_2_window_belongs_to_the_queue_pair_that_bound_it) {
    Pair pair;
    const uint32_t key = bind_window(pair, 0, 500, kRemoteWrite);
    const Memory& memory = pair.server.adapter.memory();
    EXPECT_TRUE(memory.check(key, {pair.server.pd, pair.server.qpn}, Host::kBase, 8, kRemoteWrite));
    EXPECT_FALSE(memory.check(key, {pair.server.pd, Qpn{99}}, Host::kBase, 8, kRemoteWrite));
}

TEST(Windows, a_window_is_no_local_key) {
    Pair pair;
    const uint32_t key = bind_window(pair, 0, 500, kRemoteWrite | kRemoteRead);
    pair.server.post({.work = Work::send, .length = 10, .lkey = key});
    pair.run();
    EXPECT_EQ(pair.server.completion().status, Status::local_protection_error);
}

TEST(Windows, a_send_with_invalidate_closes_the_window_and_says_so_to_the_receiver) {
    Pair pair;
    const uint32_t key = bind_window(pair, 0, 500, kRemoteWrite);
    EXPECT_EQ(run_one(pair, {.work = Work::send_with_invalidate, .length = 32, .rkey = key}),
              Status::success);
    const Completion received = pair.server.receive_completion();
    EXPECT_EQ(received.flags, kWithInvalidate);
    EXPECT_EQ(received.immediate_or_rkey, key);
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 8, .rkey = key}),
              Status::remote_access_error);
}

TEST(Windows, a_send_with_invalidate_of_several_packets_invalidates_with_its_last) {
    Pair pair;
    const uint32_t key = bind_window(pair, 0, 500, kRemoteWrite);
    EXPECT_EQ(run_one(pair, {.work = Work::send_with_invalidate, .length = 3000, .rkey = key}),
              Status::success);
    EXPECT_EQ(pair.wire.count(Operation::send_last_with_invalidate), 1u);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 3000u);
    EXPECT_FALSE(pair.server.adapter.memory().invalidate(key, pair.server.qp().asker()));
}

TEST(Windows, what_cannot_be_invalidated_from_afar_is_a_remote_access_error) {
    Pair pair;
    pair.client.post({.work = Work::send_with_invalidate, .length = 32, .rkey = pair.server.key});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
    EXPECT_EQ(pair.server.receive_completion().status, Status::flushed);
}

TEST(Windows, a_local_invalidation_closes_the_window_for_the_peer) {
    Pair pair;
    const uint32_t key = bind_window(pair, 0, 500, kRemoteWrite);
    pair.server.post({.work = Work::local_invalidate, .rkey = key});
    pair.run();
    EXPECT_EQ(pair.server.completion().kind, CompletionKind::local_invalidate);
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 8, .rkey = key}),
              Status::remote_access_error);
}

TEST(Windows, an_invalidated_window_can_be_bound_again_with_another_key) {
    Pair pair;
    const uint32_t key = bind_window(pair, 0, 500, kRemoteWrite);
    pair.server.post({.work = Work::local_invalidate, .rkey = key});
    pair.server.post({.work = Work::bind_window,
                      .binding = WindowBinding{.window_rkey = key,
                                               .new_rkey = key + 1,
                                               .region_lkey = pair.server.key,
                                               .address = Host::kBase + 100,
                                               .length = 8,
                                               .access = kRemoteWrite}});
    pair.run();
    EXPECT_EQ(pair.server.completion().status, Status::success);
    EXPECT_EQ(pair.server.completion().status, Status::success);
    EXPECT_EQ(
        run_one(pair, {.work = Work::write, .length = 8, .remote_offset = 100, .rkey = key + 1}),
        Status::success);
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 8, .remote_offset = 100, .rkey = key}),
              Status::remote_access_error);
}

TEST(Windows, a_local_invalidation_waits_for_the_work_before_it) {
    Pair pair;
    pair.wire.delay(Operation::send_only, 1, 50_us);
    const uint32_t key = bind_window(pair, 0, 500, kRemoteWrite);
    pair.client.post_receive(0, 100);
    pair.server.post({.work = Work::send, .length = 10});
    pair.server.post({.work = Work::local_invalidate, .rkey = key});
    pair.run(10_us);
    const Memory& memory = pair.server.adapter.memory();
    EXPECT_TRUE(memory.check(key, pair.server.qp().asker(), Host::kBase, 8, kRemoteWrite));
    pair.run();
    EXPECT_FALSE(memory.check(key, pair.server.qp().asker(), Host::kBase, 8, kRemoteWrite));
    EXPECT_EQ(pair.server.completion().kind, CompletionKind::send);
    EXPECT_EQ(pair.server.completion().kind, CompletionKind::local_invalidate);
}

TEST(Windows, a_window_that_is_invalidated_amid_a_write_stops_it) {
    Pair pair;
    const uint32_t key = bind_window(pair, 0, 8192, kRemoteWrite);
    pair.wire.delay(Operation::write_last, 1, 50_us);
    pair.client.post({.work = Work::write, .length = 3000, .rkey = key});
    pair.run(10_us);
    pair.server.post({.work = Work::local_invalidate, .rkey = key});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
    EXPECT_EQ(pair.server.memory[2048], Host::pattern(2048, 2));
}

TEST(Windows, a_type_1_window_gets_a_new_key_with_each_bind) {
    Pair pair;
    Memory& memory = pair.server.adapter.memory();
    const uint32_t window = *memory.create_window(pair.server.pd, WindowType::type1);
    const WindowBinding binding{.region_lkey = pair.server.key,
                                .address = Host::kBase,
                                .length = 100,
                                .access = kRemoteWrite};
    const uint32_t first = *memory.bind_type1(window, binding, pair.server.qp().asker());
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 100, .rkey = first}), Status::success);
    const uint32_t second = *memory.bind_type1(first, binding, pair.server.qp().asker());
    EXPECT_NE(first, second);
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 100, .rkey = second}), Status::success);
    EXPECT_EQ(run_one(pair, {.work = Work::write, .length = 100, .rkey = first}),
              Status::remote_access_error);
}

TEST(Windows, a_type_1_window_cannot_be_invalidated_from_afar) {
    Pair pair;
    Memory& memory = pair.server.adapter.memory();
    const uint32_t window = *memory.create_window(pair.server.pd, WindowType::type1);
    const WindowBinding binding{.region_lkey = pair.server.key,
                                .address = Host::kBase,
                                .length = 100,
                                .access = kRemoteWrite};
    const uint32_t key = *memory.bind_type1(window, binding, pair.server.qp().asker());
    EXPECT_EQ(run_one(pair, {.work = Work::send_with_invalidate, .length = 8, .rkey = key}),
              Status::remote_access_error);
}

}  // namespace
}  // namespace tulle::transport
