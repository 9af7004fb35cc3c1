#include "cli/subnet/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/fabric_input.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "cli/subnet/policy_input.h"
#include "cli/subnet/routed.h"
#include "control/subnet/check/cables.h"
#include "control/subnet/check/credit_loops.h"
#include "control/subnet/check/partitions.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/check/spread.h"
#include "control/subnet/routing/ways.h"
#include "topology/ib_speed.h"
#include "topology/ibnetdiscover.h"
#include "topology/quantities.h"

namespace tulle::cli {
namespace {

using control::CreditLoop;
using control::LostPath;
using control::Subnet;
using topology::Graph;

constexpr size_t kMostShown = 8;
// Number of paths to follow for shifts by default: one or two seconds.
constexpr uint64_t kPathsOfShifts = 20'000'000;
// Tables are uneven if shifts use their busiest link so many times as much as our own; chosen.
constexpr double kMostOfTree = 1.5;
constexpr double kMostElsewhere = 3;

// The result of one check: a sentence, whether it is a fault, and details.
struct CheckResult {
    std::string key;    // in JSON
    std::string label;  // in text
    bool is_wrong = false;
    std::string sentence{};
    std::vector<std::string> details{};
    nlohmann::ordered_json numbers = nlohmann::ordered_json::object();
};

class Checker {
public:
    Checker(const FabricWithFaults& fabric, const Routed& routed,
            const control::PartitionPolicy* partitions, const CheckOptions& options)
        : fabric_(fabric),
          graph_(fabric.graph),
          routed_(routed),
          partitions_(partitions),
          options_(options) {}

    std::vector<CheckResult> check_all() {
        check_guids();
        check_lids();
        check_cables();
        check_reach();
        check_credit_loops();
        check_shifts();
        if (partitions_ != nullptr) check_partitions();
        return std::move(findings_);
    }

private:
    CheckResult& add(const char* key, const char* label) {
        return findings_.emplace_back(CheckResult{key, label});
    }
    std::string end_text(topology::CableEnd end) const {
        return fmt::format("{} port {}", graph_.nodes[end.node].name, end.port + 1);
    }
    std::string lid_text(uint32_t lid) const {
        const topology::CableEnd owner = routed_.subnet.place(lid).owner;
        return fmt::format("{} (LID {})", graph_.nodes[owner.node].name, lid);
    }
    std::string link_text(uint32_t id) const {
        const Subnet::Link& link = routed_.subnet.link(id);
        return fmt::format("{} port {} -> {} port {}", routed_.subnet.name(link.from), link.port,
                           routed_.subnet.name(link.to), link.to_port);
    }
    static std::string rate_text(uint64_t rate_bps) {
        const std::string speed = topology::ib_speed_text(rate_bps);
        const std::string rate = topology::rate_text(rate_bps);
        return speed.empty() ? rate : fmt::format("{} ({})", speed, rate);
    }

    void check_guids() {
        CheckResult& finding = add("guids", "GUIDs");
        const auto shared = control::shared_guids(fabric_.as_written);
        finding.is_wrong = !shared.empty();
        finding.sentence = shared.empty() ? "no two nodes share one"
                                          : fmt::format("{} given twice", shared.size());
        for (const control::SharedGuid& pair : shared)
            finding.details.push_back(fmt::format("0x{:016x} is that of {} and of {}", pair.guid,
                                                  graph_.nodes[pair.first].name,
                                                  graph_.nodes[pair.second].name));
        finding.numbers["shared"] = shared.size();
    }

    void check_lids() {
        CheckResult& finding = add("lids", "LIDs");
        const auto shared = control::shared_lids(fabric_.lids);
        finding.is_wrong = !shared.empty();
        finding.sentence = fabric_.lids.empty() ? "the fabric does not say which ports have which"
                           : shared.empty()     ? "no two ports share one"
                                                : fmt::format("{} given twice", shared.size());
        for (const control::SharedLid& pair : shared)
            finding.details.push_back(fmt::format("{} is that of {} and of {}", pair.lid,
                                                  graph_.nodes[pair.first.node].name,
                                                  graph_.nodes[pair.second.node].name));
        finding.numbers["shared"] = shared.size();
    }

    void check_cables() {
        CheckResult& finding = add("cables", "Cables");
        const auto odd = control::odd_cables(graph_);
        finding.is_wrong = !odd.empty();
        const bool has_rates = std::any_of(graph_.cables.begin(), graph_.cables.end(),
                                           [](const auto& cable) { return cable.rate_bps != 0; });
        finding.sentence = !has_rates ? "the fabric does not say how fast they are"
                           : odd.empty()
                               ? "all as wide and fast as those beside them"
                               : fmt::format(
                                     "{} of {} with another width or speed than those beside "
                                     "them",
                                     odd.size(), graph_.cables.size());
        for (const control::OddCable& cable : odd)
            finding.details.push_back(fmt::format(
                "{} to {} runs at {}, the others at {}", end_text(graph_.cables[cable.cable].a),
                end_text(graph_.cables[cable.cable].b), rate_text(cable.rate_bps),
                rate_text(cable.usual_bps)));
        finding.numbers["odd"] = odd.size();
    }

