// A model of ranks that carry out a program, for the tests of this room. It knows no time: whatever
// may happen next does so, in an order drawn at random. Buffers are followed byte by byte, each
// byte as the set of ranks whose data it contains.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <vector>

#include "base/random.h"
#include "workload/job.h"

namespace tulle::workload::testing {

using Contributions = uint64_t;  // a bit for each rank: programs of 64 ranks at most

class Model {
public:
    Model(const Program& program, const Ledger& ledger, const Placement& placement, uint64_t seed)
        : program_(program),
          ledger_(ledger),
          placement_(placement),
          random_({.seed = seed}),
          waits_(program.size()),
          arrived_(program.size()),
          completed_(program.size()),
          snapshots_(program.size()) {
        ledger_.resize(program.size());
        for (uint32_t i = 0; i < placement.size(); ++i) member_of_[placement[i].rank] = i;
    }

    // Called when a rank begins a task, and when it has done it; buffers are as they are then.
    std::function<void(uint32_t task)> on_start = [](uint32_t) {};
    std::function<void(uint32_t task)> on_done = [](uint32_t) {};

    std::vector<std::vector<Contributions>> buffers;  // by rank and byte

    // Fails where a rank sends what it has not, adds what is already in, or all stands still.
    void run() {
        inputs_ = buffers;
        for (uint32_t t = 0; t < program_.size(); ++t) {
            waits_[t] = program_.needs(t).size();
            for (const uint32_t need : program_.needs(t)) waiters_[need].push_back(t);
            if (program_[t].is_part_of_sum()) ++missing_[program_[t].reduction];
            if (waits_[t] == 0) events_.push_back({t, Event::start});
        }
        while (!events_.empty()) {
            const size_t choice = random_.below(events_.size());
            std::swap(events_[choice], events_.back());
            const auto [task, what] = events_.back();
            events_.pop_back();
            if (what == Event::start) start(task);
            if (what == Event::arrive) arrive(task);
            if (what == Event::complete) complete(task);
        }
        for (uint32_t t = 0; t < program_.size(); ++t)
            ASSERT_TRUE(completed_[t]) << "task " << t << " never ends";
    }

    // Whether the rank has seen the end of a task that it does or whose message it gets.
    bool has_seen(uint32_t rank, uint32_t task) const {
        return program_[task].rank == rank ? completed_[task] : arrived_[task];
    }

private:
    enum class Event : uint8_t { start, arrive, complete };
    struct Pending {
        uint32_t task;
        Event what;
    };

    std::vector<Contributions> bytes_of(uint32_t task) const {
        const Content& content = ledger_[task];
        if (content.effect == Content::Effect::none) return {};
        // What goes into a switch is the rank's own; what others add meanwhile is added apart.
        const bool is_input = program_[task].kind == Task::Kind::contribute;
        const auto& buffer = (is_input ? inputs_ : buffers)[program_[task].rank];
        return {buffer.begin() + static_cast<int64_t>(content.range.begin),
                buffer.begin() + static_cast<int64_t>(content.range.end)};
    }

    void start(uint32_t t) {
        on_start(t);
        snapshots_[t] = bytes_of(t);
        for (const Contributions byte : snapshots_[t])
            EXPECT_NE(byte, 0u) << "task " << t << " sends what its rank does not hold";
        const Task& task = program_[t];
        if (task.kind == Task::Kind::contribute) {
            events_.push_back({t, Event::complete});
            if (--missing_[task.reduction] == 0) events_.push_back({task.reduction, Event::arrive});
        } else if (task.kind == Task::Kind::sum_for_all) {
            // The first part is named as the sum is, and ends with it.
            if (t != task.reduction) events_.push_back({t, Event::complete});
            if (--missing_[task.reduction] == 0) events_.push_back({task.reduction, Event::arrive});
        } else if (task.kind == Task::Kind::send || task.kind == Task::Kind::multicast) {
            events_.push_back({t, Event::arrive});
        } else {
            events_.push_back({t, Event::complete});
        }
    }

    void write(uint32_t rank, Range range, Content::Effect effect,
               const std::vector<Contributions>& bytes) {
        for (size_t i = 0; i < bytes.size(); ++i) {
            Contributions& byte = buffers[rank][range.begin + i];
            const Contributions kept = effect == Content::Effect::reduce ? byte : 0;
            EXPECT_EQ(kept & bytes[i], 0u) << "the same is added twice at rank " << rank;
            byte = kept | bytes[i];
        }
    }

