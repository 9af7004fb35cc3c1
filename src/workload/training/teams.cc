#include "workload/training/teams.h"

#include "workload/collectives/tuning.h"

namespace tulle::workload {
namespace {

// Lower channels are for messages between stages and for ranks that wait for each other.
constexpr uint16_t kFirstTeamChannel = 8;
constexpr uint16_t kChannelsOfKind = 300;
static_assert(kFirstTeamChannel + 5 * kChannelsOfKind < kStepChannels);

}  // namespace

Teams::Teams(Program& program, uint32_t job, const StepOptions& options, const StepPlace& place)
    : program_(program),
      job_(job),
      options_(options),
      place_(place),
      grid_(options.layout, options.order) {}

Grid::Groups Teams::groups(Kind kind) const {
    switch (kind) {
        case Kind::tensor: return grid_.tensor_groups();
        case Kind::context: return grid_.context_groups();
        case Kind::expert: return grid_.expert_groups();
        case Kind::replicas: return grid_.replica_groups();
        case Kind::expert_replicas: return grid_.expert_replica_groups();
    }
    return {};
}

bool Teams::is_alone(Kind kind) const {
    const Layout& layout = options_.layout;
    switch (kind) {
        case Kind::tensor: return layout.tensor == 1;
        case Kind::context: return layout.context == 1;
        case Kind::expert: return layout.expert == 1;
        case Kind::replicas: return layout.replicas() == 1;
        case Kind::expert_replicas: return layout.replicas() == layout.expert;
    }
    return true;
}

Placement Teams::placement_of(uint32_t stage, const std::vector<uint32_t>& columns) const {
    std::vector<Member> members;
    for (const uint32_t column : columns)
        members.push_back(place_.members[grid_.rank(stage, column)]);
    return Placement(std::move(members), place_.scale_up);
}

std::vector<Teams::Team>& Teams::teams(uint32_t stage, Kind kind) {
    const auto [entry, is_new] = teams_.try_emplace({stage, kind});
    if (!is_new) return entry->second;
    std::map<uint32_t, uint32_t> column_of;
    for (uint32_t column = 0; column < grid_.columns(); ++column)
        column_of[place_.members[grid_.rank(stage, column)].rank] = column;
    const auto channel = static_cast<uint16_t>(place_.first_channel + kFirstTeamChannel +
                                               static_cast<uint16_t>(kind) * kChannelsOfKind);
    for (const std::vector<uint32_t>& group : groups(kind)) {
        const Placement placement = placement_of(stage, group);
        std::vector<uint32_t> columns;
        for (uint32_t i = 0; i < placement.size(); ++i)
            columns.push_back(column_of[placement[i].rank]);
        entry->second.emplace_back(std::move(columns),
                                   JobBuilder(program_, placement, job_, channel));
    }
    return entry->second;
}

CollectiveOptions Teams::tuned(const Order& order, const Placement& placement) const {
    CollectiveOptions options;
    options.collective = order.collective;
    options.bytes = order.bytes;
    options.protocol = place_.protocol;
    const auto algorithms = algorithms_of(order.collective);
    options.algorithm = algorithms.size() == 1 ? algorithms.front() : Algorithm::automatic;
    return tune(options, placement, place_.machine);
}

CollectiveOptions Teams::tuned_part(const Order& order, const Placement& placement,
                                    uint64_t bytes) const {
    const CollectiveOptions whole = tuned(order, placement);
    CollectiveOptions part;
    part.collective = order.collective;
    part.bytes = bytes;
    part.algorithm = whole.algorithm;
    part.protocol = whole.protocol;
    return tune(part, placement, place_.machine);
}

const CollectiveOptions& Teams::remembered(uint32_t stage, size_t team, const Order& order,
                                           const Placement& placement) {
    const auto [entry, is_new] =
        tuned_.try_emplace({stage, order.kind, team, order.collective, order.bytes});
    if (is_new) entry->second = tuned(order, placement);
    return entry->second;
}

Columns Teams::exchange(uint32_t stage, const Order& order, const Columns& starts) {
    if (is_alone(order.kind)) return starts;
    Columns ends = starts;
    std::vector<Team>& all = teams(stage, order.kind);
    for (size_t i = 0; i < all.size(); ++i) {
        Team& team = all[i];
        for (uint32_t member = 0; member < team.columns.size(); ++member)
            team.builder.enter_after(member, starts[team.columns[member]]);
        append(team.builder, order.name, remembered(stage, i, order, team.builder.placement()));
        program_.phases.back().purpose = order.purpose;
        for (uint32_t member = 0; member < team.columns.size(); ++member)
            ends[team.columns[member]] = team.builder.entry(member);
    }
    return ends;
}

bool Teams::leaves_server(Kind kind) const {
    if (is_alone(kind)) return false;
    if (!place_.scale_up) return true;
    for (uint32_t stage = 0; stage < options_.layout.pipeline; ++stage)
        for (const std::vector<uint32_t>& group : groups(kind))
            if (placement_of(stage, group).server_count() > 1) return true;
    return false;
}

std::vector<Placement> Teams::samples(Kind kind) const {
    std::vector<Placement> all;
    const bool all_of_them = leaves_server(kind) || !options_.reuses;
    for (uint32_t stage = 0; stage < options_.layout.pipeline; ++stage)
        for (const std::vector<uint32_t>& group : groups(kind)) {
            all.push_back(placement_of(stage, group));
            if (!all_of_them) return all;
        }
    return all;
}

}  // namespace tulle::workload
