#include "workload/training/deepep.h"

#include <algorithm>

namespace tulle::workload {
namespace {

using base::Duration;

// A larger dispatch is on the line through two smaller ones.
constexpr uint32_t kFewTokens = 256;
constexpr uint32_t kManyTokens = 1024;
// The approximate number of ranks that are simulated at the same time; chosen.
constexpr uint32_t kMostRanks = 256;

// Keeps only the first groups.
void keep_few(std::vector<Placement>& groups) {
    const size_t most = std::max<size_t>(1, kMostRanks / groups.front().size());
    if (groups.size() > most)
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(most), groups.end());
}

Duration exchange_time(const StepPlace& place, const std::vector<Placement>& groups,
                       ExpertOptions options, bool comes_back) {
    const uint32_t tokens = options.tokens;
    options.tokens = std::min(tokens, kManyTokens);
    const Duration many = place.rehearse_experts(groups, options, comes_back);
    if (tokens <= kManyTokens) return many;
    options.tokens = kFewTokens;
    const Duration few = place.rehearse_experts(groups, options, comes_back);
    return many + (many - few) * (tokens - kManyTokens) / (kManyTokens - kFewTokens);
}

}  // namespace

ExpertOptions expert_options(const StepOptions& options) {
    const Layout& layout = options.layout;
    ExpertOptions experts;
    experts.tokens =
        std::max(1u, layout.micro_batch * layout.sequence / layout.context / layout.tensor);
    experts.hidden = options.model.hidden;
    experts.experts = options.model.experts;
    experts.of_token = options.model.experts_of_token;
    experts.most_servers = options.most_servers;
    experts.hot_times = options.hot_times;
    return experts;
}

// Forward and backward passes each have a dispatch and a combine; in the backward pass they are
// swapped.
Duration rehearse_deepep(const StepOptions& options, const StepPlace& place,
                         std::vector<Placement> groups, uint64_t times,
                         std::vector<RepeatedCollective>& repeated) {
    const ExpertOptions experts = expert_options(options);
    const Placement first = groups.front();
    keep_few(groups);
    const uint64_t copies = ExpertRoutes(experts, first).all_copies();
    Duration both{};
    for (const bool comes_back : {false, true}) {
        RepeatedCollective one;
        one.purpose = Purpose::expert;
        one.collective = Collective::all_to_all;
        one.ranks = first.size();
        one.bytes = copies *
                    (comes_back ? combine_bytes(experts.hidden) : dispatch_bytes(experts.hidden)) /
                    one.ranks;
        one.time = exchange_time(place, groups, experts, comes_back);
        one.times = times;
        one.way = comes_back ? "deepep combine" : "deepep dispatch";
        one.leaves_server = first.server_count() > 1;
        both += one.time;
        repeated.push_back(std::move(one));
    }
    return both / 2;
}

uint64_t expert_load_permille(const StepOptions& options, const StepPlace& place) {
    if (!options.uses_deepep || options.hot_times <= 1) return 1000;
    const Grid grid(options.layout, options.order);
    const Grid::Groups groups = grid.expert_groups();
    std::vector<Member> members;
    for (const uint32_t column : groups.front())
        members.push_back(place.members[grid.rank(0, column)]);
    return ExpertRoutes(expert_options(options), Placement(std::move(members), place.scale_up))
        .imbalance_permille();
}

}  // namespace tulle::workload
