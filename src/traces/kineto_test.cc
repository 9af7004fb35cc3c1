#include "traces/kineto.h"

#include <gtest/gtest.h>

namespace tulle::traces {
namespace {

std::string kernel(double begin, double time) {
    return R"({"ph":"X","cat":"kernel","name":"gemm","ts":)" + std::to_string(begin) +
           R"(,"dur":)" + std::to_string(time) + "},";
}

std::string sum(double begin, double time, const std::string& name = "allreduce",
                const std::string& more = "") {
    return R"({"ph":"X","cat":"kernel","name":"ncclDevKernel","ts":)" + std::to_string(begin) +
           R"(,"dur":)" + std::to_string(time) + R"(,"args":{"Collective name":")" + name +
           R"(","dtype":"Float","In msg nelems":256,"Out msg nelems":1024)" + more + "}},";
}

std::string events(std::string list) {
    if (!list.empty()) list.pop_back();
    return R"({"traceEvents":[)" + list + "]}";
}

RankGraph graph_of(const std::string& list) {
    KinetoReader reader(4);
    const auto error = reader.add_rank(events(list), "k.json");
    EXPECT_FALSE(error) << error->message;
    return reader.take().ranks.front();
}

std::string refusal(const std::string& text) {
    KinetoReader reader(4);
    const auto error = reader.add_rank(text, "k.json");
    return error ? error->message : "";
}

TEST(kineto, kernels_in_a_row_and_idle_time_are_one_stretch) {
    const RankGraph graph = graph_of(kernel(1000, 10) + kernel(1010, 5.5) + kernel(1020, 10));
    ASSERT_EQ(graph.size(), 1u);
    EXPECT_EQ(graph[0].duration, base::Duration{30'000'000});
}

TEST(kineto, computing_that_stood_still_waits_for_the_collective) {
    const RankGraph graph = graph_of(kernel(0, 10) + sum(10, 20) + kernel(32, 8));
    ASSERT_EQ(graph.size(), 3u);
    EXPECT_EQ(graph[1].kind, Node::Kind::collective);
    EXPECT_EQ(graph[1].bytes, 4096u);  // the larger of the two buffers
    EXPECT_EQ(graph.needs(2).size(), 2u);
    EXPECT_EQ(graph[2].duration, base::Duration{10'000'000});  // two of these are idle
}

TEST(kineto, computing_that_went_on_does_not) {
    const RankGraph graph = graph_of(kernel(0, 10) + sum(10, 20) + kernel(11, 30) + kernel(41, 10));
    ASSERT_EQ(graph.size(), 3u);
    ASSERT_EQ(graph.needs(2).size(), 1u);
    EXPECT_EQ(graph.needs(2)[0], 0u);
}

TEST(kineto, one_rank_is_repeated_in_groups_of_its_shape) {
    KinetoReader reader(4);
    const std::string group = R"(,"Group size":2,"Process Group Ranks":"[0, 2]")";
    ASSERT_FALSE(reader.add_rank(events(kernel(0, 1) + sum(1, 1, "allreduce", group)), "k.json"));
    ASSERT_FALSE(reader.repeat_first());
    const Trace trace = reader.take();
    EXPECT_EQ(trace.groups[trace.ranks[3][1].group].ranks, (std::vector<uint32_t>{1, 3}));
    EXPECT_EQ(trace.notes.size(), 1u);
}

std::string job(const std::string& list, int rank, int ranks) {
    std::string text = events(list);
    text.pop_back();
    return text + R"(,"distributedInfo":{"backend":"nccl","rank":)" + std::to_string(rank) +
           R"(,"world_size":)" + std::to_string(ranks) + "}}";
}

TEST(kineto, files_are_in_the_order_of_their_ranks) {
    KinetoReader reader(16);
    EXPECT_FALSE(reader.add_rank(job(sum(0, 1), 0, 16), "rank0.json"));
    EXPECT_FALSE(reader.add_rank(job(sum(0, 1), 1, 16), "rank1.json"));
    const auto error = reader.add_rank(job(sum(0, 1), 10, 16), "rank10.json");
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message,
              "rank10.json: byte 0: rank 10 was recorded, but the file is in the place of rank 2; "
              "name the files in the order of their ranks");
}

TEST(kineto, a_job_that_sends_by_another_library_is_noted) {
    KinetoReader reader(4);
    EXPECT_FALSE(reader.add_rank(job(kernel(0, 1), 0, 64), "k.json"));
    ASSERT_FALSE(reader.repeat_first());
    const Trace trace = reader.take();
    ASSERT_EQ(trace.notes.size(), 2u);
    EXPECT_TRUE(
        trace.notes[0].starts_with("k.json: no kernel is one of NCCL, though the job had "
                                   "64 ranks"));
}

TEST(kineto, what_is_wrong_is_one_sentence_with_its_place) {
    EXPECT_EQ(refusal("\x1f\x8b\x08"),
              "k.json: byte 0: the file is compressed; unpack it with gunzip");
    EXPECT_EQ(refusal("{\"traceEvents\": [}"),
              "k.json: byte 18: the text is no JSON from here on; is it all of the trace?");
    EXPECT_EQ(refusal("{}"),
              "k.json: byte 0: there is no list \"traceEvents\"; export the trace with "
              "export_chrome_trace()");
    EXPECT_EQ(refusal(events(R"({"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1},)")),
              "k.json: byte 0: no event is a kernel of a GPU; record with ProfilerActivity.CUDA");
    EXPECT_EQ(refusal(events(kernel(0, 1) + sum(1, 1, ""))),
              "k.json: event 1: nothing says which collective it is, of whom and how much; record "
              "with a newer PyTorch, which writes `Collective name`, `Group size` and `In msg "
              "nelems`");
    EXPECT_NE(refusal(events(kernel(0, 1) + sum(1, 1, "gossip")))
                  .find("k.json: event 1: its collective 'gossip' is not known"),
              std::string::npos);
    EXPECT_EQ(
        refusal(events(kernel(0, 1) + sum(1, 1, "allreduce", R"(,"Process Group Ranks":"[7]")"))),
        "k.json: event 1: rank 7 is in its group, but there are 4 ranks; take more GPUs");
}

}  // namespace
}  // namespace tulle::traces
