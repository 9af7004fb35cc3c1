#include "workload/collectives/collective.h"

#include <gtest/gtest.h>

#include "workload/bus_bandwidth.h"
#include "workload/testing.h"

namespace tulle::workload {
namespace {

using testing::Contributions;
using testing::Model;
using testing::servers;

Contributions all_of(uint32_t n) {
    return n == 64 ? ~Contributions{0} : (Contributions{1} << n) - 1;
}

uint64_t buffer_bytes(const CollectiveOptions& options, uint32_t n) {
    return options.collective == Collective::all_to_all ? options.bytes * n : options.bytes;
}

// What member `i` of n holds before: whole buffers to reduce, its own block, its own row.
Contributions before(const CollectiveOptions& options, uint32_t n, uint32_t i, uint64_t byte) {
    const auto in = [&](Range range) { return range.begin <= byte && byte < range.end; };
    const Contributions own = Contributions{1} << i;
    switch (options.collective) {
        case Collective::all_gather: return in(part({0, options.bytes}, n, i)) ? own : 0;
        case Collective::all_to_all: return byte / options.bytes == i ? own : 0;
        case Collective::broadcast: return i == options.root ? own : 0;
        default: return own;
    }
}

// Whether it is what member `i` has to hold in the end.
bool is_right(const CollectiveOptions& options, uint32_t n, uint32_t i, uint64_t byte,
              Contributions value) {
    switch (options.collective) {
        case Collective::all_reduce: return value == all_of(n);
        case Collective::reduce_scatter: {
            const Range own = part({0, options.bytes}, n, i);
            return byte < own.begin || byte >= own.end || value == all_of(n);
        }
        case Collective::all_gather:
            for (uint32_t j = 0; j < n; ++j) {
                const Range block = part({0, options.bytes}, n, j);
                if (block.begin <= byte && byte < block.end) return value == Contributions{1} << j;
            }
            return false;
        case Collective::all_to_all: {
            const auto from = static_cast<uint32_t>(byte / options.bytes);
            const Range row{from * options.bytes, (from + 1) * options.bytes};
            const Range own = part(row, n, i);
            return byte < own.begin || byte >= own.end || value == Contributions{1} << from;
        }
        case Collective::broadcast: return value == Contributions{1} << options.root;
        default: return false;
    }
}

struct Made {
    Program program;
    Ledger ledger;
    std::vector<uint32_t> ends;  // of each member: what it does next waits for this
};

Made make(const Placement& placement, const CollectiveOptions& options) {
    Made made;
    JobBuilder job(made.program, {}, placement, 0, &made.ledger);
    append(job, "phase", options);
    for (uint32_t i = 0; i < placement.size(); ++i) made.ends.push_back(job.entry(i));
    return made;
}

// Carries it out in an order drawn at random and looks at what each member holds when it may go on.
void expect_right(const Placement& placement, const CollectiveOptions& options, uint64_t seed) {
    const uint32_t n = placement.size();
    const Made made = make(placement, options);
    const auto wrong = made.program.check(placement.size());
    ASSERT_FALSE(wrong) << wrong->message;
    EXPECT_LE(made.program.size(), most_tasks(options, placement));
    Model model(made.program, made.ledger, placement, seed);
    model.buffers.resize(n);
    for (uint32_t i = 0; i < n; ++i)
        for (uint64_t byte = 0; byte < buffer_bytes(options, n); ++byte)
            model.buffers[placement[i].rank].push_back(before(options, n, i, byte));
    uint32_t ended = 0;
    model.on_done = [&](uint32_t task) {
        for (uint32_t i = 0; i < n; ++i) {
            if (made.ends[i] != task || made.program[task].rank != placement[i].rank) continue;
            ++ended;
            for (uint64_t byte = 0; byte < buffer_bytes(options, n); ++byte)
                ASSERT_TRUE(is_right(options, n, i, byte, model.buffers[placement[i].rank][byte]))
                    << "member " << i << " byte " << byte;
        }
    };
    model.run();
    EXPECT_EQ(ended, n);
}

std::string describe(const CollectiveOptions& options, const Placement& placement) {
    std::string text =
        std::string(name_of(options.collective)) + " by " +
        std::string(name_of(options.algorithm)) + " and " + std::string(name_of(options.between)) +
        ", " + std::to_string(options.bytes) + " bytes, channels " +
        std::to_string(options.channels) + ", chunk " + std::to_string(options.chunking.chunk) +
        ", window " + std::to_string(options.chunking.window) + ", servers of";
    for (uint32_t i = 0; i < placement.server_count(); ++i)
        text += " " + std::to_string(placement.count_of(i));
    return text + (options.in_switch ? ", in switches" : "") + (options.pxn ? ", pxn" : "");
}

// Servers of any sizes; where the algorithm asks for it, of one size.
Placement random_placement(base::RandomStream& random, bool is_regular) {
    const auto count = static_cast<uint32_t>(1 + random.below(6));
    const auto gpus = static_cast<uint32_t>(1 + random.below(5));
    std::vector<Member> members;
    for (uint32_t server = 0; server < count; ++server) {
        const uint32_t here = is_regular ? gpus : static_cast<uint32_t>(1 + random.below(5));
        for (uint32_t i = 0; i < here; ++i)
            members.push_back({static_cast<uint32_t>(members.size()), server, i});
    }
    return Placement(std::move(members), random.chance(2, 3));
}

template <class T, size_t N>
T one_of(base::RandomStream& random, const T (&choices)[N]) {
    return choices[random.below(N)];
}

CollectiveOptions random_options(base::RandomStream& random, Collective collective,
                                 Algorithm algorithm) {
    CollectiveOptions options;
    options.collective = collective;
    options.algorithm = algorithm;
    options.between =
        one_of(random, {Algorithm::ring, Algorithm::tree, Algorithm::halving_doubling});
    options.bytes = one_of<uint64_t>(random, {1, 2, 7, 30, 64, 200, 333});
    options.channels = one_of<uint16_t>(random, {0, 1, 1, 2, 3, 5});
    options.chunking.chunk = one_of<uint64_t>(random, {1, 3, 16, 1000});
    options.chunking.window = one_of<uint32_t>(random, {0, 1, 2, 8});
    options.peers = one_of<uint32_t>(random, {0, 1, 8});
    return options;
}

void try_at_random(Collective collective, Algorithm algorithm, uint64_t seed) {
    base::RandomStream random(
        {.seed = seed,
         .kind = static_cast<uint32_t>(collective) * 16 + static_cast<uint32_t>(algorithm)});
    CollectiveOptions options = random_options(random, collective, algorithm);
    options.pxn = collective == Collective::all_to_all && random.chance(1, 2);
    const bool by_rails = algorithm == Algorithm::two_level || options.pxn;
    Placement placement = random_placement(random, by_rails);
    if (algorithm == Algorithm::in_switch)
        placement = servers(1, static_cast<uint32_t>(1 + random.below(8)));
    if (algorithm == Algorithm::in_network)
        placement = servers(static_cast<uint32_t>(2 + random.below(7)), 1, false);
    if (algorithm == Algorithm::two_level && placement.has_scale_up())
        options.in_switch = random.chance(1, 2);
    const bool has_rails = placement.server_count() > 1;
    if (algorithm == Algorithm::two_level && collective == Collective::all_reduce && has_rails &&
        random.chance(1, 4))
        options.between = Algorithm::in_network;
    options.chunking.tree_piece = one_of<uint64_t>(random, {0, 1, 7});
    options.chunking.tree_window = one_of<uint32_t>(random, {0, 1, 2});
    options.root = static_cast<uint32_t>(random.below(placement.size()));
    SCOPED_TRACE(describe(options, placement) + ", seed " + std::to_string(seed));
    ASSERT_FALSE(check(options, placement)) << check(options, placement)->message;
    expect_right(placement, options, seed);
}

TEST(collectives, every_rank_holds_what_it_should_when_it_may_go_on) {
    for (const Collective collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
          Collective::all_to_all, Collective::broadcast})
        for (const Algorithm algorithm : algorithms_of(collective))
            for (uint64_t seed = 0; seed < 60; ++seed) {
                try_at_random(collective, algorithm, seed);
                if (::testing::Test::HasFailure()) return;
            }
}

CollectiveOptions options_of(Collective collective, Algorithm algorithm, uint64_t bytes) {
    CollectiveOptions options;
    options.collective = collective;
    options.algorithm = algorithm;
    options.bytes = bytes;
    return options;
}

struct Sent {
    uint64_t out = 0;  // of the server
    uint64_t up = 0;   // inside it
};

std::vector<Sent> sent_by_each(const Program& program, uint32_t ranks) {
    std::vector<Sent> sent(ranks);
    for (const Task& task : program.tasks()) {
        Sent& by_rank = sent[task.rank];
        (task.tier == Tier::scale_out ? by_rank.out : by_rank.up) += task.bytes;
    }
    return sent;
}

Sent sent_by_all(const Program& program, uint32_t ranks) {
    Sent sum;
    for (const Sent& sent : sent_by_each(program, ranks)) {
        sum.out += sent.out;
        sum.up += sent.up;
    }
    return sum;
}

TEST(collectives, a_rank_of_a_ring_sends_what_the_closed_form_says) {
    constexpr uint64_t kBytes = 48 << 20;
    for (const uint32_t n : {2u, 4u, 6u, 12u}) {
        const Placement placement = servers(n, 1);
        const uint64_t block = kBytes / n;
        for (const auto& [collective, steps] : {std::pair{Collective::all_reduce, 2 * (n - 1)},
                                                std::pair{Collective::reduce_scatter, n - 1},
                                                std::pair{Collective::all_gather, n - 1}}) {
            const Made made = make(placement, options_of(collective, Algorithm::ring, kBytes));
            for (const Sent& sent : sent_by_each(made.program, n))
                EXPECT_EQ(sent.out, steps * block) << name_of(collective) << " on " << n;
        }
    }
}

TEST(collectives, a_rank_that_halves_and_doubles_sends_no_more_than_in_a_ring) {
    const Made made = make(
        servers(16, 1), options_of(Collective::all_reduce, Algorithm::halving_doubling, 16 << 20));
    for (const Sent& sent : sent_by_each(made.program, 16)) EXPECT_EQ(sent.out, 2u * 15 << 20);
}

TEST(collectives, no_bytes_are_sent_twice_whatever_the_sizes) {
    for (const uint32_t n : {1u, 2u, 5u, 8u})
        for (const uint64_t bytes : {1u, 7u, 1000u, 100'001u}) {
            const auto all = [&](Collective collective, Algorithm algorithm) {
                const Made made = make(servers(n, 1), options_of(collective, algorithm, bytes));
                return sent_by_all(made.program, n).out;
            };
            for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree})
                EXPECT_EQ(all(Collective::all_reduce, algorithm), 2 * (n - 1) * bytes);
            for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
                EXPECT_EQ(all(Collective::reduce_scatter, algorithm), (n - 1) * bytes);
                EXPECT_EQ(all(Collective::all_gather, algorithm), (n - 1) * bytes);
            }
            for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree})
                EXPECT_EQ(all(Collective::broadcast, algorithm), (n - 1) * bytes);
            EXPECT_EQ(all(Collective::all_to_all, Algorithm::direct), (n - 1) * bytes);
        }
}

