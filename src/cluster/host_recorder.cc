#include "cluster/host_recorder.h"

#include <algorithm>

namespace tulle::cluster {
namespace {

using base::Duration;
using base::Instant;

constexpr uint16_t kOnlyPort = 0;

uint64_t peer_key(uint32_t endpoint, transport::Qpn qpn) {
    return uint64_t{endpoint} << 32 | qpn.value;
}

}  // namespace

void HostRecorder::receive(Instant now, uint32_t index) {
    const wire::Packet& packet = cabling_.store.packet(index);
    const uint64_t violations = adapter_.counters().pkey_violations;
    hand_on(now, index);
    if (adapter_.counters().pkey_violations != violations)
        ++cabling_
              .refused[{.port = port_, .source = packet.source, .destination = packet.destination}];
    if (trace_ != nullptr) sample_rate(now, packet);
}

// A data packet leaves its telemetry here for the next answer; an answer brings some back.
void HostRecorder::hand_on(Instant now, uint32_t index) {
    const wire::Packet& packet = cabling_.store.packet(index);
    if (!cabling_.telemetry) return adapter_.on_packet(now, packet);
    const wire::Telemetry& told = cabling_.telemetry->of(index);
    if (!is_data(packet)) return adapter_.on_telling_packet(now, packet, told);
    if (const transport::QueuePair* qp = adapter_.queue_pairs().find(packet.dest_qp()))
        to_return_[peer_key(packet.source, qp->dest_qpn)] = told;
    adapter_.on_packet(now, packet);
}

void HostRecorder::begin_telemetry(uint32_t index) {
    const wire::Packet& packet = cabling_.store.packet(index);
    wire::Telemetry& telemetry = cabling_.telemetry->of(index);
    telemetry.clear();
    if (is_data(packet)) return;
    const auto found = to_return_.find(peer_key(packet.destination, packet.dest_qp()));
    if (found != to_return_.end()) telemetry = found->second;
}

// For timelines: the rate at which a queue pair may send when an answer or a notification arrives.
// A queue pair with a window has no rate.
void HostRecorder::sample_rate(Instant now, const wire::Packet& packet) {
    if (is_data(packet)) return;
    const transport::QueuePair* qp = adapter_.queue_pairs().find(packet.dest_qp());
    if (qp == nullptr || qp->congestion.algorithm == transport::Algorithm::none ||
        qp->congestion.has_window())
        return;
    constexpr uint32_t kBytes = 65'536;
    constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
    const Duration gap = std::max(transport::would_send(qp->congestion, now, kBytes) - now,
                                  cabling_.rate(port_).time_for(kBytes));
    trace_->push_back({now, fabric::TraceSample::Kind::rate, 0, kOnlyPort, node_,
                       kBytes * kBitPicoseconds / static_cast<uint64_t>(gap.ps),
                       packet.dest_qp().value, packet.source});
}

}  // namespace tulle::cluster
