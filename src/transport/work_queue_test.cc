#include "transport/work_queue.h"

#include <gtest/gtest.h>

#include <array>

namespace tulle::transport {
namespace {

TEST(SendQueue, keeps_requests_with_their_pieces_and_inline_data_by_number) {
    SendQueue queue({.requests = 3, .sges = 2, .inline_bytes = 4});
    const std::array pieces = {Sge{1, 10, 7}, Sge{2, 20, 8}};
    const std::array data = {std::byte{9}, std::byte{8}};
    for (uint32_t number = UINT32_MAX - 4; number != 5; ++number) {
        SendRequest request;
        request.id = number;
        request.sges = pieces;
        if (number % 2 == 0) {
            request.flags = kInline;
            request.inline_data = data;
        }
        ASSERT_TRUE(queue.put(number, request));
        EXPECT_EQ(queue[number].id, number);
        EXPECT_EQ(queue[number].length, number % 2 == 0 ? 2u : 30u);
        if (number % 2 == 0)
            EXPECT_EQ(queue.inline_data(number)[1], std::byte{8});
        else
            EXPECT_EQ(queue.sges(number)[1].length, 20u);
    }
}

TEST(SendQueue, is_full_at_the_number_of_requests_that_was_asked_for) {
    const SendQueue queue({.requests = 3, .sges = 1});
    EXPECT_FALSE(queue.is_full(0, 2));
    EXPECT_TRUE(queue.is_full(0, 3));
    EXPECT_FALSE(queue.is_full(UINT32_MAX, 1));
    EXPECT_TRUE(queue.is_full(UINT32_MAX - 1, 1));
}

TEST(SendQueue, refuses_messages_beyond_two_gigabytes) {
    SendQueue queue({.requests = 1, .sges = 2});
    const std::array fits = {Sge{0, 1u << 30, 0}, Sge{0, 1u << 30, 0}};
    const std::array too_long = {Sge{0, 1u << 31, 0}, Sge{0, 1, 0}};
    SendRequest request;
    request.sges = fits;
    EXPECT_TRUE(queue.put(0, request));
    request.sges = too_long;
    EXPECT_FALSE(queue.put(0, request));
}

TEST(ReceiveQueue, gives_requests_in_the_order_in_which_they_were_posted) {
    ReceiveQueue queue(3, 1);
    for (uint64_t id = 0; id < 3; ++id) EXPECT_EQ(queue.post({id, {}}), Refusal::none);
    EXPECT_EQ(queue.post({9, {}}), Refusal::queue_full);
    for (uint64_t id = 0; id < 20; ++id) {
        const uint32_t place = queue.take();
        EXPECT_EQ(queue.id(place), id);
        EXPECT_EQ(queue.waiting(), 2u);
        queue.release(place);
        EXPECT_EQ(queue.post({id + 3, {}}), Refusal::none);
    }
}

TEST(ReceiveQueue, a_place_stays_taken_until_it_is_released_in_any_order) {
    ReceiveQueue queue(2, 1);
    queue.post({1, {}});
    queue.post({2, {}});
    const uint32_t first = queue.take();
    const uint32_t second = queue.take();
    EXPECT_EQ(queue.take(), ReceiveQueue::kNone);
    EXPECT_EQ(queue.post({3, {}}), Refusal::queue_full);
    queue.release(second);
    EXPECT_EQ(queue.post({3, {}}), Refusal::none);
    EXPECT_EQ(queue.id(first), 1u);
    queue.release(first);
    EXPECT_EQ(queue.id(queue.take()), 3u);
}

TEST(ReceiveQueue, what_is_given_back_comes_first_again) {
    ReceiveQueue queue(3, 1);
    for (uint64_t id = 1; id <= 2; ++id) queue.post({id, {}});
    const uint32_t place = queue.take();
    queue.give_back(place);
    EXPECT_EQ(queue.waiting(), 2u);
    EXPECT_EQ(queue.id(queue.take()), 1u);
    const uint32_t last = queue.take();
    queue.give_back(last);  // into an empty queue
    queue.post({3, {}});
    EXPECT_EQ(queue.id(queue.take()), 2u);
    EXPECT_EQ(queue.id(queue.take()), 3u);
}

TEST(ReceiveQueue, has_more_places_or_fewer_when_asked_and_keeps_what_is_in_it) {
    ReceiveQueue queue(2, 1);
    const std::array piece = {Sge{1, 10, 7}};
    queue.post({1, piece});
    queue.post({2, {}});
    const uint32_t taken = queue.take();
    EXPECT_EQ(queue.resize(1), Refusal::invalid_argument);  // one is taken, one waits
    EXPECT_EQ(queue.resize(4), Refusal::none);
    EXPECT_EQ(queue.post({3, {}}), Refusal::none);
    EXPECT_EQ(queue.post({4, {}}), Refusal::none);
    EXPECT_EQ(queue.post({5, {}}), Refusal::queue_full);
    EXPECT_EQ(queue.sges(taken)[0].length, 10u);
    queue.release(taken);
    EXPECT_EQ(queue.resize(3), Refusal::none);
    EXPECT_EQ(queue.capacity(), 3u);
    EXPECT_EQ(queue.post({5, {}}), Refusal::queue_full);
    for (uint64_t id = 2; id <= 4; ++id) EXPECT_EQ(queue.id(queue.take()), id);
}

TEST(ReceiveQueue, refuses_more_pieces_than_agreed) {
    ReceiveQueue queue(1, 1);
    const std::array pieces = {Sge{1, 10, 7}, Sge{2, 20, 8}};
    EXPECT_EQ(queue.post({0, pieces}), Refusal::invalid_argument);
}

TEST(SendQueue, that_grows_keeps_what_was_posted) {
    SendQueue queue({.requests = 100, .sges = 2, .inline_bytes = 8, .at_first = 4});
    const Sge pieces[2] = {{1, 10, 7}, {2, 20, 7}};
    const uint32_t oldest = UINT32_MAX - 2;  // numbers wrap
    for (uint32_t i = 0; i < 100; ++i) {
        const uint32_t number = oldest + i;
        ASSERT_FALSE(queue.is_full(oldest, number));
        queue.make_room(oldest, number);
        ASSERT_TRUE(queue.put(number, {.id = i, .sges = std::span(pieces, 1 + i % 2)}));
    }
    EXPECT_TRUE(queue.is_full(oldest, oldest + 100));
    for (uint32_t i = 0; i < 100; ++i) {
        EXPECT_EQ(queue[oldest + i].id, i);
        EXPECT_EQ(queue.sges(oldest + i).size(), 1 + i % 2);
        EXPECT_EQ(queue.sges(oldest + i).back().length, i % 2 == 0 ? 10u : 20u);
    }
}

}  // namespace
}  // namespace tulle::transport
