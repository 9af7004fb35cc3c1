#include "control/subnet/sweep.h"

#include <algorithm>
#include <map>

#include "control/judge.h"
#include "control/subnet/world.h"

namespace tulle::control {
namespace {

using base::Duration;
using base::Instant;
using Kind = Disturbance::Kind;

constexpr Duration kMostBringUp{600'000'000'000'000};  // ten minutes
constexpr Duration kMostRepair{120'000'000'000'000};   // longer than a standby waits to take over

const RoutingEngine* engine_of(SweepEngine engine) {
    switch (engine) {
        case SweepEngine::by_shape: return nullptr;
        case SweepEngine::min_hop: return routing_engine_named("min-hop");
        case SweepEngine::up_down: return routing_engine_named("up-down");
    }
    return nullptr;
}

class Sweeper {
public:
    Sweeper(const topology::Graph& graph, const std::vector<Duration>& delays,
            const SweepSettings& settings, const std::vector<std::array<uint64_t, 2>>& losses,
            uint64_t seed)
        : graph_(graph), settings_(settings), endpoints_(graph.endpoints()), world_(graph, [&] {
              WorldSettings world;
              world.cables = delays;
              world.losses = losses;
              world.seed = seed;
              world.light = settings.light;
              world.route = settings.route;
              return world;
          }()) {}

    std::optional<base::Error> bring_up() {
        start_manager(settings_.manager, 1);
        if (!world_.run_until_settled(Instant{} + kMostBringUp) ||
            !world_.run_until_at_rest(Instant{} + kMostBringUp))
            return base::Error{"the subnet manager does not bring the fabric up in ten minutes"};
        while (silent_host() != kNone && world_.now() < Instant{} + kMostBringUp) {
            world_.run_until(world_.manager(0).next_deadline());
            world_.run_until_at_rest(Instant{} + kMostBringUp);
        }
        if (const uint32_t silent = silent_host(); silent != kNone)
            return base::Error{"host '" + graph_.nodes[silent].name +
                               "' does not answer the subnet manager in ten minutes"};
        history_.way = world_.manager(0).plan().engine_name();
        history_.bring_up = world_.now() - Instant{};
        history_.bring_up_messages = world_.smps();
        if (settings_.standby != kNone) {
            start_manager(settings_.standby, 0);
            world_.run_until_at_rest(world_.now() + kMostBringUp);
        }
        begin_ = world_.now();
        world_.take_writes();
        world_.take_ready();
        world_.take_sent();
        take_tables();
        take_lanes();
        return std::nullopt;
    }

    void live_through(const std::vector<Disturbance>& disturbances) {
        for (size_t i = 0; i < disturbances.size(); ++i) {
            world_.run_until(begin_ + (disturbances[i].at - Instant{}));
            const bool is_last = i + 1 == disturbances.size();
            const Instant end = is_last ? world_.now() + kMostRepair
                                        : begin_ + (disturbances[i + 1].at - Instant{});
            const uint64_t sent = world_.smps();
            history_.repairs.push_back({.cause = disturbances[i]});
            if (disturbances[i].kind == Kind::manager_down)
                change_manager(end);
            else
                apply(disturbances[i]);
            if (is_last)
                world_.run_until_at_rest(end);
            else
                world_.run_until(end);
            history_.repairs.back().messages = world_.smps() - sent;
        }
        take_writes(world_.take_writes());
        history_.management = world_.take_sent();
        for (ManagementSent& mad : history_.management) mad.at = in_the_run(mad.at);
        judge_repairs(graph_, history_);
        heed_activation();
        for (const auto& [place, at] : taken_over_) history_.repairs[place].repaired = at;
    }

    History take() && { return std::move(history_); }

private:
    void start_manager(uint32_t endpoint, uint8_t priority) {
        ManagerSettings settings;
        settings.priority = priority;
        settings.engine = engine_of(settings_.engine);
        world_.start_manager(world_.add_manager(endpoints_[endpoint], settings));
    }

