// What holds for any collective on any idle cluster, over clusters and collectives drawn at random.
// That the work done is right is looked at message by message in src/workload.
#include <algorithm>

#include "base/random.h"
#include "lab.h"
#include "report/collectives.h"

namespace tulle::collectives {
namespace {

constexpr uint64_t kSeeds = 120;

struct Drawn {
    Cluster cluster;
    workload::CollectiveOptions options;
    std::string text;
};

Drawn draw(uint64_t seed) {
    base::RandomStream random({seed, 1, 0});
    Drawn drawn;
    constexpr const char* kProfiles[] = {"ib-ndr", "ib-hdr", "roce-v2-400g", "roce-v2-400g-tuned"};
    constexpr const char* kInside[] = {"nvlink4", "nvlink5", "ualink-200", ""};
    drawn.cluster.profile = kProfiles[random.below(4)];
    drawn.cluster.scale_up = kInside[random.below(4)];
    drawn.cluster.gpus = 1 + static_cast<uint32_t>(random.below(4));
    drawn.cluster.servers = 1 + static_cast<uint32_t>(random.below(5));
    if (drawn.cluster.servers * drawn.cluster.gpus == 1) drawn.cluster.servers = 2;
    constexpr Collective kCollectives[] = {Collective::all_reduce, Collective::reduce_scatter,
                                           Collective::all_gather, Collective::all_to_all,
                                           Collective::broadcast};
    workload::CollectiveOptions& options = drawn.options;
    options.collective = kCollectives[random.below(5)];
    options.bytes = 1 + random.below(uint64_t{1} << random.below(23));
    options.chunking.chunk = uint64_t{1} << (12 + random.below(8));
    const workload::Placement placement = placement_of(drawn.cluster);
    std::vector<Algorithm> possible;
    for (const Algorithm algorithm : workload::algorithms_of(options.collective)) {
        options.algorithm = algorithm;
        // Sums between servers need trees, which a scenario takes (jobs_test.cc tests them).
        if (algorithm == Algorithm::in_network) continue;
        if (!workload::check(options, placement)) possible.push_back(algorithm);
    }
    options.algorithm = possible[random.below(possible.size())];
    // Only some networks add up.
    if (options.algorithm == Algorithm::in_switch) drawn.cluster.scale_up = "nvlink4";
    drawn.text =
        "seed " + std::to_string(seed) + ": " + std::string(workload::name_of(options.collective)) +
        " by " + std::string(workload::name_of(options.algorithm)) + " of " +
        std::to_string(options.bytes) + " bytes, " + std::to_string(drawn.cluster.servers) +
        " servers of " + std::to_string(drawn.cluster.gpus) + " on " + drawn.cluster.profile +
        " and " + drawn.cluster.scale_up;
    return drawn;
}

TEST(Properties, every_collective_ends_and_none_is_faster_than_its_links) {
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        const Drawn drawn = draw(seed);
        const sim::Setup setup = setup_of(drawn.cluster, drawn.options);
        const sim::Result result = run(setup);
        const auto facts = report::collective_facts(setup, result);
        ASSERT_TRUE(facts[0].finished) << drawn.text;
        EXPECT_LE(facts[0].limit, facts[0].time) << drawn.text;
        const auto is_message = [](const workload::Task& task) {
            return task.kind != workload::Task::Kind::compute;
        };
        EXPECT_EQ(result.phases[0].messages,
                  static_cast<uint64_t>(std::ranges::count_if(setup.program.tasks(), is_message)))
            << drawn.text;
    }
}

TEST(Properties, threads_give_the_same_result) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const Drawn drawn = draw(seed);
        const sim::Setup setup = setup_of(drawn.cluster, drawn.options);
        EXPECT_EQ(run(setup, 2).hash, run(setup).hash) << drawn.text;
    }
}

// Nothing is shared on a ring but lines that one sender has for itself.
TEST(Properties, faster_links_and_shorter_cables_make_no_ring_slower) {
    for (uint64_t seed = 0; seed < kSeeds / 2; ++seed) {
        Drawn drawn = draw(seed);
        drawn.options.collective = Collective::all_reduce;
        drawn.options.algorithm = seed % 2 == 0 ? Algorithm::ring : Algorithm::two_level;
        drawn.options.channels = 1;
        if (workload::check(drawn.options, placement_of(drawn.cluster)))
            drawn.options.algorithm = Algorithm::ring;
        sim::Setup setup = setup_of(drawn.cluster, drawn.options);
        const Duration before = time_of(setup);
        const Duration most = before + before / 100;
        sim::Setup faster = setup;
        const uint64_t rate = setup.fabric.link.rate.whole_bits_per_second();
        faster.fabric.link.rate = base::Rate::bits_per_second(2 * rate);
        EXPECT_EQ(scenario::set_line_rates(faster), std::nullopt);
        EXPECT_LE(time_of(faster), most) << "twice the rate, " << drawn.text;
        setup.fabric.link.delay = setup.fabric.link.delay / 2;
        setup.fabric.node.latency = setup.fabric.node.latency / 2;
        EXPECT_LE(time_of(setup), most) << "half the delay, " << drawn.text;
    }
}

// Nobody can be told of a mark on a sum: it has many senders, and their peer is the switch.
TEST(Properties, sums_end_where_each_packet_is_marked) {
    workload::CollectiveOptions options;
    options.bytes = 1 << 20;
    options.algorithm = Algorithm::in_switch;
    sim::Setup setup = setup_of({.scale_up = "nvlink4", .servers = 1, .gpus = 4}, options);
    const Duration unmarked = time_of(setup);
    sim::Setup inside = *setup.scale_up;
    inside.fabric.marking = fabric::Marking::fecn;
    inside.fabric.fecn.threshold_bytes = 0;
    inside.fabric.fecn.marking_rate = 0;
    setup.scale_up = std::make_shared<sim::Setup>(inside);
    const sim::Result result = run(setup);
    EXPECT_TRUE(result.phases[0].finished);
    EXPECT_GT(result.scale_up->totals.ecn_marked, 0u);
    EXPECT_EQ(result.scale_up->totals.cnps, 0u);
    EXPECT_EQ(result.phases[0].end - result.phases[0].begin, unmarked);
}

}  // namespace
}  // namespace tulle::collectives
