#include "scenario/bursts.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <vector>

#include "scenario/training.h"
#include "wire/transport_headers.h"
#include "workload/generated_job.h"

namespace tulle::scenario {
namespace {

using base::Duration;
using workload::GeneratedPhase;
using workload::Placement;
using workload::Schedule;

constexpr uint64_t kMostBurstBytes = 60'000;  // of a burst: lengths on the wire have 16 bits
constexpr uint64_t kBurstsOfBuffer = 4;       // that a lane's buffer holds at least; chosen
constexpr uint32_t kServers = 8;              // of the part that is measured; chosen
// How many times fewer bytes that part has; chosen. Under congestion control it has all of them,
// because seeds differ more the more bytes there are.
constexpr uint64_t kPartOfBytes = 8;
constexpr uint64_t kLeastBytesOfPart = 1 << 20;
constexpr uint64_t kSeeds = 3;  // for that part, where chance matters; chosen

// Whether all work is one job of trees and chains.
bool is_of_pieces(const sim::Setup& setup) {
    if (setup.program.jobs.size() != 1 || setup.program.size() != 0 || !setup.flows.empty() ||
        !setup.faults.empty() || !setup.taps.empty())
        return false;
    return std::ranges::all_of(setup.program.generated, [](const GeneratedPhase& phase) {
        return !phase.schedule || phase.schedule->repeats_throughout();
    });
}

uint64_t packets_of(const sim::Setup& setup) {
    base::uint128_t bytes = 0;
    for (const GeneratedPhase& phase : setup.program.generated) {
        if (!phase.schedule) continue;
        const workload::CollectiveOptions& options = phase.schedule->options();
        const uint64_t passes = options.collective == workload::Collective::all_reduce ? 2 : 1;
        bytes += base::uint128_t{phase.placement->size() - 1} * passes * options.bytes;
    }
    return static_cast<uint64_t>(bytes / setup.host.mtu);
}

// How many packets a burst has at most. Of a network with credits: its settings are known to work.
uint32_t most_joined(const sim::Setup& inside) {
    if (inside.fabric.flow_control != fabric::FlowControl::credits || inside.fabric.telemetry ||
        inside.host.paths.are_several())
        return 1;
    const uint64_t bytes = std::min<uint64_t>(
        kMostBurstBytes, inside.fabric.credits.lane_buffer_bytes / kBurstsOfBuffer);
    return static_cast<uint32_t>(std::max<uint64_t>(1, bytes / inside.host.mtu));
}

// Takes `time` from the first latencies that have it.
void shorten(Duration time, std::initializer_list<Duration*> latencies) {
    for (Duration* latency : latencies) {
        const Duration taken = std::min(time, *latency);
        *latency = *latency - taken;
        time = time - taken;
    }
}

void join(uint32_t packets, fabric::Settings& fabric, sim::HostSettings& host) {
    if (fabric.node.forwarding == fabric::Forwarding::store_and_forward)
        shorten(fabric.link.rate.time_for(uint64_t{packets - 1} * host.mtu),
                {&fabric.node.latency, &host.send_latency, &host.receive_latency});
    fabric::FramingSettings& framing = fabric.framing;
    const uint32_t header = framing.fixed_header_bytes != 0
                                ? framing.fixed_header_bytes
                                : framing.envelope_bytes + uint32_t{wire::Bth::kSize};
    framing.fixed_header_bytes = packets * header + (packets - 1) * fabric.link.gap_bytes;
    host.mtu *= packets;
    host.ack_every = std::max(1u, host.ack_every / packets);
    if (host.window_packets != 0) host.window_packets = std::max(1u, host.window_packets / packets);
    for (sim::Toll* toll : {&host.send_toll, &host.receive_toll})
        toll->per_packet = toll->per_packet * packets;
}

// The same with so many packets in a burst.
std::shared_ptr<const sim::Setup> joined(const sim::Setup& inside, uint32_t packets) {
    auto found = std::make_shared<sim::Setup>(inside);
    join(packets, found->fabric, found->host);
    return found;
}

bool has_chance(const sim::Setup& setup) {
    return setup.host.congestion != transport::Algorithm::none;
}

// The first servers of the first collective, with fewer bytes unless chance matters.
workload::Program small_part(const sim::Setup& setup) {
    const auto first =
        std::ranges::find_if(setup.program.generated,
                             [](const GeneratedPhase& phase) { return phase.schedule != nullptr; });
    const Placement& all = *first->placement;
    std::vector<workload::Member> members;
    for (uint32_t i = 0; i < all.size() && all.server_of(i) < kServers; ++i)
        members.push_back(all[i]);
    const auto part = std::make_shared<const Placement>(members, all.has_scale_up());
    workload::CollectiveOptions options = first->schedule->options();
    options.root = std::min(options.root, part->size() - 1);
    if (!has_chance(setup))
        options.bytes = std::max(options.bytes / kPartOfBytes, kLeastBytesOfPart);
    workload::Program program;
    program.jobs.push_back(setup.program.jobs[0]);
    if (const auto schedule = Schedule::make(options, part))
        workload::GeneratedJob(program, 0, part).append("part", schedule);
    return program;
}

// In picoseconds, for each seed.
std::vector<int64_t> times_of(const sim::Setup& setup, const workload::Program& part) {
    std::vector<int64_t> times;
    sim::Setup other = setup;
    for (uint64_t i = 0; i < (has_chance(setup) ? kSeeds : 1); ++i, ++other.seed)
        times.push_back(time_alone(other, part).ps);
    return times;
}

}  // namespace

void join_packets(sim::Setup& setup, uint64_t most_packets) {
    if (!setup.skips || !setup.scale_up || !is_of_pieces(setup)) return;
    if (packets_of(setup) <= most_packets) return;
    const uint32_t packets = most_joined(*setup.scale_up);
    const workload::Program part = small_part(setup);
    if (packets == 1 || part.generated.empty()) return;
    const std::vector<int64_t> single = times_of(setup, part);
    setup.scale_up = joined(*setup.scale_up, packets);
    int64_t most = 0;
    for (const int64_t joined : times_of(setup, part))
        for (const int64_t alone : single)
            most = std::max(most, joined < alone ? alone - joined : joined - alone);
    setup.bursts = {packets, most * 1'000'000 / *std::ranges::min_element(single)};
}

}  // namespace tulle::scenario