    // A host that the manager has not found; kNone: there is none.
    uint32_t silent_host() const {
        const auto host = std::ranges::find_if(
            endpoints_, [&](uint32_t node) { return world_.agent(node).lid() == 0; });
        return host == endpoints_.end() ? kNone : *host;
    }

    void apply(const Disturbance& disturbance) {
        switch (disturbance.kind) {
            case Kind::cable_down:
            case Kind::cable_up:
                world_.set_cable(disturbance.subject, disturbance.kind == Kind::cable_up);
                break;
            case Kind::switch_down:
            case Kind::switch_up:
                world_.set_switch(disturbance.subject, disturbance.kind == Kind::switch_up);
                break;
            case Kind::manager_down: break;
        }
    }

    // Kills the manager. A standby, if there is one, has taken over once it has completed a sweep.
    void change_manager(Instant end) {
        if (world_.is_alive(0)) world_.kill_manager(0);
        const bool is_taken_over = settings_.standby != kNone && world_.run_until_settled(end);
        taken_over_.emplace_back(history_.repairs.size() - 1,
                                 is_taken_over ? in_the_run(world_.now()) : Instant::never());
    }

    Instant in_the_run(Instant at) const { return Instant{} + (at - begin_); }

    // Copies the first tables. The LIDs of hosts do not change once the fabric is up.
    void take_tables() {
        history_.target_count = static_cast<uint32_t>(endpoints_.size());
        history_.tables = SwitchTables(graph_, history_.target_count);
        for (uint32_t i = 0; i < endpoints_.size(); ++i) {
            history_.target_of.push_back(i);
            const uint16_t lid = world_.agent(endpoints_[i]).port(1).lid.value;
            if (lid >= endpoint_of_lid_.size()) endpoint_of_lid_.resize(lid + 1u, kNone);
            endpoint_of_lid_[lid] = i;
            for (uint32_t node = 0; node < graph_.nodes.size(); ++node)
                if (!graph_.nodes[node].is_host())
                    history_.tables.at(node, i) = list_of(world_.agent(node).route(lid));
        }
    }

    // Copies the service levels that hosts learn from path queries, and the lane maps of switches.
    void take_lanes() {
        const SubnetPlan& plan = world_.manager(0).plan();
        const Subnet& subnet = plan.subnet();
        HistoryOfLanes& lanes = history_.lanes;
        bool are_needed = !plan.routing().lanes.rule.empty();
        std::vector<uint8_t> levels;
        for (const uint32_t from : endpoints_)
            for (const uint32_t to : endpoints_) {
                const uint32_t home = subnet.place(world_.agent(from).port(1).lid.value).home;
                levels.push_back(plan.routing().lanes.service_level(
                    home, world_.agent(to).port(1).lid.value, subnet.switch_count()));
                are_needed |= levels.back() > 0;
            }
        if (!are_needed) return;
        lanes.endpoints = static_cast<uint32_t>(endpoints_.size());
        lanes.service_levels = std::move(levels);
        for (uint8_t level = 0; level < kServiceLevels; ++level)
            lanes.of_hosts[level] = world_.agent(endpoints_[0]).tables().lane(1, 1, level);
        lanes.count = *std::ranges::max_element(lanes.of_hosts);
        for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
            auto& map = lanes.maps.emplace_back();
            if (graph_.nodes[node].is_host()) continue;
            map = world_.agent(node).tables().lane_maps();
            lanes.count = std::max(lanes.count, highest_lane(map));
        }
        ++lanes.count;
    }

    static uint8_t highest_lane(const HistoryOfLanes::Map& map) {
        uint8_t highest = 0;
        for (uint64_t packed : map)
            for (; packed != 0; packed >>= 4)
                highest = std::max(highest, static_cast<uint8_t>(packed & 15));
        return highest;
    }

