#include "report/collective_limits.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/int128.h"
#include "report/ideal.h"
#include "workload/placement.h"

namespace tulle::report {
namespace {

using base::Duration;
using workload::Collective;
using workload::Task;
using workload::Tier;

// The members of a phase, and what it uses.
struct Participants {
    std::vector<bool> ranks;
    bool uses_scale_up = false;
    bool uses_scale_out = false;
    bool reduces_in_switch = false;
    bool adds_up_between = false;            // switches between servers do
    std::map<uint32_t, uint64_t> bytes_out;  // of messages between servers, by endpoint
    std::map<uint32_t, uint64_t> bytes_in;
    std::map<uint32_t, Duration> computing;  // by rank
};

// A side of a cut: ranks that share adapters, or one rank.
struct Side {
    uint64_t ranks = 0;
    base::uint128_t bps = 0;
};

uint64_t bps_of(const base::Rate& rate) {
    return static_cast<uint64_t>(base::uint128_t{8'000'000'000'000u} * 1'000'000 /
                                 static_cast<uint64_t>(rate.time_for(1'000'000).ps));
}

class Limits {
public:
    explicit Limits(const sim::Setup& setup) : setup_(setup), out_rates_(endpoint_rates(setup)) {
        if (!setup.scale_up) return;
        up_rates_ = endpoint_rates(*setup.scale_up);
        const topology::Ports ports(setup.scale_up->graph);
        for (const uint32_t host : setup.scale_up->graph.endpoints())
            islands_.push_back(ports.of(host).front().peer.node);
    }

    std::vector<Duration> all() {
        std::vector<Participants> phases(setup_.program.phases.size());
        for (Participants& one : phases) one.ranks.resize(setup_.ranks.size());
        for (const Task& task : setup_.program.tasks())
            if (task.kind == Task::Kind::compute)
                note(task.rank, task.duration, phases[task.phase]);
        for (const workload::GeneratedPhase& phase : setup_.program.generated)
            for (uint32_t i = 0; i < phase.placement->size(); ++i)
                note((*phase.placement)[i].rank, phase.computing, phases[phase.phase]);
        workload::visit_traffic(setup_.program, [&](const workload::Traffic& traffic) {
            note(traffic, phases[traffic.phase]);
        });
        std::vector<Duration> limits;
        for (size_t i = 0; i < phases.size(); ++i)
            limits.push_back(of(setup_.program.phases[i], phases[i]));
        return limits;
    }

private:
    static std::vector<uint64_t> endpoint_rates(const sim::Setup& setup) {
        const std::vector<uint32_t> hosts = setup.graph.endpoints();
        std::vector<uint64_t> by_node(setup.graph.nodes.size());
        for (const topology::Cable& cable : setup.graph.cables)
            for (const topology::CableEnd end : {cable.a, cable.b})
                by_node[end.node] += bps_of(cable_rate(setup, cable));
        std::vector<uint64_t> rates;
        for (const uint32_t host : hosts) rates.push_back(by_node[host]);
        return rates;
    }

    static void note(uint32_t rank, Duration computing, Participants& phase) {
        phase.ranks[rank] = true;
        if (computing.ps > 0) phase.computing[rank] += computing;
    }

    void note(const workload::Traffic& traffic, Participants& phase) const {
        phase.ranks[traffic.rank] = true;
        const bool is_read = traffic.kind == Task::Kind::read;
        if (is_read || traffic.kind == Task::Kind::send) phase.ranks[traffic.peer] = true;
        phase.reduces_in_switch |= traffic.kind == Task::Kind::contribute;
        if (traffic.tier == Tier::scale_up) {
            phase.uses_scale_up = true;
            return;
        }
        phase.uses_scale_out = true;
        phase.adds_up_between |= traffic.kind == Task::Kind::sum_for_all;
        const uint32_t from = setup_.ranks[is_read ? traffic.peer : traffic.rank].endpoint;
        const uint32_t to = setup_.ranks[is_read ? traffic.rank : traffic.peer].endpoint;
        if (from == to) return;
        phase.bytes_out[from] += traffic.bytes;
        phase.bytes_in[to] += traffic.bytes;
    }

    Duration of(const workload::Phase& phase, const Participants& who) const {
        switch (phase.collective) {
            case Collective::compute: return longest(who);
            case Collective::storage_read:
            case Collective::storage_write: return busiest(who);
            case Collective::all_reduce:
            case Collective::reduce_scatter:
            case Collective::all_gather:
            case Collective::all_to_all:
            case Collective::broadcast: break;
        }
        // Experts receive what the gate decides, not equal amounts.
        if (phase.algorithm.starts_with("deepep")) return busiest(who);
        if (who.uses_scale_out) {
            const std::vector<Side> all = sides(who);
            const Duration between = across(phase, who, all);
            return who.uses_scale_up ? std::max(between, around_ranks(phase, who, all)) : between;
        }
        return who.uses_scale_up ? inside(phase, who) : Duration{};
    }

    static Duration longest(const Participants& who) {
        Duration most{};
        for (const auto& [rank, time] : who.computing) most = std::max(most, time);
        return most;
    }

    // The endpoint that sends or receives most.
    Duration busiest(const Participants& who) const {
        Duration most{};
        for (const auto* load : {&who.bytes_out, &who.bytes_in})
            for (const auto& [endpoint, bytes] : *load)
                most = std::max(most, time_for(setup_, bytes, out_rates_[endpoint]));
        return most;
    }