TEST(collectives, on_two_levels_a_rank_sends_its_share_along_the_rail_and_the_rest_inside) {
    constexpr uint32_t kServers = 4;
    constexpr uint32_t kGpus = 8;
    constexpr uint64_t kBytes = 64 << 20;
    const Placement placement = servers(kServers, kGpus);
    CollectiveOptions options = options_of(Collective::all_reduce, Algorithm::two_level, kBytes);
    for (const Sent& sent : sent_by_each(make(placement, options).program, placement.size())) {
        EXPECT_EQ(sent.out, kBytes / kGpus * 2 * (kServers - 1) / kServers);
        EXPECT_EQ(sent.up, 2 * kBytes * (kGpus - 1) / kGpus);
    }
    options.in_switch = true;
    for (const Sent& sent : sent_by_each(make(placement, options).program, placement.size())) {
        EXPECT_EQ(sent.out, kBytes / kGpus * 2 * (kServers - 1) / kServers);
        EXPECT_EQ(sent.up, kBytes + kBytes / kGpus);
    }
    options = options_of(Collective::all_gather, Algorithm::two_level, kBytes);
    for (const Sent& sent : sent_by_each(make(placement, options).program, placement.size())) {
        EXPECT_EQ(sent.out, kBytes / kGpus * (kServers - 1) / kServers);
        EXPECT_EQ(sent.up, kBytes * (kGpus - 1) / kGpus);
    }
}

