#include "base/event_queue.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>

#include "base/random.h"

namespace tulle::base {
namespace {

// What the queue must behave like.
class Model {
public:
    void push(const Event& event) { events_.emplace(std::pair(event.at, event.order), event); }
    Event pop() { return events_.extract(events_.begin()).mapped(); }
    Instant next_at() const {
        return events_.empty() ? Instant::never() : events_.begin()->second.at;
    }
    size_t size() const { return events_.size(); }

private:
    std::multimap<std::pair<Instant, uint64_t>, Event> events_;
};

// Draws how far ahead of the last popped event the next one is pushed.
using Shape = std::function<Duration(RandomStream&)>;

Duration nanoseconds(RandomStream& random) {
    return {static_cast<int64_t>(random.below(1'000'000))};
}
Duration one_instant(RandomStream&) {
    return {};
}
Duration bursts(RandomStream& random) {
    return random.chance(9, 10) ? 0_ps : Duration{static_cast<int64_t>(random.below(200))};
}
Duration powers_of_two(RandomStream& random) {  // from 1 ps to 25 days, spread evenly in magnitude
    const uint64_t limit = uint64_t{1} << random.below(50);
    return {static_cast<int64_t>(random.below(limit))};
}
Duration packets_and_timers(RandomStream& random) {
    if (random.chance(1, 100)) return 4_s;
    return random.chance(1, 2) ? 83'560_ps : 1'001'640_ps;
}
Duration edges_of_ticks(RandomStream& random) {
    return {static_cast<int64_t>(64 * random.below(5)) + (random.chance(1, 2) ? 63 : 0)};
}

class EventQueueAndModel {
public:
    EventQueueAndModel(const Shape& shape, uint64_t seed) : shape_(shape), random_({seed}) {}

    // Any number of pushes between pops, orders that go up and down, peeks and horizons.
    void run(size_t pending, int steps) {
        for (size_t i = 0; i < pending; ++i) push();
        for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
            if (random_.chance(1, 2)) push();
            if (random_.chance(1, 2) && model_.size() > 0) pop();
            if (random_.chance(1, 10)) pop_before(last_ + shape_(random_));
        }
        while (model_.size() > 0 && !::testing::Test::HasFatalFailure()) pop();
        EXPECT_TRUE(queue_.empty());
        EXPECT_EQ(queue_.next_at(), Instant::never());
    }

private:
    void push() {
        // The counter in the low bits keeps the orders unique.
        const uint64_t order = (random_.below(1'000) << 32) | counter_++;
        const Event event{last_ + shape_(random_), order, static_cast<uint32_t>(counter_), 1, 2};
        queue_.push(event);
        model_.push(event);
        ASSERT_EQ(queue_.next_at(), model_.next_at());
    }

    void pop() {
        ASSERT_EQ(queue_.next_at(), model_.next_at());
        expect_next(queue_.pop());
    }

    void pop_before(Instant horizon) {
        const bool due = model_.next_at() < horizon;
        const std::optional<Event> event = queue_.pop_before(horizon);
        ASSERT_EQ(event.has_value(), due);
        if (due) expect_next(*event);
    }

    void expect_next(const Event& event) {
        const Event expected = model_.pop();
        ASSERT_EQ(event.at, expected.at);
        ASSERT_EQ(event.order, expected.order);
        ASSERT_EQ(event.who, expected.who);
        ASSERT_EQ(queue_.size(), model_.size());
        last_ = event.at;
    }

    Shape shape_;
    RandomStream random_;
    EventQueue queue_;
    Model model_;
    Instant last_;
    uint64_t counter_ = 0;
};

void expect_order_of_multimap(const Shape& shape) {
    for (const size_t pending : {0, 1, 100, 20'000})
        for (uint64_t seed = 0; seed < 5; ++seed)
            EventQueueAndModel(shape, seed).run(pending, 10'000);
}

TEST(EventQueue, pops_in_the_order_of_a_multimap_when_times_are_even) {
    expect_order_of_multimap(nanoseconds);
}
TEST(EventQueue, pops_in_the_order_of_a_multimap_when_all_events_share_one_instant) {
    expect_order_of_multimap(one_instant);
}
TEST(EventQueue, pops_in_the_order_of_a_multimap_when_events_come_in_bursts) {
    expect_order_of_multimap(bursts);
}
TEST(EventQueue, pops_in_the_order_of_a_multimap_when_times_spread_exponentially) {
    expect_order_of_multimap(powers_of_two);
}
TEST(EventQueue, pops_in_the_order_of_a_multimap_when_timers_lie_far_ahead_of_packets) {
    expect_order_of_multimap(packets_and_timers);
}
TEST(EventQueue, pops_in_the_order_of_a_multimap_at_the_edges_of_ticks) {
    expect_order_of_multimap(edges_of_ticks);
}

TEST(EventQueue, an_event_pushed_at_the_instant_of_the_last_pop_leaves_next) {
    EventQueue queue;
    queue.push({.at = Instant{100}, .order = 5});
    queue.push({.at = Instant{100}, .order = 6});
    EXPECT_EQ(queue.pop().order, 5u);
    queue.push({.at = Instant{100}, .order = 1});
    EXPECT_EQ(queue.pop().order, 1u);
    EXPECT_EQ(queue.pop().order, 6u);
}

TEST(EventQueue, looking_far_ahead_does_not_close_the_time_before) {
    EventQueue queue;
    queue.push({.at = Instant{} + 1_s});
    EXPECT_EQ(queue.next_at(), Instant{} + 1_s);
    EXPECT_FALSE(queue.pop_before(Instant{} + 1_s));
    queue.push({.at = Instant{1}});
    EXPECT_EQ(queue.pop().at, Instant{1});
    EXPECT_EQ(queue.pop().at, Instant{} + 1_s);
}

TEST(EventQueue, reaches_the_last_instant_before_never) {
    EventQueue queue;
    const Instant last{Instant::never().ps - 1};
    queue.push({.at = last});
    queue.push({.at = Instant{0}});
    EXPECT_EQ(queue.pop().at, Instant{0});
    EXPECT_EQ(queue.pop().at, last);
}

TEST(EventQueueDeathTest, an_event_before_the_last_popped_one_is_our_mistake) {
    EventQueue queue;
    queue.push({.at = Instant{100}});
    queue.pop();
    EXPECT_DEATH(queue.push({.at = Instant{99}}), "internal error");
}

TEST(EventQueueDeathTest, an_event_that_never_happens_is_our_mistake) {
    EventQueue queue;
    EXPECT_DEATH(queue.push({.at = Instant::never()}), "internal error");
}

TEST(EventQueueDeathTest, popping_an_empty_queue_is_our_mistake) {
    EventQueue queue;
    EXPECT_DEATH(queue.pop(), "internal error");
}

}  // namespace
}  // namespace tulle::base
