// Collectives that are summed in the switches between servers: their requirements, and the trees
// that they use.
#include <set>

#include "scenario/jobs.h"

namespace tulle::scenario {

using workload::CollectiveOptions;
using workload::Placement;

// Requires that switches between servers can sum and the fabric is lossless, and that each rank has
// its own adapter.
void JobReader::check_network(const Value& map, CollectiveOptions& options,
                              const Placement& where) {
    const fabric::SwitchSettings& node = setup_.fabric.node;
    if (!node.reduction)
        notes_.fail(map.line,
                    "in_network: the switches between servers do not add up; take a profile with "
                    "switch.reduction, such as ib-ndr-sharp");
    else if (setup_.fabric.flow_control == fabric::FlowControl::none)
        notes_.fail(map.line,
                    "in_network: flow_control is none, and a sum that lacks a packet "
                    "never ends; take credits or pfc");
    std::set<uint32_t> adapters;
    for (uint32_t i = 0; i < where.size(); ++i)
        adapters.insert(setup_.ranks[where[i].rank].endpoint);
    if (adapters.size() != where.size())
        notes_.fail(map.line, "in_network needs an adapter for each GPU that takes part");
    if (options.protocol == workload::Protocol::automatic)
        options.protocol = workload::Protocol::bare;
}

// Reserves the trees of a collective for the job, one for each channel. If one is not free, none is
// reserved, and the hosts sum in a ring instead.
void JobReader::take_trees(CollectiveOptions& options, const Placement& where, uint32_t job) {
    if (!workload::is_in_network(options)) return;
    const fabric::SwitchSettings& node = setup_.fabric.node;
    if (!trees_)
        trees_.emplace(setup_.graph, fabric::ReductionTrees::Limits{node.reduction_trees,
                                                                    node.reduction_streams});
    const auto groups = workload::tree_members(options, where);
    options.streams = options.bytes / groups.size() > node.reduction_stream_above;
    if (!options.streams) {
        options.chunking.tree_piece = node.reduction_piece;
        options.chunking.tree_window = node.reduction_pieces;
    }
    const fabric::ReductionTrees before = *trees_;
    const size_t trees_before = setup_.trees.size();
    const uint16_t channels =
        options.channels != 0 ? options.channels : workload::usual_channels(options, where);
    for (const auto& members : groups)
        for (uint16_t channel = 0; channel < channels; ++channel)
            if (!take_tree(where, members,
                           static_cast<uint16_t>(next_channel_ +
                                                 workload::tree_channel(channel, options.streams)),
                           options.streams, job)) {
                trees_.emplace(before);
                setup_.trees.resize(trees_before);
                options.lacks_tree = true;
                (options.algorithm == workload::Algorithm::two_level ? options.between
                                                                     : options.algorithm) =
                    workload::Algorithm::ring;
                options.chunking.tree_piece = options.chunking.tree_window = 0;
                return;
            }
}

bool JobReader::take_tree(const Placement& where, const std::vector<uint32_t>& members,
                          uint16_t channel, bool streams, uint32_t job) {
    const uint32_t first = where[members.front()].rank;
    for (const sim::SwitchTree& tree : setup_.trees)
        if (tree.job == job && tree.channel == channel && tree.first_rank == first) return true;
    const std::vector<uint32_t> endpoints = setup_.graph.endpoints();
    std::vector<uint32_t> hosts;
    for (const uint32_t member : members)
        hosts.push_back(endpoints[setup_.ranks[where[member].rank].endpoint]);
    auto tree = trees_->take(hosts, streams);
    if (!tree) return false;
    setup_.trees.push_back({job, channel, first, std::move(*tree)});
    return true;
}

}  // namespace tulle::scenario
