// The hold model: the queue stays at one size; each operation pops the next event and pushes it
// again, later by a random increment. All structures draw the same increments and must pop the same
// events: the counter `hash` shows it.
#include <benchmark/benchmark.h>

#include <cmath>
#include <map>
#include <queue>
#include <utility>

#include "base/event_queue.h"
#include "base/hash.h"
#include "base/random.h"

namespace tulle::base {
namespace {

using Increments = std::array<Duration, 65'536>;

// Exponential, 1 us on average. The bench may use floating point; the simulator does not.
Increments exponential() {
    RandomStream random({.seed = 1});
    Increments increments;
    for (Duration& increment : increments) {
        const double uniform = static_cast<double>(random.next() >> 11) * 0x1p-53;
        increment = {static_cast<int64_t>(-std::log1p(-uniform) * 1e6)};
    }
    return increments;
}

// Packets of 82 to 4178 bytes at 400 Gb/s: half of the events end a packet, half bring one over a
// cable of 1 us.
Increments packets() {
    RandomStream random({.seed = 2});
    Increments increments;
    for (Duration& increment : increments) {
        const Duration packet = 20_ps * static_cast<int64_t>(82 + random.below(4'097));
        increment = random.chance(1, 2) ? packet : packet + 1_us;
    }
    return increments;
}

class Multimap {
public:
    void push(const Event& event) { events_.emplace(std::pair(event.at, event.order), event); }
    Event pop() {
        const Event event = events_.begin()->second;
        events_.erase(events_.begin());
        return event;
    }

private:
    std::multimap<std::pair<Instant, uint64_t>, Event> events_;
};

class BinaryHeap {
public:
    void push(const Event& event) { events_.push(event); }
    Event pop() {
        const Event event = events_.top();
        events_.pop();
        return event;
    }

private:
    struct LeavesAfter {
        bool operator()(const Event& a, const Event& b) const { return leaves_before(b, a); }
    };
    std::priority_queue<Event, std::vector<Event>, LeavesAfter> events_;
};

template <class Queue>
class Hold {
public:
    Hold(const Increments& increments, size_t pending) : increments_(increments) {
        for (size_t i = 0; i < pending; ++i) push_after(Event{});
        for (size_t i = 0; i < 2 * pending; ++i) step();
    }

    uint64_t step() {
        const Event event = queue_.pop();
        push_after(event);
        return event.order;
    }

private:
    void push_after(Event event) {
        event.at += increments_[count_ % increments_.size()];
        event.order = count_++;
        queue_.push(event);
    }

    const Increments& increments_;
    Queue queue_;
    uint64_t count_ = 0;
};

template <class Queue, Increments (*draw)()>
void hold(benchmark::State& state) {
    const Increments increments = draw();
    const auto pending = static_cast<size_t>(state.range(0));
    Hold<Queue> checked(increments, pending);
    Hash hash;
    for (int i = 0; i < 10'000; ++i) hash.add(checked.step());

    Hold<Queue> timed(increments, pending);
    for (auto _ : state) benchmark::DoNotOptimize(timed.step());
    state.SetItemsProcessed(state.iterations());
    state.counters["hash"] = static_cast<double>(hash.value() % 1'000'000);
}

BENCHMARK_TEMPLATE(hold, EventQueue, exponential)->Arg(1'000)->Arg(100'000);
BENCHMARK_TEMPLATE(hold, BinaryHeap, exponential)->Arg(1'000)->Arg(100'000);
BENCHMARK_TEMPLATE(hold, Multimap, exponential)->Arg(1'000)->Arg(100'000);
BENCHMARK_TEMPLATE(hold, EventQueue, packets)->Arg(1'000)->Arg(100'000);
BENCHMARK_TEMPLATE(hold, BinaryHeap, packets)->Arg(1'000)->Arg(100'000);
BENCHMARK_TEMPLATE(hold, Multimap, packets)->Arg(1'000)->Arg(100'000);

}  // namespace
}  // namespace tulle::base
