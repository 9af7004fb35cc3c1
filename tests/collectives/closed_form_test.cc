// Collectives on idle fabrics take what the alpha-beta expression says, with the profile's own
// constants: a message of s bytes takes alpha + beta(s), where beta is its time on the line,
// headers included, and alpha all the rest.
#include <algorithm>

#include "cluster/framing.h"
#include "lab.h"

namespace tulle::collectives {
namespace {

// One network between hosts that are `switches` switches apart.
class AlphaBeta {
public:
    AlphaBeta(const sim::Setup& setup, int switches)
        : setup_(setup), framing_(setup.fabric), switches_(switches) {}

    Duration beta(uint64_t bytes) const {
        const uint64_t mtu = setup_.host.mtu;
        const uint64_t whole = bytes / mtu;
        const uint64_t rest = bytes % mtu;
        uint64_t wire = whole * packet(mtu) + (rest != 0 ? packet(rest) : 0);
        wire += kRethAndImmediate;
        return setup_.fabric.link.rate.time_for(wire);
    }
    // Whoever stores a packet before it passes it on adds the time of the last one.
    Duration alpha(uint64_t bytes) const {
        const sim::HostSettings& host = setup_.host;
        const fabric::Settings& fabric = setup_.fabric;
        const uint64_t last = bytes % host.mtu != 0 ? bytes % host.mtu : host.mtu;
        Duration time = host.reaction + host.send_latency + host.receive_latency;
        // The first packet is fetched whole before it goes, the last one written before it counts.
        if (bytes > host.memory.max_inline)
            time += host.memory.fetch(std::min<uint64_t>(bytes, host.mtu));
        time += host.memory.store(last);
        time += (fabric.link.delay + fabric.link.fec_delay) * (switches_ + 1);
        time += fabric.node.latency * switches_;
        if (fabric.node.forwarding == fabric::Forwarding::store_and_forward)
            time += fabric.link.rate.time_for(packet(last)) * switches_;
        return time;
    }

    // All ranks send a block at a time to their neighbours, in pieces that are passed on one by
    // one: either the line is never idle, or each step waits for its first piece.
    Duration ring(uint32_t ranks, uint64_t bytes, uint64_t chunk, int passes) const {
        const uint64_t block = (bytes + ranks - 1) / ranks;
        const auto pieces = static_cast<int64_t>((block + chunk - 1) / chunk);
        const uint64_t piece =
            (block + static_cast<uint64_t>(pieces) - 1) / static_cast<uint64_t>(pieces);
        const Duration line = beta(piece) * pieces;
        const Duration step = std::max(line, beta(piece) + alpha(piece));
        const int64_t steps = passes * (int64_t{ranks} - 1);
        return step * (steps - 1) + line + alpha(piece);
    }
    // All send a share to each of the others at once, and receive as much.
    Duration exchange(uint32_t ranks, uint64_t share) const {
        return beta(share) * (int64_t{ranks} - 1) + alpha(share);
    }

private:
    static constexpr uint64_t kRethAndImmediate = 20;

    uint64_t packet(uint64_t payload) const {
        wire::Packet packet;
        packet.opcode = wire::opcode_of(wire::Service::rc, wire::Operation::write_middle);
        packet.payload_length = static_cast<uint32_t>(payload);
        return framing_.wire_bytes(packet);
    }