    void check_reach() {
        CheckResult& finding = add("reach", "Reach");
        const control::Reach reach = control::check_reach(routed_.subnet, routed_.routing.tables);
        const std::vector<uint32_t> uncabled = hosts_without_cable();
        const bool is_apart = reach.apart_host_pairs > 0 || !uncabled.empty();
        finding.is_wrong = !reach.is_whole() || is_apart;
        finding.sentence =
            reach.is_whole()
                ? fmt::format("all {} pairs of hosts {}have a route", reach.host_pairs,
                              is_apart ? "that cables join " : "")
                : fmt::format(
                      "of {} pairs of hosts, {} have no route and {} go in circles; also "
                      "{} and {} between hosts and switches",
                      reach.host_pairs, reach.lost_host_pairs, reach.looping_host_pairs,
                      reach.lost_other, reach.looping_other);
        if (reach.apart_host_pairs > 0)
            finding.details.push_back(
                fmt::format("the fabric is in {} pieces: no cables join {} pairs of hosts",
                            reach.pieces, reach.apart_host_pairs));
        for (const uint32_t node : uncabled)
            finding.details.push_back(fmt::format("{} has no cable", graph_.nodes[node].name));
        for (const LostPath& path : reach.lost)
            finding.details.push_back(fmt::format(
                "from {} to {}: {} has no port that leads on", routed_.subnet.name(path.source),
                lid_text(path.lid), routed_.subnet.name(path.stops_at)));
        for (const LostPath& path : reach.looping) finding.details.push_back(circle_text(path));
        finding.numbers["pieces"] = reach.pieces;
        finding.numbers["apart_host_pairs"] = reach.apart_host_pairs;
        finding.numbers["hosts_without_cable"] = uncabled.size();
        finding.numbers["host_pairs"] = reach.host_pairs;
        finding.numbers["lost_host_pairs"] = reach.lost_host_pairs;
        finding.numbers["looping_host_pairs"] = reach.looping_host_pairs;
        finding.numbers["lost_with_switches"] = reach.lost_other;
        finding.numbers["looping_with_switches"] = reach.looping_other;
        finding.numbers["lost_between_switches"] =
            reach.lost_between_switches + reach.looping_between_switches;
    }

    std::vector<uint32_t> hosts_without_cable() const {
        const topology::Ports ports(graph_);
        std::vector<uint32_t> nodes;
        for (const uint32_t host : graph_.endpoints())
            if (std::ranges::none_of(ports.of(host), &topology::Ports::Link::is_cabled))
                nodes.push_back(host);
        return nodes;
    }

    std::string circle_text(const LostPath& path) const {
        std::string out = fmt::format(
            "from {} to {} in a circle:", routed_.subnet.name(path.source), lid_text(path.lid));
        for (const uint32_t link :
             control::path_of(routed_.subnet, routed_.routing.tables, path.stops_at, path.lid))
            out += fmt::format(" {},", link_text(link));
        out.pop_back();
        return out;
    }

    void check_credit_loops() {
        CheckResult& finding = add("credit_loops", "Credit loops");
        const auto& dumped = routed_.dumped_lanes;
        const auto& tables = routed_.routing.tables;
        const auto loop =
            dumped ? control::find_credit_loop(routed_.subnet, tables, *dumped,
                                               control::PathEnds::hosts)
                   : control::find_credit_loop(routed_.subnet, tables, routed_.routing.lanes);
        const uint8_t lanes = dumped ? dumped->count() : routed_.routing.lanes.count;
        finding.is_wrong = loop.has_value();
        finding.sentence =
            loop ? fmt::format("{} links wait for one another in a circle", loop->parts.size())
                 : fmt::format("none, on {} lane{}", lanes, lanes == 1 ? "" : "s");
        if (dumped && !loop) note_loop_with_switches(finding);
        if (dumped && dumped->unnamed_paths() > 0)
            finding.details.push_back(
                fmt::format("{} names no service level for {} pairs of hosts, so it is 0 there",
                            options_.path_levels_file, dumped->unnamed_paths()));
        finding.numbers["lanes"] = lanes;
        finding.numbers["links"] = nlohmann::ordered_json::array();
        if (!loop) return;
        for (const CreditLoop::Part& part : loop->parts) {
            finding.numbers["links"].push_back(link_text(part.link));
            finding.details.push_back(
                fmt::format("{}, lane {}: packets from {} to {}", link_text(part.link), part.lane,
                            routed_.subnet.name(part.source), lid_text(part.lid)));
        }
    }

