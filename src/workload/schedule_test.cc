// Schedules against the lists of Exchange: the same messages, waiting for the same.
#include "workload/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "workload/testing.h"

namespace tulle::workload {
namespace {

using Connection = std::tuple<uint32_t, uint32_t, uint16_t>;  // ranks and channel

// What Exchange lists, and where each message of a connection is in it.
struct Stored {
    Program program;
    std::map<Connection, std::vector<uint32_t>> messages;

    Stored(const CollectiveOptions& options, const Placement& placement) {
        JobBuilder builder(program, {}, placement);
        append(builder, "phase", options);
        for (uint32_t t = 0; t < program.size(); ++t)
            if (program[t].kind == Task::Kind::send)
                messages[{program[t].rank, program[t].peer, program[t].channel}].push_back(t);
    }
    // Messages that a task waits for, and not those of others that end the phase or launch.
    std::set<uint32_t> needs(uint32_t task) const {
        std::set<uint32_t> found;
        for (const uint32_t need : program.needs(task))
            if (program[need].kind == Task::Kind::send) found.insert(need);
        return found;
    }
};

struct Inlets {
    using Known = std::map<std::pair<uint32_t, uint32_t>, Connection>;
    Known from;   // by member and inlet
    Known turns;  // by member and turn

    static void add(Known& known, std::pair<uint32_t, uint32_t> key, const Connection& value) {
        EXPECT_TRUE(known.emplace(key, value).second) << "two streams have the same name";
    }

