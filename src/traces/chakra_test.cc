#include "traces/chakra.h"

#include <gtest/gtest.h>

#include "traces/testing.h"

namespace tulle::traces {
namespace {

using namespace testing;

ChakraOptions two_ranks() {
    ChakraOptions options;
    options.ranks = 2;
    return options;
}

std::string complaint(const std::string& bytes, const ChakraOptions& options = two_ranks()) {
    ChakraReader reader(options);
    const auto error = reader.add_rank(bytes, "p.0.et");
    return error ? error->message : "";
}

Trace trace_of(const std::string& bytes, const ChakraOptions& options = two_ranks()) {
    ChakraReader reader(options);
    const auto error = reader.add_rank(bytes, "p.0.et");
    EXPECT_FALSE(error) << error->message;
    return reader.take();
}

const std::string kTenMicros = number(7, 10);

TEST(chakra, nodes_are_read_in_any_order_and_packed_needs_too) {
    const std::string packed = number(1, 9) + number(3, kCompute) + text(4, varint(3) + varint(5));
    const Trace trace =
        trace_of(chakra_head() + framed(packed) + chakra_node(5, kCompute, {3}, kTenMicros) +
                 chakra_node(3, kCompute, {}, kTenMicros));
    const RankGraph& graph = trace.ranks[0];
    ASSERT_EQ(graph.size(), 3u);
    EXPECT_EQ(graph[0].id, 3u);
    EXPECT_EQ(graph[1].duration, base::Duration{10'000'000});
    ASSERT_EQ(graph.needs(2).size(), 2u);
    EXPECT_EQ(graph.needs(2)[1], 1u);
}

TEST(chakra, all_gathers_count_what_each_rank_brings) {
    const auto bytes_of = [](uint64_t type) {
        return trace_of(chakra_head() +
                        chakra_node(1, kCollective, {},
                                    attribute("comm_type", type) + attribute("comm_size", 1000)))
            .ranks[0][0]
            .bytes;
    };
    EXPECT_EQ(bytes_of(0), 1000u);
    EXPECT_EQ(bytes_of(2), 2000u);
    EXPECT_EQ(bytes_of(6), 1000u);
    EXPECT_EQ(bytes_of(7), 1000u);
}

TEST(chakra, groups_come_from_the_node_that_describes_them) {
    const std::string groups = R"(['[{\"pg_name\": \"7\", \"ranks\": [1, 0]}]'])";
    const std::string metadata = framed(number(1, 1) + text(2, "## process_group:init ##") +
                                        number(3, 1) + text(8, text(1, groups)));
    const Trace trace =
        trace_of(chakra_head() + metadata +
                 chakra_node(2, kCollective, {},
                             attribute("comm_type", 0) + attribute("pg_name", std::string("7"))));
    EXPECT_EQ(trace.groups[0].ranks, (std::vector<uint32_t>{0, 1}));
}

TEST(chakra, dimensions_that_take_no_part_split_the_ranks) {
    ChakraOptions options;
    options.ranks = 6;
    options.dimensions = {2, 3};
    const std::string outer =
        text(10, text(1, "involved_dim") + text(28, number(1, 0) + number(1, 1)));
    const Trace trace =
        trace_of(chakra_head() + chakra_node(2, kCollective, {}, attribute("comm_type", 0) + outer),
                 options);
    EXPECT_EQ(trace.groups[0].ranks, (std::vector<uint32_t>{0, 2, 4}));
}

TEST(chakra, operations_take_the_longer_of_computing_and_memory) {
    ChakraOptions options = two_ranks();
    options.roofline = {1'000'000'000'000, 1'000'000'000};
    const auto time_of = [&](uint64_t operations, uint64_t bytes) {
        return trace_of(chakra_head() + chakra_node(1, kCompute, {},
                                                    attribute("num_ops", operations) +
                                                        attribute("tensor_size", bytes)),
                        options)
            .ranks[0][0]
            .duration.ps;
    };
    EXPECT_EQ(time_of(2'000'000, 1000), 2'000'000);
    EXPECT_EQ(time_of(2'000'000, 10'000), 10'000'000);
}

// As PyTorch's converter writes them: the call of the processor has the type of the collective that
// the kernel behind it does.
TEST(chakra, calls_of_the_processor_are_computing) {
    const std::string call = attribute("is_cpu_op", 1) + number(7, 85);
    const Trace trace = trace_of(
        chakra_head() + chakra_node(1, kCollective, {}, call) + chakra_node(2, kSend, {}, call) +
        chakra_node(3, kCollective, {1}, attribute("is_cpu_op", 0) + attribute("comm_type", 0)));
    const RankGraph& graph = trace.ranks[0];
    ASSERT_EQ(graph.size(), 3u);
    EXPECT_EQ(graph[0].kind, Node::Kind::compute);
    EXPECT_EQ(graph[0].duration, base::Duration{85'000'000});
    EXPECT_EQ(graph[1].kind, Node::Kind::compute);
    EXPECT_EQ(graph[2].kind, Node::Kind::collective);
}

TEST(chakra, what_has_no_time_is_noted) {
    const Trace trace =
        trace_of(chakra_head() + chakra_node(1, kCompute, {}, attribute("num_ops", 5)));
    ASSERT_EQ(trace.notes.size(), 1u);
    EXPECT_NE(trace.notes[0].find("no duration"), std::string::npos);
    EXPECT_NE(trace.units.find("us"), std::string::npos);
}

TEST(chakra, what_is_wrong_is_one_sentence_with_its_place) {
    const std::string head = chakra_head();
    EXPECT_EQ(complaint("\x1f\x8b rest"),
              "p.0.et: byte 0: the file is compressed; run gunzip on it first");
    EXPECT_EQ(complaint(""), "p.0.et: byte 0: the file is empty; a trace begins with its metadata");
    EXPECT_EQ(complaint(head + "\x7f"),
              "p.0.et: byte 8: a message begins here that is longer than the file; is it an "
              "execution trace, and all of it?");
    EXPECT_EQ(complaint(head + framed("\xff\xff")),
              "p.0.et: byte 8: these bytes are no node of an execution trace; write it with "
              "Chakra's et_def.proto");
    EXPECT_EQ(complaint(head + chakra_node(4, 9, {})),
              "p.0.et: byte 8: node 4: its type is 9; a node has one from 1 to 7");
    EXPECT_EQ(complaint(head + chakra_node(4, kCompute, {3})),
              "p.0.et: byte 8: node 4 depends on node 3, which the file does not have");
    EXPECT_EQ(complaint(head + chakra_node(4, kCompute, {}) + chakra_node(4, kCompute, {})),
              "p.0.et: byte 13: node 4 is there twice");
    EXPECT_EQ(complaint(head + chakra_node(4, kCollective, {})),
              "p.0.et: byte 8: node 4: its attribute comm_type is missing");
    EXPECT_EQ(complaint(head + chakra_node(4, kSend, {}, attribute("comm_dst", 5))),
              "p.0.et: byte 8: node 4: its comm_dst is rank 5, but there are 2 ranks");
    EXPECT_EQ(complaint(head + chakra_node(4, kCompute, {}, number(7, 86'400'000'001))),
              "p.0.et: byte 8: node 4: it computes for more than a day; its duration_micros is "
              "wrong, or in another unit than microseconds");
    EXPECT_NE(complaint(head + chakra_node(4, kCollective, {},
                                           attribute("comm_type", 0) +
                                               attribute("pg_name", std::string("3"))))
                  .find("write groups: FILE"),
              std::string::npos);
}

}  // namespace
}  // namespace tulle::traces