TEST(collectives, messages_on_two_levels_never_change_rails) {
    const Placement placement = servers(3, 4);
    for (const Collective collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
        const Made made = make(placement, options_of(collective, Algorithm::two_level, 1 << 20));
        for (const Task& task : made.program.tasks()) {
            if (task.bytes == 0) continue;
            EXPECT_EQ(task.tier == Tier::scale_up, task.rank / 4 == task.peer / 4);
            EXPECT_TRUE(task.tier == Tier::scale_up || task.rank % 4 == task.peer % 4);
        }
    }
}

TEST(collectives, by_rail_an_all_to_all_leaves_the_server_on_the_rail_of_the_receiver) {
    CollectiveOptions options = options_of(Collective::all_to_all, Algorithm::direct, 12 << 20);
    options.pxn = true;
    const Made made = make(servers(3, 4), options);
    for (const Task& task : made.program.tasks()) {
        if (task.bytes == 0 || task.tier == Tier::scale_up) continue;
        EXPECT_EQ(task.rank % 4, task.peer % 4);
    }
    for (const Sent& sent : sent_by_each(made.program, 12)) {
        EXPECT_EQ(sent.out, 8u << 20);        // to 8 ranks elsewhere
        EXPECT_EQ(sent.up, (3u + 6u) << 20);  // to 3 ranks here, and for 6 by way of them
    }
}

