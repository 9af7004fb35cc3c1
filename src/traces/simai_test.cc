#include "traces/simai.h"

#include <gtest/gtest.h>

#include "traces/program.h"
#include "workload/training/step.h"

namespace tulle::traces {
namespace {

const std::string kHybrid = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 all_gpus: 8\n";

WorkloadOptions eight_ranks() {
    WorkloadOptions options;
    options.ranks = 8;
    return options;
}

std::string complaint_of(const std::string& text) {
    const auto trace = read_workload(text, "w.txt", eight_ranks());
    return trace ? "" : trace.error().message;
}

Trace workload_of(const std::string& text, const WorkloadOptions& options = eight_ranks()) {
    auto trace = read_workload(text, "w.txt", options);
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    return std::move(*trace);
}

std::vector<uint32_t> ranks_of_first(const Trace& trace, uint32_t rank) {
    const RankGraph& graph = trace.ranks[rank];
    for (uint32_t i = 0; i < graph.size(); ++i)
        if (graph[i].kind == Node::Kind::collective) return trace.groups[graph[i].group].ranks;
    return {};
}

TEST(simai, teams_count_tensors_first_then_replicas) {
    const auto team = [](const std::string& name, uint32_t rank) {
        return ranks_of_first(
            workload_of(kHybrid + "1\na -1 1 NONE 0 1 NONE 0 1 " + name + " 8 0\n"), rank);
    };
    EXPECT_EQ(team("ALLREDUCE", 1), (std::vector<uint32_t>{1, 3, 5, 7}));
    EXPECT_EQ(team("ALLREDUCE_TP", 3), (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(team("ALLTOALL_EP", 5), (std::vector<uint32_t>{5, 7}));
    EXPECT_EQ(team("REDUCESCATTER_DP_EP", 3), (std::vector<uint32_t>{3, 7}));
}

TEST(simai, a_byte_order_mark_is_no_part_of_the_policy) {
    const std::string text = kHybrid + "1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0\n";
    EXPECT_EQ(workload_of("\xef\xbb\xbf" + text).ranks.size(), workload_of(text).ranks.size());
}

TEST(simai, on_an_infinitely_fast_network_a_step_is_its_times) {
    const Trace trace = workload_of(kHybrid +
                                    "2\na -1 100 ALLREDUCE 8 20 NONE 0 3 ALLREDUCE 64 7\nb -1 1000 "
                                    "NONE 0 1 NONE 0 1 NONE 0 0\n");
    TracePlace place;
    for (uint32_t i = 0; i < 8; ++i) place.members.push_back({i, i, 0});
    place.protocol = workload::Protocol::bare;
    place.most_tasks = 1'000'000;
    workload::Program program;
    ASSERT_TRUE(append_trace(program, {}, trace, place).ok());
    for (const base::Duration end : workload::ideal_ends(program, 0, 8))
        EXPECT_EQ(end, base::Duration{1132 * 1000});
}

// AICB writes this one without a colon.
TEST(simai, the_bytes_of_the_pipeline_may_lack_their_colon) {
    const std::string row = "\n1\na -1 5 NONE 0 0 NONE 0 0 NONE 0 0\n";
    for (const std::string word : {"pp_comm 50331648", "pp_comm: 50331648"})
        EXPECT_EQ(workload_of("DATA " + word + row).ranks[0].size(), 1u);
    EXPECT_EQ(complaint_of("DATA pq_comm 5" + row),
              "w.txt:1: 'pq_comm' is no 'name:' of the first line");
}

TEST(simai, layers_are_computed_again_from_their_checkpoint) {
    const std::string rows =
        "3\na -1 10 NONE 0 1 NONE 0 1 NONE 0 0\nb -1 20 NONE 0 1 NONE 0 1 NONE 0 0\n"
        "c -1 40 NONE 0 1 NONE 0 1 NONE 0 0\n";
    const auto nodes = [&](const std::string& words) {
        return workload_of("DATA all_gpus: 8 " + words + "\n" + rows).ranks[0].size();
    };
    EXPECT_EQ(nodes(""), 9u);
    EXPECT_EQ(nodes("checkpoints: 1 0 checkpoint_initiates: 1 2"), 11u);
}

TEST(simai, the_unit_is_the_users_and_is_said) {
    WorkloadOptions options = eight_ranks();
    options.unit_ps = 1'000'000;
    const Trace trace = workload_of("DATA\n1\na -1 5 NONE 0 0 NONE 0 0 NONE 0 0\n", options);
    EXPECT_EQ(trace.ranks[0][0].duration, base::Duration{5'000'000});
    EXPECT_NE(trace.units.find("times in us"), std::string::npos);
}

TEST(simai, an_all_gather_of_astra_sim_has_the_size_of_a_shard) {
    const std::string text = "MODEL\n1\na -1 0 ALLGATHER 8192 0 NONE 0 0 NONE 0 0\n";
    WorkloadOptions options = eight_ranks();
    EXPECT_EQ(workload_of(text, options).ranks[0][0].bytes, 8192u);
    options.gathers_shards = true;
    EXPECT_EQ(workload_of(text, options).ranks[0][0].bytes, 65'536u);
}

TEST(simai, what_is_wrong_is_one_sentence_with_its_line) {
    EXPECT_EQ(complaint_of(""),
              "w.txt:1: the file is empty; write a policy such as HYBRID_TRANSFORMER in its first "
              "line");
    EXPECT_EQ(complaint_of("DATA\n2\na -1 0 NONE 0 0 NONE 0 0 NONE 0 0\n"),
              "w.txt:3: the file ends after 1 of 2 layers");
    EXPECT_EQ(complaint_of("DATA\n1\na -1 0 NONE 0\n"),
              "w.txt:3: a layer has 12 columns, and here are 5: name, -1, then time, collective "
              "and bytes three times, and the update's time");
    EXPECT_EQ(complaint_of("DATA all_gpus: 16\n1\n"),
              "w.txt:1: all_gpus is 16, but there are 8 GPUs; take a topology with as many, or "
              "write `ranks`");
    EXPECT_EQ(complaint_of("HYBRID_TRANSFORMER\n1\n"),
              "w.txt:1: the policy needs to know which ranks share a layer; write "
              "model_parallel_NPU_group: 8, the number of neighbours that do");
    EXPECT_EQ(complaint_of("HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n1\n"),
              "w.txt:1: 8 GPUs are no multiple of model_parallel_NPU_group x pp, 3");
    EXPECT_EQ(complaint_of("DATA\n1\na -1 x NONE 0 0 NONE 0 0 NONE 0 0\n"),
              "w.txt:3: column 3: the time 'x' is no whole number from 0 to 86400000000000, a day");
}

}  // namespace
}  // namespace tulle::traces
