#include "sim/run_hash.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "topology/builders.h"

namespace tulle::sim {
namespace {

using namespace base::literals;

Setup small_setup() {
    Setup setup;
    setup.graph = *topology::build(topology::Star{4});
    setup.flows.resize(2);
    setup.flows[0] = {.source = 0, .destination = 1, .bytes = 4096};
    setup.flows[1] = {.source = 2, .destination = 3, .bytes = 4096};
    setup.program.jobs.push_back({.name = "job"});
    setup.program.phases.push_back({.name = "phase"});
    setup.program.add({.rank = 0, .peer = 1, .bytes = 8}, {});
    setup.ranks = {{0}, {1}};
    return setup;
}

TEST(Run_hash, tells_apart_permutations_that_differ_in_their_end_points_alone) {
    std::set<uint64_t> hashes;
    for (const auto& [first, second] : {std::pair{1, 3}, {3, 1}, {1, 0}}) {
        auto setup = small_setup();
        setup.flows[0].destination = first;
        setup.flows[1].destination = second;
        hashes.insert(run_hash(setup, {}));
    }
    EXPECT_EQ(hashes.size(), 3u);
}

TEST(Run_hash, changes_with_everything_that_is_asked) {
    const std::vector<std::function<void(sim::Setup&)>> changes = {
        [](sim::Setup&) {},
        [](sim::Setup& s) { s.seed = 2; },
        [](sim::Setup& s) { s.stop = Instant{1}; },
        [](sim::Setup& s) { s.graph.cables[0].delay = 1_ns; },
        [](sim::Setup& s) { s.graph.nodes[0].rail = 1; },
        [](sim::Setup& s) { s.fabric.link.rate = base::Rate::bits_per_second(1'000'000'000); },
        [](sim::Setup& s) { s.fabric.qos.lane_of_dscp[63] = 1; },
        [](sim::Setup& s) { s.fabric.ecn.kmin_bytes += 1; },
        [](sim::Setup& s) { s.fabric.route.reroute_delay = 1_ps; },
        [](sim::Setup& s) { s.host.mtu = 1024; },
        [](sim::Setup& s) { s.host.algorithms.dcqcn.additive_bps += 1; },
        [](sim::Setup& s) { s.host.send_toll.rate = base::Rate::bits_per_second(1'000'000'000); },
        [](sim::Setup& s) { s.host.staging.cpu_per_copy = 1_ps; },
        [](sim::Setup& s) { s.flows[1].start = Instant{1}; },
        [](sim::Setup& s) { s.flows[1].port = 1; },
        [](sim::Setup& s) {
            s.paths.push_back({{0, 4, 1}, {1, 4, 0}});
        },
        [](sim::Setup& s) { s.program.add({.rank = 0, .peer = 1, .bytes = 8}, {}); },
        [](sim::Setup& s) {
            const uint32_t first[] = {0};
            s.program.add({.rank = 0, .peer = 1, .bytes = 8}, first);
        },
        [](sim::Setup& s) { s.program.jobs[0].service_level = 1; },
        [](sim::Setup& s) { s.ranks[1].endpoint = 2; },
        [](sim::Setup& s) { s.faults.push_back({.at = Instant{1}}); },
        [](sim::Setup& s) {
            s.qos.push_back({1, 0, {}, true});
        },
        [](sim::Setup& s) { s.scale_up = std::make_shared<sim::Setup>(); },
        [](sim::Setup& s) { s.scale_up = std::make_shared<sim::Setup>(small_setup()); },
    };
    std::set<uint64_t> hashes;
    for (const auto& change : changes) {
        auto setup = small_setup();
        change(setup);
        hashes.insert(setup_hash(setup));
    }
    EXPECT_EQ(hashes.size(), changes.size());
}

TEST(Run_hash, changes_with_everything_that_is_found) {
    const std::vector<std::function<void(Result&)>> changes = {
        [](Result&) {},
        [](Result& r) { r.end = Result::End::stuck; },
        [](Result& r) { r.time = Instant{1}; },
        [](Result& r) { r.flows.push_back({}); },
        [](Result& r) { r.phases.push_back({.end = Instant{1}}); },
        [](Result& r) { r.links.push_back({.flows = 1}); },
        [](Result& r) { r.links.push_back({.pauses_received = 1}); },
        [](Result& r) { r.blames.push_back({.culprit_port = 1}); },
        [](Result& r) { r.deadlock.push_back({.lane = 1}); },
        [](Result& r) {
            r.disagreements.push_back({1, "what"});
        },
        [](Result& r) { r.totals.cnps = 1; },
        [](Result& r) { r.totals.dropped[1] = 1; },
        [](Result& r) { r.message_latency.record(5); },
        [](Result& r) { r.cpu = 1_ps; },
        [](Result& r) { r.payload_bytes = 1; },
        [](Result& r) { r.scale_up = std::make_shared<Result>(); },
    };
    std::set<uint64_t> hashes;
    for (const auto& change : changes) {
        Result result;
        change(result);
        hashes.insert(run_hash({}, result));
    }
    EXPECT_EQ(hashes.size(), changes.size());
}

TEST(Run_hash, stays_with_names_with_what_only_watches_and_with_the_engines_speed) {
    auto setup = small_setup();
    setup.name = "other.yaml";
    setup.fabric_name = "a copy of it";
    setup.groups = {"file.txt"};
    setup.taps = {{0}};
    setup.trace = true;
    Result result;
    result.engine = {.events = 5, .threads = 3, .cpu_s = 1.5};
    result.hash = 77;
    result.trace.push_back({});
    EXPECT_EQ(run_hash(setup, result), run_hash(small_setup(), {}));
}

}  // namespace
}  // namespace tulle::sim
