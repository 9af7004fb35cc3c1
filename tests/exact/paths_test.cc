// Ways through a fabric, and what happens where too much takes the same one.
#include "lab.h"

namespace tulle::exact {
namespace {

TEST(FixedPaths, are_taken_there_and_back) {
    Lab lab = plain("leaf-spine:leaves=2,spines=4,hosts=1");
    // Hosts 0 and 1, leaves 2 and 3, spines 4 to 7.
    for (uint32_t spine = 4; spine < 8; ++spine) {
        lab.paths.push_back(
            {.data = {0, 2, spine, 3, 1}, .acknowledgements = {1, 3, 11 - spine, 2, 0}});
        lab.flows.push_back({.source = 0,
                             .destination = 1,
                             .bytes = 4096 * 10ull * (spine - 3),
                             .path = static_cast<int32_t>(spine - 4)});
    }
    const Result result = run(lab);
    for (uint32_t spine = 4; spine < 8; ++spine) {
        EXPECT_EQ(link(result, spine, 1).data_packets, 10u * (spine - 3));
        EXPECT_EQ(link(result, spine, 0).control_packets, 1u);
        EXPECT_EQ(link(result, spine, 0).data_packets, 0u);
    }
}

TEST(FixedPaths, over_cables_that_do_not_exist_are_refused) {
    Lab lab = plain("leaf-spine:leaves=2,spines=2,hosts=1");
    lab.paths = {{.data = {0, 3, 1}, .acknowledgements = {1, 3, 0}}};
    EXPECT_FALSE(drive::run(lab, {}));
}

// Each host sends to the one so many places on.
Lab shifted(const char* spec, uint32_t shift, uint64_t bytes) {
    Lab lab = plain(spec);
    const auto hosts = static_cast<uint32_t>(lab.graph.host_count());
    for (uint32_t i = 0; i < hosts; ++i)
        lab.flows.push_back({.source = i, .destination = (i + shift) % hosts, .bytes = bytes});
    return lab;
}

// InfiniBand as ib-ndr has it: credits, cut-through, and tables by destination.
void use_infiniband(Lab& lab) {
    lab.fabric.flow_control = fabric::FlowControl::credits;
    lab.fabric.credits.lane_buffer_bytes = 128 << 10;
    lab.fabric.node.forwarding = fabric::Forwarding::cut_through;
    lab.fabric.route.choice = fabric::PathChoice::destination;
    lab.fabric.link.delay = 100_ns;
}

Duration last_of(const Result& result) {
    Duration last{};
    for (const sim::FlowResult& flow : result.flows) {
        EXPECT_TRUE(flow.finished);
        last = std::max(last, flow.completion);
    }
    return last;
}

// All flows at once take as long as each of them alone. The last ACK may have to wait for the
// packet that its host is sending.
TEST(ByDestination, a_shift_on_a_non_blocking_tree_is_as_fast_as_a_flow_alone) {
    for (const char* spec : {"fat-tree:k=4", "fat-tree:k=8", "leaf-spine:leaves=4,spines=4,hosts=4",
                             "leaf-spine:leaves=4,spines=2,hosts=4,cables=2"}) {
        const auto hosts = static_cast<uint32_t>(topology::build_spec(spec)->host_count());
        for (const uint32_t shift : {1u, 3u, hosts / 4, hosts / 2 + 1, hosts - 1}) {
            Lab lab = shifted(spec, shift, 1'000'000);
            use_infiniband(lab);
            const Duration together = last_of(run(lab));
            Duration alone{};
            for (const Flow& flow : std::vector(lab.flows)) {
                lab.flows = {flow};
                alone = std::max(alone, last_of(run(lab)));
            }
            EXPECT_GE(together, alone) << spec << " " << shift;
            EXPECT_LE(together, alone + 84_ns) << spec << " " << shift;
        }
    }
}

// A permutation by spraying, hosts that take packets in any order: 95 % of what the lines carry.
TEST(Spraying, a_permutation_on_a_non_blocking_fabric_reaches_95_percent_of_the_limit) {
    constexpr uint64_t kBytes = 8'000'000;
    for (const char* spec :
         {"leaf-spine:leaves=8,spines=8,hosts=8", "fat-tree:k=4", "fat-tree:k=8"}) {
        const auto hosts = static_cast<uint32_t>(topology::build_spec(spec)->host_count());
        for (const uint32_t shift : {hosts / 2, hosts / 2 + 3}) {
            Lab lab = shifted(spec, shift, kBytes);
            lab.fabric.route.choice = fabric::PathChoice::spray;
            lab.fabric.link.delay = 100_ns;
            lab.fabric.node.buffer_bytes = 256 << 20;
            lab.host.loss = transport::LossPolicy::selective_repeat;
            lab.host.reorder_tolerance = 4096;
            lab.host.ack_every = 16;
            const Result result = run(lab);
            const auto packets = static_cast<int64_t>((kBytes + 4095) / 4096);
            const int64_t limit =
                (static_cast<int64_t>(kBytes) + packets * kOverhead + kReth) * ps_per_byte(400);
            EXPECT_LE(last_of(result).ps, limit * 100 / 95) << spec << " " << shift;
            EXPECT_EQ(result.totals.retransmitted, 0u);
        }
    }
}

// Every host of a ring sends to the one two switches on, always the same way round: the buffers of
// the ring's cables wait for each other in a circle.
Lab ring(bool dateline) {
    Lab lab = plain("ring:4,hosts=1");
    lab.fabric.flow_control = fabric::FlowControl::credits;
    lab.fabric.credits.lane_buffer_bytes = 16 << 10;
    lab.fabric.route.dateline_lanes = dateline;
    // Hosts 0 to 3 on switches 4 to 7.
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t to = (i + 2) % 4;
        const uint32_t between = 4 + (i + 1) % 4;
        lab.paths.push_back({.data = {i, 4 + i, between, 4 + to, to},
                             .acknowledgements = {to, 4 + to, between, 4 + i, i}});
        lab.flows.push_back(
            {.source = i, .destination = to, .bytes = 4'000'000, .path = static_cast<int32_t>(i)});
    }
    lab.stop = Instant{} + 20_ms;
    return lab;
}

TEST(Dateline, without_it_a_ring_locks_up) {
    const Result result = run(ring(false));
    EXPECT_FALSE(result.flows[0].finished);
    EXPECT_EQ(result.deadlock.size(), 4u);
}

TEST(Dateline, with_two_lanes_the_circle_is_cut) {
    const Result result = run(ring(true));
    for (const sim::FlowResult& flow : result.flows) EXPECT_TRUE(flow.finished);
    EXPECT_TRUE(result.deadlock.empty());
    EXPECT_EQ(result.totals.retransmitted, 0u);
}

// Trimming: four senders, one receiver, and a queue of 64 KiB.
Lab trimming(transport::LossPolicy loss) {
    Lab lab = plain("star:5");
    lab.fabric.overflow = fabric::Overflow::trim;
    lab.fabric.qos.trimmed_lane = 1;
    lab.fabric.ets.strict = 0b10;
    lab.fabric.node.port_buffer_bytes = 64 << 10;
    lab.host.loss = loss;
    lab.host.ack_every = 16;
    lab.host.ack_timeout = 8;
    for (uint32_t i = 0; i < 4; ++i)
        lab.flows.push_back({.source = i, .destination = 4, .bytes = 400'000});
    return lab;
}

TEST(Trimming, tells_the_receiver_of_every_loss_and_no_connection_ends) {
    for (const auto loss :
         {transport::LossPolicy::go_back_n, transport::LossPolicy::selective_repeat})
        for (const Verb operation : {Verb::write, Verb::send, Verb::read}) {
            Lab lab = trimming(loss);
            for (Flow& flow : lab.flows) flow.operation = operation;
            if (operation == Verb::read)
                for (Flow& flow : lab.flows) std::swap(flow.source, flow.destination);
            const Result result = run(lab);
            for (const sim::FlowResult& flow : result.flows) {
                EXPECT_TRUE(flow.finished);
                EXPECT_EQ(flow.status, transport::Status::success);
            }
            EXPECT_GT(result.totals.trimmed, 0u);
        }
}

TEST(Trimming, of_selective_repeat_needs_no_timeout_where_dropping_does) {
    Lab lab = trimming(transport::LossPolicy::selective_repeat);
    lab.flows.resize(2);
    for (Flow& flow : lab.flows) flow.bytes = 40 * 4096;  // the end of a message is lost
    lab.fabric.node.port_buffer_bytes = 32 << 10;
    lab.host.ack_timeout = 16;  // 268 ms
    const Result cut = run(lab);
    EXPECT_GT(cut.totals.trimmed, 0u);
    for (const sim::FlowResult& flow : cut.flows) EXPECT_LT(flow.completion, 1_ms);
    lab.fabric.overflow = fabric::Overflow::drop;
    const Result lost = run(lab);
    EXPECT_GT(dropped(lost, sim::Drop::buffer_full), 0u);
    Duration longest{};
    for (const sim::FlowResult& flow : lost.flows) longest = std::max(longest, flow.completion);
    EXPECT_GT(longest, 200_ms);
}

}  // namespace
}  // namespace tulle::exact
