// Equal paths that were used unequally.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/findings/findings.h"

namespace tulle::report {
namespace {

using sim::LinkResult;

constexpr uint64_t kUnevenPermille = 1300;  // ratio of the fullest to the mean
// How much longer than the mean the fullest was busy, as a share of the run: what an even load
// would have saved.
constexpr uint64_t kExcessPermille = 100;
// For programs, which have several pieces of work: a path that was idle for longer than this did
// not set the pace.
constexpr uint64_t kPacePermille = 500;

// Ports of a switch among which it chooses.
struct Group {
    uint32_t node = 0;
    std::vector<const LinkResult*> links;
    const LinkResult* fullest = nullptr;
    uint64_t flows = 0;
    uint64_t ratio_permille = 0;
};

std::optional<Group> group_of(const Facts& facts, uint32_t node,
                              const std::vector<uint16_t>& ports) {
    Group group{node, {}, nullptr, 0, 0};
    uint64_t bytes = 0;
    for (const uint16_t port : ports) {
        const LinkResult* link = facts.link_at(node, port);
        if (link == nullptr) return std::nullopt;
        group.links.push_back(link);
        group.flows += link->flows;
        bytes += link->wire_bytes;
        if (group.fullest == nullptr || link->wire_bytes > group.fullest->wire_bytes)
            group.fullest = link;
    }
    if (bytes == 0) return std::nullopt;
    group.ratio_permille = group.fullest->wire_bytes * 1000 * ports.size() / bytes;
    return group;
}

bool is_uneven(const Facts& facts, const Group& group) {
    if (group.ratio_permille < kUnevenPermille) return false;
    const uint64_t busy = facts.busy_permille(*group.fullest);
    if (busy - busy * 1000 / group.ratio_permille < kExcessPermille) return false;
    const auto choice = facts.setup.fabric.route.choice;
    if (!fabric::keeps_flows_together(choice) && choice != fabric::PathChoice::flowlet) return true;
    // Flows cannot be divided: three on four paths are as even as possible.
    const uint64_t fair = (group.flows + group.links.size() - 1) / group.links.size();
    return group.fullest->flows > fair;
}

// The sets of equal ports of a switch towards any host.
std::set<std::vector<uint16_t>> choices_of(const Facts& facts, uint32_t node) {
    std::set<std::vector<uint16_t>> choices;
    std::set<uint32_t> gates;
    for (const uint32_t host : facts.names.hosts()) {
        if (!gates.insert(facts.routes.gate_of(host)).second) continue;
        auto ports = facts.routes.next_ports(node, host);
        if (ports.size() > 1) choices.insert(std::move(ports));
    }
    return choices;
}

bool has_busy_port(const Facts& facts, uint32_t node) {
    const auto links = facts.names.ports().of(node);
    for (uint16_t port = 0; port < links.size(); ++port) {
        const LinkResult* link = facts.link_at(node, port);
        if (link != nullptr && facts.busy_permille(*link) >= kExcessPermille) return true;
    }
    return false;
}

const char* chooser(const Facts& facts) {
    const auto& flows = facts.setup.flows;
    const auto is_given = [](const sim::Flow& flow) { return flow.path >= 0; };
    if (!flows.empty() && std::all_of(flows.begin(), flows.end(), is_given))
        return "the paths that were given";
    switch (facts.setup.fabric.route.choice) {
        case fabric::PathChoice::ecmp: return "the ECMP hash";
        case fabric::PathChoice::destination: return "the tables by destination";
        case fabric::PathChoice::adaptive: return "adaptive routing";
        case fabric::PathChoice::flowlet: return "the choice of flowlets";
        case fabric::PathChoice::spray: return "spraying";
        case fabric::PathChoice::ugal: return "adaptive routing with detours";
    }
    return "";
}

std::string flows_text(const Group& group) {
    std::string text;
    for (const LinkResult* link : group.links)
        text.append(text.empty() ? "" : ", ").append(std::to_string(link->flows));
    return text;
}

}  // namespace

void find_uneven_paths(const Facts& facts, std::vector<Finding>& findings) {
    if (facts.setup.fabric.route.kind == fabric::RouteKind::spanning_tree) return;
    if (limit_permille(facts) >= kNearLimitPermille) return;
    std::optional<Group> worst;
    std::set<uint32_t> switches;
    for (uint32_t node = 0; node < facts.setup.graph.nodes.size(); ++node) {
        if (facts.is_host(node) || !has_busy_port(facts, node)) continue;
        for (const std::vector<uint16_t>& ports : choices_of(facts, node)) {
            const auto group = group_of(facts, node, ports);
            if (!group || !is_uneven(facts, *group)) continue;
            switches.insert(node);
            if (!worst || group->ratio_permille > worst->ratio_permille) worst = group;
        }
    }
    if (!worst) return;
    const std::string culprit = facts.names.link(*worst->fullest);
    const bool set_the_pace =
        facts.setup.program.empty() || facts.busy_permille(*worst->fullest) >= kPacePermille;
    findings.push_back(
        {FindingKind::uneven_paths,
         set_the_pace ? Severity::warning : Severity::note,
         culprit,
         {{"switch", facts.names.node(worst->node)},
          {"fullest", culprit},
          {"max_over_mean_permille", worst->ratio_permille},
          {"paths", uint64_t{worst->links.size()}},
          {"switches", uint64_t{switches.size()}}},
         fmt::format("{} filled {} {} times as much as the mean of the {} equal paths of {} "
                     "(flows: {}); {} uneven",
                     chooser(facts), culprit, ratio_text(worst->ratio_permille),
                     worst->links.size(), facts.names.node(worst->node), flows_text(*worst),
                     switches.size() == 1 ? "1 switch is"
                                          : fmt::format("{} switches are", switches.size()))});
}

void find_idle_paths(const Facts& facts, std::vector<Finding>& findings) {
    if (facts.setup.fabric.route.kind != fabric::RouteKind::spanning_tree) return;
    std::vector<std::string> idle;
    size_t between_switches = 0;
    for (uint32_t i = 0; i < facts.setup.graph.cables.size(); ++i) {
        const topology::Cable& cable = facts.setup.graph.cables[i];
        if (facts.is_host(cable.a.node) || facts.is_host(cable.b.node)) continue;
        ++between_switches;
        const LinkResult* there = facts.link_at(cable.a.node, cable.a.port);
        const LinkResult* back = facts.link_at(cable.b.node, cable.b.port);
        const bool used = (there != nullptr && there->data_packets != 0) ||
                          (back != nullptr && back->data_packets != 0);
        if (!used) idle.push_back(facts.names.cable(i));
    }
    if (idle.empty() || limit_permille(facts) >= kNearLimitPermille) return;
    std::string shown;
    for (size_t i = 0; i < std::min(idle.size(), kMostNamed); ++i)
        shown.append(i == 0 ? "" : ", ").append(idle[i]);
    if (idle.size() > kMostNamed) shown += fmt::format(" and {} more", idle.size() - kMostNamed);
    const std::string culprit = idle.front();
    const uint64_t count = idle.size();
    findings.push_back(
        {FindingKind::idle_paths,
         Severity::warning,
         culprit,
         {{"count", count}, {"of", uint64_t{between_switches}}, {"cables", std::move(idle)}},
         fmt::format("the spanning tree leaves {} of {} cables between switches "
                     "idle: {}",
                     count, between_switches, shown)});
}

}  // namespace tulle::report
