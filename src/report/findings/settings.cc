// Settings that conflict, detected by their effects.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/units.h"
#include "report/findings/findings.h"

namespace tulle::report {
namespace {

constexpr uint64_t kSharedPermille = 500;  // a link that is full
constexpr uint64_t kLightPart = 4;         // a class with less than this part of another's bytes

std::string brake_reason(const Facts& facts) {
    const fabric::Settings& fabric = facts.setup.fabric;
    if (!fabric.pfc.dynamic_threshold && fabric.ecn.kmax_bytes > fabric.pfc.xoff_bytes)
        return fmt::format("Kmax ({}) lies above XOFF ({})",
                           base::bytes_to_string(fabric.ecn.kmax_bytes),
                           base::bytes_to_string(fabric.pfc.xoff_bytes));
    if (!fabric.pfc.dynamic_threshold)
        return fmt::format("Kmin ({}) is never reached",
                           base::bytes_to_string(fabric.ecn.kmin_bytes));
    return fmt::format("Kmin ({}) and Kmax ({}) lie above what PFC lets a queue grow to",
                       base::bytes_to_string(fabric.ecn.kmin_bytes),
                       base::bytes_to_string(fabric.ecn.kmax_bytes));
}

const sim::LinkResult* most_paused(const Facts& facts) {
    const auto& links = facts.result.links;
    const auto most =
        std::max_element(links.begin(), links.end(),
                         [](const auto& a, const auto& b) { return a.paused < b.paused; });
    return most == links.end() ? nullptr : &*most;
}

// How users distinguish traffic.
using Class = std::tuple<std::string, uint8_t, uint8_t>;  // piece of work, service level, DSCP

Class class_of(const Facts& facts, const sim::Flow& flow) {
    return {facts.names.group(flow), flow.service_level,
            static_cast<uint8_t>(flow.traffic_class >> 2)};
}

struct ClassFacts {
    Class name;
    std::vector<size_t> flows;
    uint64_t bytes = 0;
    uint64_t p99_permille = 0;
    size_t worst = 0;  // its slowest flow
};

std::string class_text(const Class& name) {
    const auto& [work, service_level, dscp] = name;
    return fmt::format("{}{}service level {}, DSCP {}", work, work.empty() ? "" : ", ",
                       service_level, dscp);
}

std::map<uint8_t, std::vector<ClassFacts>> classes_by_lane(const Facts& facts) {
    std::map<std::pair<uint8_t, Class>, ClassFacts> found;
    for (size_t i = 0; i < facts.flows(); ++i) {
        if (facts.is_refused(i)) continue;  // it waits for nobody
        const sim::Flow& flow = facts.setup.flows[i];
        ClassFacts& at = found[{facts.lane_of(flow), class_of(facts, flow)}];
        at.name = class_of(facts, flow);
        at.bytes += flow.bytes;
        if (at.flows.empty() || facts.slowdown_permille(i) > facts.slowdown_permille(at.worst))
            at.worst = i;
        at.flows.push_back(i);
    }
    std::map<uint8_t, std::vector<ClassFacts>> lanes;
    for (auto& [key, at] : found) {
        std::vector<uint64_t> slowdowns;
        for (const size_t flow : at.flows) slowdowns.push_back(facts.slowdown_permille(flow));
        std::sort(slowdowns.begin(), slowdowns.end());
        at.p99_permille = percentile(slowdowns, 99);
        lanes[key.first].push_back(std::move(at));
    }
    return lanes;
}

// A full link that both classes may have crossed, with the largest flow of the other class there.
// Without one the two are unrelated.
struct Meeting {
    const sim::LinkResult* link;
    size_t flow;
};

std::optional<Meeting> meeting_of(const Facts& facts, size_t sufferer, const ClassFacts& noisy) {
    std::optional<Meeting> best;
    for (const sim::LinkResult& link : facts.result.links) {
        if (facts.busy_permille(link) < kSharedPermille) continue;
        if (best && link.busy <= best->link->busy) continue;
        if (!facts.may_cross(facts.setup.flows[sufferer], link.node, link.port)) continue;
        std::optional<size_t> largest;
        for (const size_t flow : noisy.flows)
            if (facts.may_cross(facts.setup.flows[flow], link.node, link.port) &&
                (!largest || facts.setup.flows[flow].bytes > facts.setup.flows[*largest].bytes))
                largest = flow;
        if (largest) best = Meeting{&link, *largest};
    }
    return best;
}

bool find_noise(const Facts& facts, uint8_t lane, const ClassFacts& quiet, const ClassFacts& noisy,
                std::vector<Finding>& findings) {
    // A class that sends little cannot have filled the link that it waits for.
    if (quiet.p99_permille < kSlowedPermille || quiet.bytes * kLightPart > noisy.bytes)
        return false;
    const auto meeting = meeting_of(facts, quiet.worst, noisy);
    if (!meeting) return false;
    const std::string link = facts.names.link(*meeting->link);
    findings.push_back(
        {FindingKind::noisy_neighbour,
         Severity::warning,
         facts.names.flow(meeting->flow),
         {{"lane", uint64_t{lane}},
          {"noisy", class_text(noisy.name)},
          {"noisy_p99_slowdown_permille", noisy.p99_permille},
          {"quiet", class_text(quiet.name)},
          {"quiet_p99_slowdown_permille", quiet.p99_permille},
          {"link", link}},
         fmt::format(
             "{} and its class ({}) fill {}, and in the same {} another class ({}) waits behind "
             "them: the p99 of its slowdown is {} (theirs {}); give them lanes of their own",
             facts.names.flow(meeting->flow), class_text(noisy.name), link, facts.names.lane(lane),
             class_text(quiet.name), ratio_text(quiet.p99_permille),
             ratio_text(noisy.p99_permille))});
    return true;
}

// Empty if there is none: the work may be a program.
std::string slowest_flow_name(const Facts& facts) {
    if (facts.flows() == 0) return "";
    size_t worst = 0;
    for (size_t i = 0; i < facts.flows(); ++i)
        if (facts.slowdown_permille(i) > facts.slowdown_permille(worst)) worst = i;
    return facts.names.flow(worst);
}

}  // namespace

void find_pfc_only_brake(const Facts& facts, std::vector<Finding>& findings) {
    const fabric::Settings& fabric = facts.setup.fabric;
    if (fabric.flow_control != fabric::FlowControl::pfc || fabric.marking != fabric::Marking::ecn)
        return;
    const sim::LinkResult* link = most_paused(facts);
    if (facts.result.totals.ecn_marked != 0 || link == nullptr || link->paused.ps == 0) return;
    const std::string reason = brake_reason(facts);
    findings.push_back(
        {FindingKind::pfc_only_brake,
         Severity::warning,
         facts.names.link(*link),
         {{"pause_frames", facts.result.totals.pause_frames},
          {"ecn_marked", uint64_t{0}},
          {"reason", reason}},
         fmt::format("PFC was the only brake ({}, no packet marked, {} paused longest): {}",
                     counted(facts.result.totals.pause_frames, "pause frame"),
                     facts.names.link(*link), reason)});
}

void find_needless_resending(const Facts& facts, std::vector<Finding>& findings) {
    const sim::Totals& totals = facts.result.totals;
    if (totals.retransmitted == 0 || facts.drops() != 0 || totals.trimmed != 0) return;
    const auto choice = facts.setup.fabric.route.choice;
    const bool reorders = !fabric::keeps_flows_together(choice);
    // A single late packet now and then costs nothing.
    if (reorders && totals.retransmitted * 100 < totals.data_packets) return;
    const bool goes_back = facts.setup.host.loss == transport::LossPolicy::go_back_n;
    const std::string reason =
        reorders && goes_back ? "packets of a flow took several paths and arrived out of order, "
                                "which go-back-N takes for a loss"
        : reorders            ? "packets of a flow took several paths and arrived out of order"
                              : "acknowledgements came after the timeout";
    const std::string slowest = slowest_flow_name(facts);
    const std::string culprit = reorders ? "spraying" : "the acknowledgement timeout";
    findings.push_back(
        {FindingKind::needless_resending,
         Severity::warning,
         culprit,
         {{"retransmitted", totals.retransmitted}, {"slowest_flow", slowest}, {"reason", reason}},
         fmt::format("{} sent again although none was lost: {}{}",
                     counted(totals.retransmitted, "packet"), reason,
                     slowest.empty() ? "" : fmt::format("; {} suffered most", slowest))});
}

void find_noisy_neighbour(const Facts& facts, std::vector<Finding>& findings) {
    for (const auto& [lane, classes] : classes_by_lane(facts))
        for (const ClassFacts& quiet : classes)
            for (const ClassFacts& noisy : classes)
                if (&quiet != &noisy && find_noise(facts, lane, quiet, noisy, findings)) break;
}

}  // namespace tulle::report
