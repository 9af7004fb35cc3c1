#include "live/event_queue.h"

#include <gtest/gtest.h>

namespace tulle::live {
namespace {

bool has_event(int file) {
    pollfd look{file, POLLIN, 0};
    return poll(&look, 1, 0) == 1;
}

TEST(EventQueue, the_descriptor_can_be_read_while_there_are_events) {
    EventQueue<int> queue;
    EXPECT_FALSE(has_event(queue.file()));
    queue.push(1);
    queue.push(2);
    EXPECT_EQ(queue.pop(), 1);
    EXPECT_TRUE(has_event(queue.file()));
    EXPECT_EQ(queue.take(), 2);
    EXPECT_FALSE(has_event(queue.file()));
    EXPECT_EQ(queue.take(), std::nullopt);
}

TEST(EventQueue, a_descriptor_that_does_not_wait_says_try_again) {
    EventQueue<int> queue;
    fcntl(queue.file(), F_SETFL, O_NONBLOCK);
    EXPECT_EQ(queue.pop(), std::nullopt);
    EXPECT_EQ(errno, EAGAIN);
}

TEST(EventQueue, events_of_something_that_is_destroyed_are_taken_out) {
    EventQueue<int> queue;
    queue.push(1);
    queue.push(2);
    queue.remove_if([](int event) { return event == 1; });
    EXPECT_EQ(queue.pop(), 2);
    EXPECT_FALSE(has_event(queue.file()));
}

TEST(EventQueue, an_event_that_has_a_place_comes_between_others) {
    EventQueue<int> queue;
    queue.add_place();
    queue.add_place();
    for (int i = 0; i < 20; ++i) queue.push(i);
    queue.push_into_place(100);
    queue.remove_place();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(queue.pop(), i);
    EXPECT_EQ(queue.pop(), 100);
    EXPECT_FALSE(has_event(queue.file()));
}

TEST(EventQueue, as_many_events_come_as_have_places) {
    EventQueue<int> queue;
    for (int i = 0; i < 100; ++i) queue.add_place();
    for (int i = 0; i < 100; ++i) queue.push_into_place(i);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(queue.take(), i);
}

TEST(EventQueue, what_somebody_who_looks_leaves_is_counted_when_he_stops) {
    EventQueue<int> queue;
    queue.begin_looking();
    queue.push(1);
    queue.push(2);
    EXPECT_FALSE(has_event(queue.file()));
    EXPECT_EQ(queue.take(), 1);
    queue.end_looking();
    EXPECT_TRUE(has_event(queue.file()));
    EXPECT_EQ(queue.pop(), 2);
    EXPECT_FALSE(has_event(queue.file()));
}

TEST(EventQueue, a_count_that_is_left_is_that_of_the_next_event) {
    EventQueue<int> queue;
    for (int i = 0; i < 3; ++i) {
        queue.push(i);
        EXPECT_EQ(queue.take_counted(), i);
        EXPECT_TRUE(has_event(queue.file()));
    }
    queue.forget_taken();
    EXPECT_FALSE(has_event(queue.file()));
    queue.push(3);
    EXPECT_EQ(queue.pop(), 3);
    EXPECT_FALSE(has_event(queue.file()));
}

TEST(EventQueue, each_event_is_an_edge_whatever_is_left_of_earlier_ones) {
    EventQueue<int> queue;
    const Descriptor set(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{EPOLLIN | EPOLLET, {}};
    ASSERT_EQ(epoll_ctl(set.get(), EPOLL_CTL_ADD, queue.file(), &event), 0);
    for (int i = 0; i < 3; ++i) {
        queue.push(i);
        EXPECT_EQ(epoll_wait(set.get(), &event, 1, 0), 1);
        EXPECT_EQ(epoll_wait(set.get(), &event, 1, 0), 0);
        EXPECT_EQ(queue.take_counted(), i);
    }
}

TEST(EventQueue, events_that_were_not_counted_leave_no_count) {
    EventQueue<int> queue;
    queue.begin_looking();
    queue.push(1);
    EXPECT_EQ(queue.take_counted(), 1);
    queue.end_looking();
    EXPECT_FALSE(has_event(queue.file()));
}

}  // namespace
}  // namespace tulle::live
