#include "report/findings/phase_traffic.h"

#include <algorithm>

#include "base/int128.h"

namespace tulle::report {

PhaseTraffic::PhaseTraffic(const Facts& facts) : facts_(facts), pairs_(facts.collectives.size()) {
    using Kind = workload::Task::Kind;
    workload::visit_traffic(facts.setup.program, [&](const workload::Traffic& traffic) {
        const bool is_message = traffic.kind == Kind::send || traffic.kind == Kind::read;
        if (!is_message || traffic.tier != workload::Tier::scale_out || traffic.bytes == 0) return;
        const uint32_t own = facts.setup.ranks[traffic.rank].endpoint;
        const uint32_t peer = facts.setup.ranks[traffic.peer].endpoint;
        auto& pairs = pairs_[traffic.phase];
        const auto pair = traffic.kind == Kind::read ? std::pair(peer, own) : std::pair(own, peer);
        // Chunks of a message follow one another.
        if (pairs.empty() || pairs.back() != pair) pairs.push_back(pair);
    });
    for (auto& pairs : pairs_) {
        std::sort(pairs.begin(), pairs.end());
        pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    }
}

sim::Flow PhaseTraffic::flow_of(size_t phase) const {
    const workload::Job& job = facts_.setup.program.jobs[facts_.collectives[phase].job];
    sim::Flow flow;
    flow.service_level = job.service_level;
    flow.traffic_class = job.traffic_class;
    return flow;
}

uint8_t PhaseTraffic::lane_of(size_t phase) const {
    return facts_.lane_of(flow_of(phase));
}

bool PhaseTraffic::may_cross(size_t phase, uint32_t node, uint16_t port) const {
    sim::Flow flow = flow_of(phase);
    return std::any_of(pairs_[phase].begin(), pairs_[phase].end(), [&](const auto& pair) {
        flow.source = pair.first;
        flow.destination = pair.second;
        return facts_.may_cross(flow, node, port);
    });
}

bool PhaseTraffic::overlap(size_t a, size_t b) const {
    const CollectiveFacts& one = facts_.collectives[a];
    const CollectiveFacts& other = facts_.collectives[b];
    return one.begin < other.begin + other.time && other.begin < one.begin + one.time;
}

uint64_t PhaseTraffic::slowdown_permille(size_t phase) const {
    const CollectiveFacts& at = facts_.collectives[phase];
    if (at.limit.ps <= 0) return 0;
    return static_cast<uint64_t>(base::uint128_t{static_cast<uint64_t>(at.time.ps)} * 1000 /
                                 static_cast<uint64_t>(at.limit.ps));
}

}  // namespace tulle::report