    void note_loop_with_switches(CheckResult& finding) const {
        const auto loop =
            control::find_credit_loop(routed_.subnet, routed_.routing.tables, *routed_.dumped_lanes,
                                      control::PathEnds::hosts_and_switches);
        if (loop)
            finding.details.push_back(fmt::format(
                "packets to and from switches themselves, which are few, close one of {} links",
                loop->parts.size()));
    }

    bool is_a_tree() const {
        const std::vector<uint32_t> rank = control::ranks_of(routed_.subnet);
        for (uint32_t id = 0; id < routed_.subnet.link_count(); ++id)
            if (rank[routed_.subnet.link(id).from] == rank[routed_.subnet.link(id).to])
                return false;
        return true;
    }

    static double mean_of(const control::ShiftSpread& spread) {
        return spread.shifts == 0
                   ? 0
                   : static_cast<double>(spread.sum_of_most) / static_cast<double>(spread.shifts);
    }

    // Without --flows, tables are compared with those of an engine that spreads flows well on any
    // fabric. In trees it comes close to the best that there is; elsewhere, routing without lanes
    // has to spread flows less evenly.
    void compare_spread(CheckResult& finding, double mean, uint32_t shifts) const {
        const bool is_tree = is_a_tree();
        const control::RoutingEngine& engine =
            *control::routing_engine_named(is_tree ? "fat-tree" : "min-hop");
        const auto routing = engine.route(routed_.subnet, {});
        const double reference =
            mean_of(control::measure_shifts(routed_.subnet, routing.tables, shifts));
        finding.numbers["mean_most_flows_of_reference"] = reference;
        finding.is_wrong = mean > reference * (is_tree ? kMostOfTree : kMostElsewhere);
        if (finding.is_wrong)
            finding.details.push_back(fmt::format(
                "the tables of {} have {:.2f} on average on this fabric", engine.name, reference));
    }

