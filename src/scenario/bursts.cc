#include "scenario/bursts.h"

#include <algorithm>
#include <initializer_list>

#include "wire/transport_headers.h"

namespace tulle::scenario {
namespace {

using base::Duration;

constexpr uint64_t kMostBurstBytes = 60'000;  // of a burst: lengths on the wire have 16 bits
constexpr uint64_t kBurstsOfBuffer = 4;       // that a lane's buffer holds at least; chosen

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

}  // namespace

// Of a network with credits: its settings are known to work.
uint32_t most_joined(const sim::Setup& inside) {
    if (inside.fabric.flow_control != fabric::FlowControl::credits || inside.fabric.telemetry ||
        inside.host.paths.are_several())
        return 1;
    const uint64_t bytes = std::min<uint64_t>(
        kMostBurstBytes, inside.fabric.credits.lane_buffer_bytes / kBurstsOfBuffer);
    return static_cast<uint32_t>(std::max<uint64_t>(1, bytes / inside.host.mtu));
}

std::shared_ptr<const sim::Setup> joined(const sim::Setup& inside, uint32_t packets) {
    auto found = std::make_shared<sim::Setup>(inside);
    join(packets, found->fabric, found->host);
    return found;
}

}  // namespace tulle::scenario