TEST(collectives, without_a_network_inside_all_messages_leave_the_server) {
    const Made made = make(servers(2, 4, false),
                           options_of(Collective::all_reduce, Algorithm::two_level, 1 << 20));
    EXPECT_EQ(sent_by_all(made.program, 8).up, 0u);
    EXPECT_GT(sent_by_all(made.program, 8).out, 0u);
}

TEST(collectives, as_many_messages_of_a_connection_are_on_their_way_as_the_window_has) {
    CollectiveOptions options = options_of(Collective::broadcast, Algorithm::ring, 100 << 10);
    options.chunking = {.chunk = 1 << 10, .window = 4};
    const Made made = make(servers(2, 1), options);
    uint32_t sends = 0;
    for (uint32_t t = 0; t < made.program.size(); ++t) {
        if (made.program[t].bytes == 0) continue;
        const auto needs = made.program.needs(t);
        EXPECT_EQ(needs.size(), sends < 4 ? 0u : 1u);
        EXPECT_TRUE(needs.empty() || needs[0] == t - 4);
        ++sends;
    }
    EXPECT_EQ(sends, 100u);
}

TEST(collectives, a_rank_serves_as_many_others_at_once_as_it_is_told) {
    CollectiveOptions options = options_of(Collective::all_to_all, Algorithm::direct, 16 << 10);
    options.peers = 3;
    const Made made = make(servers(16, 1), options);
    std::vector<uint32_t> of_rank_5;
    for (uint32_t t = 0; t < made.program.size(); ++t)
        if (made.program[t].rank == 5 && made.program[t].bytes != 0) of_rank_5.push_back(t);
    ASSERT_EQ(of_rank_5.size(), 15u);
    for (size_t i = 3; i < of_rank_5.size(); ++i)
        EXPECT_EQ(made.program.needs(of_rank_5[i])[0], of_rank_5[i - 3]);
}