    explicit Inlets(const Schedule& schedule) {
        const Placement& placement = schedule.placement();
        for (uint32_t member = 0; member < placement.size(); ++member)
            for (uint32_t i = 0; i < schedule.stream_count(); ++i) {
                const Stream stream = schedule.stream(member, i);
                if (stream.messages == 0) continue;
                const Connection connection{placement[member].rank, placement[stream.peer].rank,
                                            stream.channel};
                const bool is_waited_for = schedule.inlet_count() != 0;
                if (is_waited_for) {
                    add(from, {stream.peer, stream.inlet}, connection);
                    const Schedule::Source source = schedule.source(stream.peer, stream.inlet);
                    EXPECT_EQ(source.member, member);
                    EXPECT_EQ(source.stream, i);
                }
                if (stream.turn == Stream::kNoTurn) continue;
                add(turns, {member, stream.turn}, connection);
                EXPECT_EQ(schedule.ends_turn(member, stream.turn), i);
            }
    }
};

// All needs of a message, a few at a time. Each can be asked for by its place.
std::vector<StreamMessage::Need> needs_of(const Schedule& schedule, uint32_t member, uint32_t index,
                                          uint64_t k) {
    std::vector<StreamMessage::Need> found;
    StreamMessage message = schedule.message(member, index, k);
    for (;;) {
        for (uint32_t i = 0; i < message.need_count; ++i) {
            EXPECT_EQ(message.needs[i].place, found.size());
            found.push_back(message.needs[i]);
            const auto same = schedule.need(member, index, k, message.needs[i].place);
            EXPECT_EQ(same.inlet, found.back().inlet);
            EXPECT_EQ(same.message, found.back().message);
        }
        if (message.later_needs == 0) break;
        schedule.list_needs(member, index, k, message.later_needs, message);
    }
    EXPECT_LE(found.size(), schedule.most_needs());
    return found;
}

void compare_stream(const Schedule& schedule, const Stored& stored, const Inlets& inlets,
                    uint32_t member, uint32_t index,
                    std::vector<std::pair<uint64_t, uint32_t>>& numbers) {
    const Placement& placement = schedule.placement();
    const Stream stream = schedule.stream(member, index);
    if (stream.messages == 0) return;
    const Connection own{placement[member].rank, placement[stream.peer].rank, stream.channel};
    ASSERT_TRUE(stored.messages.count(own) != 0);
    const auto& list = stored.messages.at(own);
    ASSERT_EQ(list.size(), stream.messages);
    uint64_t bytes = 0;
    for (uint64_t k = 0; k < stream.messages; ++k) {
        const Task& task = stored.program[list[k]];
        const StreamMessage message = schedule.message(member, index, k);
        bytes += message.bytes;
        EXPECT_EQ(task.tier, stream.tier);
        EXPECT_EQ(task.bytes, schedule.wire_bytes(message.bytes));
        EXPECT_EQ(task.duration, schedule.software(stream.tier, message));
        std::set<uint32_t> needs;
        for (const auto& need : needs_of(schedule, member, index, k))
            needs.insert(stored.messages.at(inlets.from.at({member, need.inlet})).at(need.message));
        if (stream.window != 0 && k >= stream.window) needs.insert(list[k - stream.window]);
        if (stream.gate != Stream::kNoTurn) {
            const auto [first, end] = schedule.opened_by(member, stream.gate);
            EXPECT_TRUE(first <= index && index < end);
        }
        if (stream.gate != Stream::kNoTurn)
            needs.insert(stored.messages.at(inlets.turns.at({member, stream.gate})).back());
        ASSERT_EQ(needs, stored.needs(list[k])) << "message " << k << " of stream " << index;
        numbers.emplace_back(message.number, list[k]);
    }
    EXPECT_EQ(bytes, schedule.stream_bytes(member, index));
}

void compare(const CollectiveOptions& options, const Placement& placement) {
    const auto schedule = Schedule::make(options, std::make_shared<const Placement>(placement));
    ASSERT_NE(schedule, nullptr);
    const Stored stored(options, placement);
    const Inlets inlets(*schedule);
    std::vector<std::pair<uint64_t, uint32_t>> numbers;
    for (uint32_t member = 0; member < placement.size(); ++member)
        for (uint32_t i = 0; i < schedule->stream_count(); ++i)
            compare_stream(*schedule, stored, inlets, member, i, numbers);
    std::sort(numbers.begin(), numbers.end());
    for (size_t i = 1; i < numbers.size(); ++i) {
        EXPECT_LT(numbers[i - 1].first, numbers[i].first);
        EXPECT_LT(numbers[i - 1].second, numbers[i].second);
    }
    size_t messages = 0;
    std::map<uint32_t, uint64_t> arrivals;
    for (const auto& [connection, list] : stored.messages) {
        messages += list.size();
        arrivals[std::get<1>(connection)] += list.size();
    }
    EXPECT_EQ(numbers.size(), messages);
    EXPECT_EQ(schedule->messages(), messages);
    EXPECT_TRUE(numbers.empty() || numbers.back().first < schedule->numbers());
    for (uint32_t member = 0; member < placement.size(); ++member)
        EXPECT_EQ(schedule->arrivals(member), arrivals[placement[member].rank]);
}

CollectiveOptions random_options(Collective collective, Algorithm algorithm,
                                 base::RandomStream& random, const Placement& placement) {
    CollectiveOptions options;
    options.collective = collective;
    options.algorithm = algorithm;
    options.channels = static_cast<uint16_t>(random.below(4));
    options.chunking.chunk = 1 + random.below(3000);
    options.chunking.window = static_cast<uint32_t>(random.below(5));
    options.chunking.inside_window = static_cast<uint32_t>(random.below(3));
    options.chunking.slices = static_cast<uint32_t>(random.below(4));
    options.peers = static_cast<uint32_t>(random.below(4));
    options.root = static_cast<uint32_t>(random.below(placement.size()));
    options.bytes = 1 + random.below(60'000);
    options.software.step = {base::Duration{5000}, base::Duration{3000}};
    options.software.copy_fs = {1000, 2000};
    options.software.passes_on_lines = random.chance(1, 2);
    options.pxn = collective == Collective::all_to_all && random.chance(1, 2);
    return options;
}

class SchedulesOf : public ::testing::TestWithParam<std::pair<Collective, Algorithm>> {};

TEST_P(SchedulesOf, are_what_exchange_lists) {
    base::RandomStream random({.seed = 15});
    uint32_t compared = 0;
    for (uint32_t i = 0; i < 120; ++i) {
        const auto placement =
            testing::servers(static_cast<uint32_t>(1 + random.below(7)),
                             static_cast<uint32_t>(1 + random.below(4)), random.chance(1, 2));
        const auto options = random_options(GetParam().first, GetParam().second, random, placement);
        if (!Schedule::make(options, std::make_shared<const Placement>(placement))) continue;
        ++compared;
        compare(options, placement);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(compared, 80u);
}

INSTANTIATE_TEST_SUITE_P(
    All, SchedulesOf,
    ::testing::Values(std::pair(Collective::all_reduce, Algorithm::ring),
                      std::pair(Collective::all_reduce, Algorithm::tree),
                      std::pair(Collective::reduce_scatter, Algorithm::ring),
                      std::pair(Collective::all_gather, Algorithm::ring),
                      std::pair(Collective::broadcast, Algorithm::ring),
                      std::pair(Collective::broadcast, Algorithm::tree),
                      std::pair(Collective::reduce_scatter, Algorithm::direct),
                      std::pair(Collective::all_gather, Algorithm::direct),
                      std::pair(Collective::all_to_all, Algorithm::direct),
                      std::pair(Collective::all_reduce, Algorithm::halving_doubling),
                      std::pair(Collective::all_reduce, Algorithm::two_level),
                      std::pair(Collective::reduce_scatter, Algorithm::two_level),
                      std::pair(Collective::all_gather, Algorithm::two_level)));

bool is_same(const Task& a, const Task& b) {
    return a.kind == b.kind && a.tier == b.tier && a.channel == b.channel && a.rank == b.rank &&
           a.peer == b.peer && a.bytes == b.bytes && a.duration == b.duration &&
           a.is_launch == b.is_launch && a.is_in_turn == b.is_in_turn;
}

TEST(Schedule, of_rings_that_gather_and_that_scatter_is_the_same_if_blocks_are) {
    base::RandomStream random({.seed = 16});
    uint32_t alike = 0;
    for (uint32_t i = 0; i < 200; ++i) {
        const auto placement =
            testing::servers(static_cast<uint32_t>(1 + random.below(5)),
                             static_cast<uint32_t>(1 + random.below(4)), random.chance(1, 2));
        if (placement.size() < 2) continue;
        CollectiveOptions gather =
            random_options(Collective::all_gather, Algorithm::ring, random, placement);
        if (gather.channels == 0) continue;
        if (random.chance(3, 4))
            gather.bytes -= gather.bytes % (placement.size() * gather.channels);
        CollectiveOptions scatter = gather;
        scatter.collective = Collective::reduce_scatter;
        if (gather.bytes == 0 || !sends_alike(gather, scatter, placement.size())) continue;
        ++alike;
        const Stored a(gather, placement);
        const Stored b(scatter, placement);
        ASSERT_EQ(a.program.size(), b.program.size());
        for (uint32_t task = 0; task < a.program.size(); ++task) {
            ASSERT_TRUE(is_same(a.program[task], b.program[task]));
            ASSERT_TRUE(std::ranges::equal(a.program.needs(task), b.program.needs(task)));
        }
    }
    EXPECT_GT(alike, 50u);
}

TEST(Schedule, is_not_there_for_what_has_no_closed_form) {
    const auto placement = std::make_shared<const Placement>(testing::servers(2, 4));
    CollectiveOptions options;
    options.bytes = 1 << 20;
    options.algorithm = Algorithm::two_level;
    options.in_switch = true;
    EXPECT_EQ(Schedule::make(options, placement), nullptr);
    options.in_switch = false;
    options.algorithm = Algorithm::ring;
    EXPECT_NE(Schedule::make(options, placement), nullptr);
    options.bytes = 7;  // fewer bytes than ranks: some would send nothing
    EXPECT_EQ(Schedule::make(options, placement), nullptr);
}

}  // namespace
}  // namespace tulle::workload
