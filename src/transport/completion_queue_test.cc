#include "transport/completion_queue.h"

#include <gtest/gtest.h>

#include <array>

namespace tulle::transport {
namespace {

using Wish = CompletionQueue::Wish;

Completion numbered(uint64_t id) {
    Completion completion;
    completion.id = id;
    return completion;
}

TEST(CompletionQueue, gives_entries_in_order_and_no_more_than_asked_for) {
    CompletionQueue queue(5);
    for (uint64_t id = 0; id < 5; ++id) EXPECT_TRUE(queue.push(numbered(id)));
    EXPECT_FALSE(queue.push(numbered(9)));
    std::array<Completion, 3> into;
    EXPECT_EQ(queue.poll(into), 3u);
    EXPECT_EQ(into[2].id, 2u);
    EXPECT_EQ(queue.poll(into), 2u);
    EXPECT_EQ(into[1].id, 4u);
    EXPECT_EQ(queue.poll(into), 0u);
}

TEST(CompletionQueue, what_one_queue_pair_completed_is_taken_out_and_the_rest_keeps_its_order) {
    CompletionQueue queue(8);
    for (uint64_t id = 0; id < 6; ++id) {
        Completion completion = numbered(id);
        completion.qpn = Qpn{static_cast<uint32_t>(2 + id % 2)};
        EXPECT_TRUE(queue.push(completion));
    }
    queue.remove(Qpn{2});
    std::array<Completion, 8> into;
    ASSERT_EQ(queue.poll(into), 3u);
    EXPECT_EQ(into[0].id, 1u);
    EXPECT_EQ(into[2].id, 5u);
}

TEST(CompletionQueue, the_wider_of_two_wishes_counts_and_is_fulfilled_once) {
    CompletionQueue queue(5);
    const Completion fine = numbered(1);
    Completion failed = fine;
    failed.status = Status::flushed;
    EXPECT_FALSE(queue.fulfils(fine, true));
    queue.arm(Wish::solicited);
    EXPECT_FALSE(queue.fulfils(fine, false));
    EXPECT_TRUE(queue.fulfils(fine, true));
    EXPECT_FALSE(queue.fulfils(fine, true));
    queue.arm(Wish::solicited);
    EXPECT_TRUE(queue.fulfils(failed, false));
    queue.arm(Wish::any);
    queue.arm(Wish::solicited);
    EXPECT_TRUE(queue.fulfils(fine, false));
}

TEST(CompletionQueue, what_came_unarmed_fulfils_a_wish_at_once) {
    CompletionQueue queue(5);
    queue.push(numbered(1));
    EXPECT_FALSE(queue.fulfils(numbered(1), false));
    EXPECT_TRUE(queue.arm(Wish::any));
    queue.push(numbered(2));
    EXPECT_FALSE(queue.fulfils(numbered(2), false)) << "the wish was fulfilled when it was made";
}

TEST(CompletionQueue, what_an_event_has_told_of_is_not_told_again) {
    CompletionQueue queue(5);
    std::array<Completion, 1> into;
    EXPECT_FALSE(queue.arm(Wish::any));
    queue.push(numbered(1));
    EXPECT_TRUE(queue.fulfils(numbered(1), false));
    EXPECT_FALSE(queue.arm(Wish::any)) << "armed before the first is polled";
    EXPECT_EQ(queue.poll(into), 1u);
    queue.push(numbered(2));
    EXPECT_TRUE(queue.fulfils(numbered(2), false)) << "the wish still stands";
    queue.push(numbered(3));
    EXPECT_FALSE(queue.fulfils(numbered(3), false));
    EXPECT_TRUE(queue.arm(Wish::any)) << "nobody was told of the third";
}

TEST(CompletionQueue, only_what_is_solicited_or_failed_fulfils_a_narrow_wish_at_once) {
    CompletionQueue queue(5);
    std::array<Completion, 1> into;
    queue.push(numbered(1));
    EXPECT_FALSE(queue.fulfils(numbered(1), false));
    EXPECT_FALSE(queue.arm(Wish::solicited));
    queue.push(numbered(2));
    EXPECT_TRUE(queue.fulfils(numbered(2), true));
    EXPECT_FALSE(queue.arm(Wish::solicited)) << "an event has told of it";
    EXPECT_EQ(queue.poll(into), 1u);
    EXPECT_EQ(queue.poll(into), 1u);
    queue.push(numbered(3));
    EXPECT_FALSE(queue.fulfils(numbered(3), false));
    EXPECT_FALSE(queue.arm(Wish::solicited));
}

TEST(CompletionQueue, what_was_taken_out_is_not_counted_as_told) {
    CompletionQueue queue(4);
    Completion gone = numbered(1);
    gone.qpn = Qpn{7};
    queue.push(gone);
    EXPECT_TRUE(queue.arm(Wish::any));
    queue.remove(Qpn{7});
    queue.push(numbered(2));
    EXPECT_TRUE(queue.arm(Wish::any)) << "no event has told of the second one";
}

TEST(CompletionQueue, a_size_below_what_it_holds_is_refused) {
    CompletionQueue queue(4);
    for (uint64_t id = 0; id < 3; ++id) queue.push(numbered(id));
    EXPECT_FALSE(queue.resize(2));
    EXPECT_TRUE(queue.resize(3));
    EXPECT_FALSE(queue.push(numbered(3)));
    EXPECT_TRUE(queue.resize(100));
    for (uint64_t id = 3; id < 100; ++id) EXPECT_TRUE(queue.push(numbered(id)));
    EXPECT_FALSE(queue.push(numbered(100)));
    std::array<Completion, 100> into;
    EXPECT_EQ(queue.poll(into), 100u);
    for (uint64_t id = 0; id < 100; ++id) EXPECT_EQ(into[id].id, id);
}

}  // namespace
}  // namespace tulle::transport