    void check_shifts() {
        CheckResult& finding = add("shifts", "Shifts");
        const uint64_t hosts = std::max<uint64_t>(graph_.host_count(), 1);
        const auto asked = static_cast<uint32_t>(std::min<uint64_t>(
            options_.shifts.value_or(std::max<uint64_t>(kPathsOfShifts / hosts, 1)), 0xffff'ffff));
        const control::ShiftSpread spread =
            control::measure_shifts(routed_.subnet, routed_.routing.tables, asked);
        const control::PathSpread paths =
            control::measure_paths(routed_.subnet, routed_.routing.tables);
        const double mean = mean_of(spread);
        finding.sentence = fmt::format(
            "the busiest link carries {} flow{}, {:.2f} on average over {} of {} shifts",
            spread.most_flows, spread.most_flows == 1 ? "" : "s", mean, spread.shifts,
            spread.hosts == 0 ? 0 : spread.hosts - 1);
        if (options_.flows) {
            finding.is_wrong = spread.most_flows > *options_.flows;
            if (finding.is_wrong)
                finding.details.push_back(fmt::format("{} in shift {}; {} are allowed",
                                                      link_text(spread.worst_link),
                                                      spread.worst_shift, *options_.flows));
        } else {
            compare_spread(finding, mean, asked);
            if (finding.is_wrong)
                finding.details.push_back(fmt::format(
                    "{} in shift {}", link_text(spread.worst_link), spread.worst_shift));
        }
        finding.numbers["shifts"] = spread.shifts;
        finding.numbers["most_flows"] = spread.most_flows;
        finding.numbers["mean_most_flows"] = mean;
        finding.numbers["shifts_without_conflict"] = spread.shifts_without_conflict;
        finding.numbers["most_paths_on_a_link"] = paths.most;
        finding.numbers["mean_paths_on_a_link"] =
            paths.links == 0 ? 0.0
                             : static_cast<double>(paths.sum) / static_cast<double>(paths.links);
    }

    void check_partitions() {
        CheckResult& finding = add("partitions", "Partitions");
        const control::PartitionCheck found =
            control::check_partitions(graph_, topology::node_guids(graph_), *partitions_);
        const auto name = [&](uint32_t node) { return graph_.nodes[node].name; };
        for (const control::UnknownMember& member : found.unknown)
            finding.details.push_back(
                fmt::format("{}:{}: partition {} names '{}', and the fabric has no such node",
                            options_.partitions_file, member.line, member.partition, member.name));
        for (const std::string& partition : found.without_full_member)
            finding.details.push_back(fmt::format(
                "partition {} has members, and no full one: nobody in it can talk", partition));
        for (const uint32_t node : found.isolated)
            finding.details.push_back(fmt::format("{} can talk to no other host", name(node)));
        for (const uint32_t node : found.without_manager)
            finding.details.push_back(
                fmt::format("{} shares no partition with the subnet manager, at {}: it can ask for "
                            "no path",
                            name(node), name(graph_.endpoints().front())));
        for (const uint32_t node : found.too_many)
            finding.details.push_back(
                fmt::format("{} is in more partitions than a port has room for", name(node)));
        finding.is_wrong = !finding.details.empty();
        finding.sentence =
            fmt::format("{} of {} pairs of hosts may talk, in {} partition{}", found.pairs_that_may,
                        found.pairs, partitions_->partitions.size(),
                        partitions_->partitions.size() == 1 ? "" : "s");
        finding.numbers["pairs"] = found.pairs;
        finding.numbers["pairs_that_may_talk"] = found.pairs_that_may;
    }

    const FabricWithFaults& fabric_;
    const Graph& graph_;
    const Routed& routed_;
    const control::PartitionPolicy* partitions_;
    const CheckOptions& options_;
    std::vector<CheckResult> findings_;
};

std::string tables_text(const Routed& routed, const CheckOptions& options) {
    if (routed.dumped_lanes)
        return fmt::format(
            "from {}, lanes from {}{}{}", options.tables_file, options.path_levels_file,
            options.path_levels_file.empty() || options.sl2vl_file.empty() ? "" : " and ",
            options.sl2vl_file);
    if (routed.engine == nullptr)
        return fmt::format("from {}; it names no lanes, so all packets share one",
                           options.tables_file);
    const std::string_view note = routed.routing.note;
    return fmt::format("by {}{}{}", routed.engine->name, note.empty() ? "" : ": ", note);
}

std::string text_of_check(const std::vector<CheckResult>& findings, const std::string& tables) {
    std::string out = fmt::format("{:<14}{}\n", "Tables", tables);
    for (const CheckResult& finding : findings) {
        out += fmt::format("{:<14}{:<7}{}\n", finding.label, finding.is_wrong ? "WRONG" : "ok",
                           finding.sentence);
        const size_t shown = std::min(finding.details.size(), kMostShown);
        // A loop is printed in full; half of it explains nothing.
        const size_t end = finding.key == "credit_loops" ? finding.details.size() : shown;
        for (size_t i = 0; i < end; ++i) out += fmt::format("  {}\n", finding.details[i]);
        if (end < finding.details.size())
            out += fmt::format("  and {} more\n", finding.details.size() - end);
    }
    return out;
}

std::string json_of_check(const std::vector<CheckResult>& findings, const Routed& routed,
                          const std::string& tables, bool is_wrong) {
    nlohmann::ordered_json json;
    json["is_wrong"] = is_wrong;
    json["tables"] = tables;
    json["engine"] = nullptr;
    if (routed.engine != nullptr) json["engine"] = routed.engine->name;
    for (const CheckResult& finding : findings) {
        auto& entry = json[finding.key];
        entry["is_wrong"] = finding.is_wrong;
        entry["sentence"] = finding.sentence;
        entry.update(finding.numbers);
        entry["details"] = finding.details;
    }
    return json.dump(2) + "\n";
}

}  // namespace

int check_subnet(const CheckOptions& options) {
    const auto fabric = read_fabric_with_faults(options.fabric, SharedGuids::allowed);
    if (!fabric) return fail("subnet check", fabric.error(), kInputWrong);
    const auto routed =
        options.tables_file.empty()
            ? route_by_engine(*fabric, options.engine, 8)
            : route_by_dumps(fabric->graph, {.tables = options.tables_file,
                                             .path_levels = options.path_levels_file,
                                             .sl2vl = options.sl2vl_file});
    if (!routed) return fail("subnet check", routed.error(), kInputWrong);
    const auto policies = read_policies("", options.partitions_file, "");
    if (!policies) return fail("subnet check", policies.error(), kInputWrong);
    std::vector<CheckResult> findings;
    bool is_wrong = false;
    const std::string tables = tables_text(*routed, options);
    auto files = ResultFiles::open(
        {{options.json_file, [&] { return json_of_check(findings, *routed, tables, is_wrong); }}});
    if (!files) return fail("subnet check", files.error(), kInputWrong);
    findings = Checker(*fabric, *routed, policies->settings.partitions.get(), options).check_all();
    is_wrong = std::any_of(findings.begin(), findings.end(),
                           [](const CheckResult& finding) { return finding.is_wrong; });
    if (const auto error = files->write()) return fail("subnet check", *error, kRunFailed);
    if (!files->takes_standard_output()) {
        Output standard = Output::standard();
        standard.write(text_of_check(findings, tables));
        if (const auto error = standard.finish()) return fail("subnet check", *error, kRunFailed);
    }
    return is_wrong ? kRunFailed : kDone;
}

}  // namespace tulle::cli