    // Ranks on one switch inside a server form one side if that network is used.
    uint32_t side_of(const sim::RankPlace& place, bool uses_scale_up) const {
        if (!uses_scale_up || place.scale_up >= islands_.size())
            return static_cast<uint32_t>(setup_.graph.nodes.size()) + place.endpoint;
        return islands_[place.scale_up];
    }

    std::vector<Side> sides(const Participants& who) const {
        std::map<uint32_t, Side> by_place;
        for (uint32_t rank = 0; rank < who.ranks.size(); ++rank)
            if (who.ranks[rank]) ++by_place[side_of(setup_.ranks[rank], who.uses_scale_up)].ranks;
        // Ranks that do not take part lend their adapters.
        std::set<uint32_t> counted;
        for (const sim::RankPlace& place : setup_.ranks) {
            const auto side = by_place.find(side_of(place, who.uses_scale_up));
            if (side != by_place.end() && counted.insert(place.endpoint).second)
                side->second.bps += out_rates_[place.endpoint];
        }
        std::vector<Side> sides;
        for (const auto& [place, side] : by_place) sides.push_back(side);
        return sides;
    }

    Duration across(const workload::Phase& phase, const Participants& who,
                    const std::vector<Side>& sides) const {
        base::uint128_t all_bps = 0;
        base::uint128_t most_bps = 0;
        uint64_t ranks = 0;
        for (const Side& side : sides) {
            all_bps += side.bps;
            most_bps = std::max(most_bps, side.bps);
            ranks += side.ranks;
        }
        if (sides.size() < 2 || most_bps == 0) return {};
        const base::uint128_t bytes = phase.bytes;
        const uint64_t others = sides.size() - 1;
        switch (phase.collective) {
            case Collective::all_reduce:
                // To the switches once, and back once.
                if (who.adds_up_between) return time_for(setup_, bytes * sides.size(), all_bps);
                return time_for(setup_, bytes * 2 * others, all_bps);
            case Collective::reduce_scatter:
            case Collective::all_gather: return time_for(setup_, bytes * others, all_bps);
            case Collective::all_to_all: break;
            default: return time_for(setup_, bytes, most_bps);
        }
        Duration most{};
        for (const Side& side : sides)
            if (side.bps != 0)
                most = std::max(
                    most,
                    time_for(setup_, bytes * side.ranks * (ranks - side.ranks) / ranks, side.bps));
        return most;
    }

    // What ranks must send or receive, over all their ports together.
    Duration around_ranks(const workload::Phase& phase, const Participants& who,
                          const std::vector<Side>& sides) const {
        base::uint128_t bps = 0;
        uint64_t ranks = 0;
        for (const Side& side : sides) bps += side.bps;
        for (uint32_t rank = 0; rank < who.ranks.size(); ++rank) {
            if (!who.ranks[rank]) continue;
            ++ranks;
            if (setup_.ranks[rank].scale_up < up_rates_.size())
                bps += up_rates_[setup_.ranks[rank].scale_up];
        }
        const bool is_twice = phase.collective == Collective::all_reduce && !who.reduces_in_switch;
        const base::uint128_t parts = (is_twice ? 2 : 1) * (ranks - 1);
        return time_for(*setup_.scale_up, parts * phase.bytes, bps);
    }

    Duration inside(const workload::Phase& phase, const Participants& who) const {
        base::uint128_t bps = 0;
        uint64_t ranks = 0;
        for (uint32_t rank = 0; rank < who.ranks.size(); ++rank) {
            if (!who.ranks[rank]) continue;
            ++ranks;
            if (setup_.ranks[rank].scale_up < up_rates_.size())
                bps = std::max<base::uint128_t>(bps, up_rates_[setup_.ranks[rank].scale_up]);
        }
        if (ranks < 2 || bps == 0 || !setup_.scale_up) return {};
        const base::uint128_t bytes = phase.bytes;
        const sim::Setup& scale_up = *setup_.scale_up;
        switch (phase.collective) {
            case Collective::all_reduce: {
                const uint64_t parts = who.reduces_in_switch ? ranks + 1 : 2 * (ranks - 1);
                return time_for(scale_up, bytes * parts / ranks, bps);
            }
            case Collective::broadcast: return time_for(scale_up, bytes, bps);
            default: return time_for(scale_up, bytes * (ranks - 1) / ranks, bps);
        }
    }

    // Time of a payload in full packets at a rate.
    static Duration time_for(const sim::Setup& setup, base::uint128_t bytes, base::uint128_t bps) {
        if (bps == 0) return {};
        const uint32_t mtu = setup.host.mtu;
        const uint64_t wire = data_wire_bytes(setup, sim::Verb::write, mtu, false, false);
        constexpr base::uint128_t kBitPicoseconds = 8'000'000'000'000u;
        return {static_cast<int64_t>(bytes * wire / mtu * kBitPicoseconds / bps)};
    }

    const sim::Setup& setup_;
    std::vector<uint64_t> out_rates_;  // bits per second, by endpoint
    std::vector<uint64_t> up_rates_;
    std::vector<uint32_t> islands_;  // the switch inside the server, by endpoint
};

}  // namespace

std::vector<Duration> collective_limits(const sim::Setup& setup) {
    return Limits(setup).all();
}

}  // namespace tulle::report