    void take_lane_writes(std::vector<LaneWrite>& writes) {
        if (!history_.lanes.are_used()) return;
        for (LaneWrite& write : writes) {
            const auto lanes = static_cast<uint8_t>(highest_lane(write.maps) + 1);
            history_.lanes.count = std::max(history_.lanes.count, lanes);
            history_.lanes.writes.push_back(
                {in_the_run(write.at), write.node, std::move(write.maps)});
        }
    }

    uint32_t list_of(uint8_t port) {
        if (port == kNoPort || port == kSwitchItself) return PortLists::kEmpty;
        return history_.lists.number_of({static_cast<uint16_t>(port - 1)});
    }

    // Records entries that differ from the previous ones of the switch; a restarted one has none.
    void take_writes(TableWrites writes) {
        take_lane_writes(writes.lanes);
        std::map<uint32_t, std::vector<uint32_t>> now;  // by switch that was written to
        const auto write = [&](Instant at, uint32_t node, uint32_t endpoint, uint32_t list) {
            std::vector<uint32_t>& entries = now[node];
            if (entries.empty()) {
                const auto row = history_.tables.row(node);
                entries.assign(row.begin(), row.end());
            }
            uint32_t& had = entries[endpoint];
            if (had == list) return;
            had = list;
            history_.writes.push_back({at, node, endpoint, list});
        };
        auto block = writes.blocks.begin();
        const auto write_blocks = [&](Instant until) {
            for (; block != writes.blocks.end() && in_the_run(block->at) < until; ++block)
                for (uint32_t i = 0; i < kLidsOfBlock; ++i) {
                    const uint32_t lid = block->block * kLidsOfBlock + i;
                    if (lid < endpoint_of_lid_.size() && endpoint_of_lid_[lid] != kNone)
                        write(in_the_run(block->at), block->node, endpoint_of_lid_[lid],
                              list_of(block->ports[i]));
                }
        };
        for (const Repair& repair : history_.repairs) {
            if (repair.cause.kind != Kind::switch_up) continue;
            write_blocks(repair.cause.at);
            for (uint32_t i = 0; i < history_.target_count; ++i)
                write(repair.cause.at, repair.cause.subject, i, PortLists::kEmpty);
        }
        write_blocks(Instant::never());
    }

    // A cable that came back carries data once the manager has activated its ports.
    void heed_activation() {
        history_.ready = world_.take_ready();
        for (CableReady& ready : history_.ready) ready.at = in_the_run(ready.at);
        for (size_t i = 0; i < history_.repairs.size(); ++i) {
            Repair& repair = history_.repairs[i];
            const bool comes_back =
                repair.cause.kind == Kind::cable_up || repair.cause.kind == Kind::switch_up;
            if (!comes_back || !repair.is_repaired()) continue;
            const Instant end = i + 1 < history_.repairs.size() ? history_.repairs[i + 1].cause.at
                                                                : Instant::never();
            for (const CableReady& ready : history_.ready)
                if (ready.at >= repair.cause.at && ready.at < end)
                    repair.repaired = std::max(repair.repaired, ready.at);
        }
    }

    const topology::Graph& graph_;
    const SweepSettings& settings_;
    std::vector<uint32_t> endpoints_;
    World world_;
    History history_;
    Instant begin_{};
    std::vector<uint32_t> endpoint_of_lid_;
    std::vector<std::pair<size_t, Instant>> taken_over_;  // repairs of manager failures
};

}  // namespace

base::Result<History> run_sweep(const topology::Graph& graph, const std::vector<Duration>& delays,
                                const SweepSettings& settings,
                                const std::vector<Disturbance>& disturbances,
                                const std::vector<std::array<uint64_t, 2>>& losses, uint64_t seed) {
    Sweeper sweeper(graph, delays, settings, losses, seed);
    if (auto error = sweeper.bring_up()) return *error;
    sweeper.live_through(disturbances);
    return std::move(sweeper).take();
}

}  // namespace tulle::control
