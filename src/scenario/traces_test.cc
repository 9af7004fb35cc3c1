#include "scenario/traces.h"

#include <gtest/gtest.h>

#include "scenario/astra.h"
#include "scenario/scenario.h"
#include "workload/trace_job.h"

namespace tulle::scenario {
namespace {

constexpr std::string_view kWorkload = "DATA\n1\na -1 5 NONE 0 0 NONE 0 0 ALLREDUCE 4096 0\n";

// Files by name, and what a scenario says of them.
std::string outcome(const std::string& work, const std::map<std::string, std::string>& texts,
                    const std::string& topology = "star:hosts=4") {
    const FileReader files = [&](const std::string& path) -> base::Result<std::string> {
        const auto found = texts.find(path);
        if (found == texts.end()) return base::Error{"cannot open " + path};
        return found->second;
    };
    const auto setup =
        read_scenario("topology: " + topology + "\nwork:\n  - " + work + "\n", "s.yaml", files);
    if (!setup) return setup.error().message;
    const workload::TraceJob& job = *setup->program.jobs.front().trace;
    return std::to_string(job.ranks.size()) + " ranks, " + job.units;
}

TEST(traces, a_workload_takes_all_gpus_and_says_its_unit) {
    const std::map<std::string, std::string> files = {{"w.txt", std::string(kWorkload)}};
    EXPECT_EQ(outcome("simai: {file: w.txt, unit: us}", files),
              "4 ranks, times in us, sizes in bytes, of an all-gather the whole result");
    EXPECT_EQ(outcome("astra: {workload: w.txt, ranks: [0, 2]}", files),
              "2 ranks, times in ns, sizes in bytes, of an all-gather what one rank brings");
}

TEST(traces, what_is_wrong_in_the_entry_or_in_a_file_is_said) {
    const std::map<std::string, std::string> files = {{"w.txt", std::string(kWorkload)},
                                                      {"g.json", "[1]"},
                                                      {"p.0.et", "\x7f"},
                                                      {"q.0.et", "\x7f"},
                                                      {"q.2.et", "\x7f"},
                                                      {"s.json", "{\"peak\": 1}"}};
    EXPECT_EQ(outcome("simai: {unit: us}", files),
              "s.yaml:3: `file` is missing; write file: a path");
    EXPECT_EQ(outcome("simai: {file: w.txt, unit: days}", files),
              "s.yaml:3: unit: it is one of ns, us, ms");
    EXPECT_EQ(outcome("simai: {file: none.txt}", files), "s.yaml:3: cannot open none.txt");
    EXPECT_EQ(outcome("chakra: {files: none}", files), "s.yaml:3: cannot open none.0.et");
    EXPECT_EQ(outcome("chakra: {files: p, groups: g.json}", files),
              "g.json:1: it is no map of process groups; write {\"1\": [0, 1]}");
    EXPECT_EQ(outcome("chakra: {files: q}", files),
              "s.yaml:3: files: q.1.et is missing, but q.2.et is there");
    EXPECT_EQ(outcome("chakra: {files: p}", files),
              "p.0.et: byte 0: a message begins here that is longer than the file; is it an "
              "execution trace, and all of it?");
    EXPECT_NE(outcome("astra: {workload: w.txt, system: s.json}", files).find("s.json:1: unknown"),
              std::string::npos);
}

TEST(astra, a_system_file_gives_algorithms_and_a_roofline) {
    const auto system = read_astra_system(
        R"({"all-reduce-implementation": ["ring", "ring"], "all-to-all-implementation": ["direct"],
            "all-gather-implementation": ["ring", "direct"], "peak-perf": 0.5,
            "local-mem-bw": 2.5, "roofline-enabled": 1, "boost-mode": 0})",
        "s.json");
    ASSERT_TRUE(system.ok()) << system.error().message;
    EXPECT_EQ(system->algorithms.at(workload::Collective::all_reduce), workload::Algorithm::ring);
    EXPECT_FALSE(system->algorithms.contains(workload::Collective::all_gather));
    EXPECT_EQ(system->roofline.flops_per_second, 500'000'000'000u);
    EXPECT_EQ(system->roofline.bytes_per_second, 2'500'000'000u);
    EXPECT_EQ(system->notes.size(), 3u);
}

TEST(astra, a_network_file_has_gigabytes_of_two_to_the_thirtieth) {
    const auto network = read_astra_network(
        "topology: [Ring, Switch]\nnpus_count: [4, 2]\nbandwidth: [400.0, 50.0]\n"
        "latency: [36.25, 500]\n",
        "n.yml");
    ASSERT_TRUE(network.ok()) << network.error().message;
    EXPECT_EQ((*network)[1].rate_bps, uint64_t{50} * 8 << 30);
    EXPECT_EQ((*network)[0].latency_ps, 36'250u);
    const auto graph = astra_graph(*network, "n.yml");
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(graph->host_count(), 8u);
    EXPECT_FALSE(graph->check());
}

TEST(astra, a_bandwidth_may_be_no_whole_number_of_bytes) {
    const auto network = read_astra_network(
        "topology: [Switch]\nnpus_count: [2]\nbandwidth: [741.34]\nlatency: [936.25]\n", "n.yml");
    ASSERT_TRUE(network.ok()) << network.error().message;
    EXPECT_EQ(network->front().rate_bps, uint64_t{74'134} * 8 * (1u << 30) / 100);
}

TEST(astra, rings_and_meshes_are_npus_that_pass_on) {
    for (const auto& [shape, cables] : {std::pair{"Ring", 10u}, {"FullyConnected", 15u}}) {
        const auto graph = astra_graph({{shape, 5, 8'000'000'000, 1000}}, "n.yml");
        ASSERT_TRUE(graph.ok());
        EXPECT_EQ(graph->cables.size(), cables);
        EXPECT_FALSE(graph->check());
    }
}

TEST(astra, what_is_wrong_in_a_network_file_has_its_line) {
    const auto wrong = [](const std::string& text) {
        return read_astra_network(text, "n.yml").error().message;
    };
    EXPECT_EQ(
        wrong("topology: [Torus]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [1]\n"),
        "n.yml:1: topology: 'Torus' is unknown here; write one of Ring, FullyConnected, Switch");
    EXPECT_EQ(wrong("topology: [Ring]\nnpus_count: [4]\nbandwidth: [fast]\nlatency: [1]\n"),
              "n.yml:3: bandwidth: it is a number of GB/s above 0, of 2^30 bytes, such as 50.0");
    EXPECT_EQ(wrong("topology: [Ring]\nnpus_count: [4, 2]\nbandwidth: [1]\nlatency: [1]\n"),
              "n.yml:2: npus_count has 2 dimensions, but topology has 1");
}

}  // namespace
}  // namespace tulle::scenario