TEST(collectives, one_rank_has_nothing_to_send_and_its_phase_has_an_end) {
    for (const Collective collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
          Collective::all_to_all, Collective::broadcast})
        for (const Algorithm algorithm : algorithms_of(collective)) {
            const Made made = make(servers(1, 1), options_of(collective, algorithm, 1000));
            ASSERT_EQ(made.program.size(), 1u);
            EXPECT_EQ(made.program[0].kind, Task::Kind::compute);
            EXPECT_EQ(made.program[0].duration.ps, 0);
        }
}

// 128 servers of 8 GPUs. Bytes, not seconds: what the vectors of a program hold.
TEST(collectives, a_program_for_a_thousand_ranks_stays_lean) {
    Program program;
    JobBuilder job(program, {}, servers(128, 8));
    append(job, "", options_of(Collective::all_reduce, Algorithm::two_level, 128 << 20));
    EXPECT_FALSE(program.check(1024));
    EXPECT_LT(most_tasks(options_of(Collective::all_reduce, Algorithm::two_level, 128 << 20),
                         servers(128, 8)),
              8u * program.size());
    const size_t bytes = program.size() * (sizeof(Task) + sizeof(uint32_t)) +
                         program.need_count() * sizeof(uint32_t);
    EXPECT_LT(bytes, 60u << 20);
}

TEST(collectives, what_does_not_go_together_is_a_sentence) {
    const auto said = [](CollectiveOptions options, const Placement& placement) {
        const auto error = check(options, placement);
        return error ? error->message : "";
    };
    EXPECT_EQ(said(options_of(Collective::all_to_all, Algorithm::ring, 1), servers(2, 2)),
              "all_to_all has no algorithm ring; write one of direct");
    const Placement uneven({{0, 0, 0}, {1, 0, 1}, {2, 1, 0}}, true);
    EXPECT_EQ(said(options_of(Collective::all_reduce, Algorithm::two_level, 1), uneven),
              "two_level needs the same GPUs of each server");
    EXPECT_EQ(said(options_of(Collective::all_reduce, Algorithm::in_switch, 1), servers(2, 2)),
              "in_switch reduces inside one server; between servers write algorithm: two_level and "
              "in_switch: yes");
    EXPECT_EQ(
        said(options_of(Collective::all_reduce, Algorithm::in_switch, 1), servers(1, 2, false)),
        "in_switch needs a network inside servers; write gpus: {scale_up: ...}");
}

TEST(collectives, bus_bandwidth_is_what_nccl_tests_calls_so) {
    EXPECT_EQ(bus_factor(Collective::all_reduce, 8), (BusFactor{14, 8}));
    EXPECT_EQ(bus_factor(Collective::reduce_scatter, 8), (BusFactor{7, 8}));
    EXPECT_EQ(bus_factor(Collective::all_gather, 8), (BusFactor{7, 8}));
    EXPECT_EQ(bus_factor(Collective::all_to_all, 8), (BusFactor{7, 8}));
    EXPECT_EQ(bus_factor(Collective::broadcast, 8), (BusFactor{1, 1}));
}

TEST(collectives, a_ring_has_a_channel_for_each_rail_but_not_for_few_bytes) {
    CollectiveOptions options = options_of(Collective::all_reduce, Algorithm::ring, 1 << 30);
    EXPECT_EQ(usual_channels(options, servers(4, 8)), 8u);
    options.bytes = 64 << 10;
    EXPECT_EQ(usual_channels(options, servers(4, 8)), 2u);
}

}  // namespace
}  // namespace tulle::workload