    void arrive(uint32_t t) {
        const Task& task = program_[t];
        EXPECT_FALSE(arrived_[t]);
        arrived_[t] = true;
        const Content& content = ledger_[t];
        if (task.kind == Task::Kind::sum_for_all) {
            bring_sum(t);
            events_.push_back({t, Event::complete});
        } else if (task.kind == Task::Kind::contribute) {
            std::vector<Contributions> sum(snapshots_[t].size());
            for (uint32_t other = t; other < program_.size(); ++other) {
                if (program_[other].reduction != t) continue;
                for (size_t i = 0; i < sum.size(); ++i) {
                    EXPECT_EQ(sum[i] & snapshots_[other][i], 0u);
                    sum[i] |= snapshots_[other][i];
                }
            }
            // Its own part comes back within the sum.
            for (uint64_t i = content.range.begin; i < content.range.end; ++i)
                buffers[task.peer][i] &= ~inputs_[task.peer][i];
            write(task.peer, content.range, Content::Effect::reduce, sum);
        } else {
            // The adapter reads memory whenever it likes until the message has arrived.
            EXPECT_EQ(snapshots_[t], bytes_of(t)) << "task " << t << " is changed while it is sent";
            if (task.kind == Task::Kind::multicast) {
                const uint32_t server = placement_.server_of(member_of_.at(task.rank));
                for (uint32_t i = 0; i < placement_.count_of(server); ++i)
                    write(placement_[placement_.first_of(server) + i].rank, content.range,
                          content.effect, snapshots_[t]);
            } else if (content.effect != Content::Effect::none) {
                write(task.peer, content.range, content.effect, snapshots_[t]);
            }
            events_.push_back({t, Event::complete});
        }
        wake(t, [&](uint32_t rank) { return rank != task.rank; });
    }

    // To each who has a part in it, in place of that part.
    void bring_sum(uint32_t t) {
        const Range range = ledger_[t].range;
        std::vector<Contributions> sum(snapshots_[t].size());
        std::vector<uint32_t> ranks;
        for (uint32_t other = t; other < program_.size(); ++other) {
            if (program_[other].reduction != t) continue;
            EXPECT_EQ(snapshots_[other], bytes_of(other)) << "a part is changed meanwhile";
            ranks.push_back(program_[other].rank);
            for (size_t i = 0; i < sum.size(); ++i) {
                EXPECT_EQ(sum[i] & snapshots_[other][i], 0u);
                sum[i] |= snapshots_[other][i];
            }
        }
        for (const uint32_t rank : ranks) write(rank, range, Content::Effect::copy, sum);
    }

    void complete(uint32_t t) {
        completed_[t] = true;
        wake(t, [&](uint32_t rank) { return rank == program_[t].rank; });
        on_done(t);
    }

    template <class Sees>
    void wake(uint32_t t, Sees&& sees) {
        const auto found = waiters_.find(t);
        if (found == waiters_.end()) return;
        for (const uint32_t waiter : found->second)
            if (sees(program_[waiter].rank) && --waits_[waiter] == 0)
                events_.push_back({waiter, Event::start});
    }

    std::vector<std::vector<Contributions>> inputs_;
    const Program& program_;
    Ledger ledger_;
    const Placement& placement_;
    base::RandomStream random_;
    std::map<uint32_t, uint32_t> member_of_;  // by rank
    std::vector<size_t> waits_;
    std::map<uint32_t, std::vector<uint32_t>> waiters_;
    std::map<uint32_t, uint32_t> missing_;  // contributions of a reduction
    std::vector<bool> arrived_;
    std::vector<bool> completed_;
    std::vector<std::vector<Contributions>> snapshots_;
    std::vector<Pending> events_;
};

// So many servers with so many GPUs each.
inline Placement servers(uint32_t count, uint32_t gpus, bool scale_up = true) {
    std::vector<Member> members;
    for (uint32_t i = 0; i < count * gpus; ++i) members.push_back({i, i / gpus, i % gpus});
    return Placement(std::move(members), scale_up);
}

}  // namespace tulle::workload::testing