    const sim::Setup& setup_;
    cluster::Framing framing_;
    int switches_;
};

void expect_close(Duration measured, Duration expected, uint64_t bytes) {
    EXPECT_TRUE(
        is_within(static_cast<uint64_t>(measured.ps), static_cast<uint64_t>(expected.ps), 10))
        << bytes << " bytes took " << measured.ps << " ps, not " << expected.ps;
}

constexpr uint64_t kSizes[] = {1 << 10, 8 << 10,  64 << 10,  512 << 10,
                               4 << 20, 32 << 20, 256 << 20, 1 << 30};
constexpr uint64_t kChunk = 512 << 10;

class ClosedForm : public testing::TestWithParam<const char*> {};

TEST_P(ClosedForm, a_ring_takes_two_passes_of_steps) {
    for (const uint64_t bytes : kSizes) {
        const Cluster cluster{.profile = GetParam(), .servers = 8};
        const sim::Setup setup =
            setup_of(cluster, {.bytes = bytes, .algorithm = Algorithm::ring, .channels = 1});
        expect_close(time_of(setup), AlphaBeta(setup, 1).ring(8, bytes, kChunk, 2), bytes);
    }
}

// In one piece each level waits for the one before it.
TEST_P(ClosedForm, two_levels_take_an_exchange_a_ring_and_an_exchange) {
    for (const uint64_t bytes : kSizes) {
        const Cluster cluster{
            .profile = GetParam(), .scale_up = "nvlink4", .servers = 4, .gpus = 4};
        const sim::Setup setup = setup_of(cluster, {.bytes = bytes,
                                                    .algorithm = Algorithm::two_level,
                                                    .channels = 1,
                                                    .chunking = {.chunk = uint64_t{1} << 30}});
        const uint64_t share = bytes / 4;
        const Duration inside = AlphaBeta(*setup.scale_up, 1).exchange(4, share);
        const Duration between = AlphaBeta(setup, 1).ring(4, share, uint64_t{1} << 30, 2);
        expect_close(time_of(setup), inside + between + inside, bytes);
    }
}

// With pieces the levels overlap: never slower, and no faster than the slowest of them.
TEST_P(ClosedForm, pieces_of_two_levels_overlap) {
    for (const uint64_t bytes : {uint64_t{4} << 20, uint64_t{64} << 20}) {
        const Cluster cluster{
            .profile = GetParam(), .scale_up = "nvlink4", .servers = 4, .gpus = 4};
        const sim::Setup setup =
            setup_of(cluster, {.bytes = bytes, .algorithm = Algorithm::two_level, .channels = 1});
        const Duration inside = AlphaBeta(*setup.scale_up, 1).exchange(4, bytes / 4);
        const Duration between = AlphaBeta(setup, 1).ring(4, bytes / 4, kChunk, 2);
        const Duration measured = time_of(setup);
        EXPECT_LT(measured, inside + between + inside + between / 100);
        EXPECT_GT(measured, between - between / 100);
    }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, ClosedForm, testing::Values("ib-ndr", "roce-v2-400g"),
                         [](const auto& instance) {
                             std::string name = instance.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

// DeepSeek-AI, "Insights into DeepSeek-V3", table 5: what the latencies of the profiles between
// servers are fitted to. Here they come out of the engine.
TEST(Latency, of_64_bytes_is_what_the_profiles_were_fitted_to_within_five_percent) {
    struct Case {
        const char* profile;
        uint64_t same_leaf_ns;
        uint64_t across_leaves_ns;
    };
    for (const Case& c : {Case{"ib-ndr", 2800, 3700}, Case{"roce-v2-400g", 3600, 5600}}) {
        for (const bool across : {false, true}) {
            sim::Setup setup = setup_of(Cluster{.profile = c.profile, .servers = 2});
            if (across)
                setup.graph =
                    *topology::build(topology::LeafSpine{.leaves = 2, .spines = 1, .hosts = 1});
            setup.program.jobs = {job_of(setup)};
            setup.program.phases = {{.name = "ping"}};
            setup.program.add({.rank = 0, .peer = 1, .bytes = 64}, {});
            const uint64_t ns = run(setup).message_latency.max() / 1000;
            const uint64_t expected = across ? c.across_leaves_ns : c.same_leaf_ns;
            EXPECT_TRUE(is_within(ns, expected, 50)) << c.profile << ' ' << ns;
        }
    }
}

// The same table has 3.33 us for NVLink, with software at both ends. NCCL's Simple step is that.
TEST(Latency, of_a_simple_step_over_nvlink_is_what_was_measured_within_five_percent) {
    const Cluster cluster{.scale_up = "nvlink4", .servers = 1, .gpus = 8};
    const auto time = [&](workload::Protocol protocol) {
        return time_of(
            setup_of(cluster, {.bytes = 64, .algorithm = Algorithm::ring, .protocol = protocol}));
    };
    const Duration launch{8'400'000};  // see cost_tables.h
    const uint64_t step =
        static_cast<uint64_t>((time(workload::Protocol::simple) - launch).ps) / 14;
    EXPECT_TRUE(is_within(step, 3'330'000, 50)) << step;
    const Duration launch_ll{6'600'000};
    const uint64_t light =
        static_cast<uint64_t>((time(workload::Protocol::ll) - launch_ll).ps) / 14;
    EXPECT_TRUE(is_within(light, 600'000, 50)) << light;
}

}  // namespace
}  // namespace tulle::collectives
