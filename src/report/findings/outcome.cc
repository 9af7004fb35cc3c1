// Runs that did not succeed, and runs that took longer than their links explain.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/findings/findings.h"

namespace tulle::report {
namespace {

constexpr uint64_t kFullPermille = 950;

// The busiest link between servers, or inside them if there was more to do.
struct Busiest {
    std::string link;
    uint64_t permille = 0;
    const sim::LinkResult* between = nullptr;  // null: inside a server
};

std::optional<Busiest> busiest_of_all(const Facts& facts) {
    std::optional<Busiest> busiest;
    if (const sim::LinkResult* link = busiest_link(facts))
        busiest = Busiest{facts.names.link(*link), facts.busy_permille(*link), link};
    if (!facts.setup.scale_up || !facts.result.scale_up) return busiest;
    const auto& inside = facts.result.scale_up->links;
    const auto most = std::max_element(
        inside.begin(), inside.end(), [](const auto& a, const auto& b) { return a.busy < b.busy; });
    const uint64_t busy = most == inside.end() ? 0 : facts.busy_permille(*most);
    if (busy > (busiest ? busiest->permille : 0))
        busiest = Busiest{Names(*facts.setup.scale_up).link(*most), busy, nullptr};
    return busiest;
}

// What may hold senders back although no link is full. Congestion control without signals does not
// count.
std::string brakes_text(const Facts& facts) {
    using transport::Algorithm;
    const sim::Totals& totals = facts.result.totals;
    std::string text = "windows or latency";
    if (!facts.setup.program.empty()) text = "windows, latency or waiting for one another";
    const Algorithm algorithm = facts.setup.host.congestion;
    if (algorithm == Algorithm::none) return text;
    if (algorithm == Algorithm::fixed_rate) return "their fixed rate, " + text;
    if (!transport::heeds_notifications(algorithm)) return "congestion control, " + text;
    if (totals.ecn_marked == 0 && totals.cnps == 0) return text;
    return fmt::format("congestion control ({}, {}), {}", counted(totals.ecn_marked, "mark"),
                       counted(totals.cnps, "CNP"), text);
}

Finding senders_held_back(const Facts& facts, const Busiest& busiest) {
    const sim::Totals& totals = facts.result.totals;
    return {FindingKind::senders_held_back,
            Severity::note,
            busiest.link,
            {{"link", busiest.link},
             {"busy_permille", busiest.permille},
             {"ecn_marked", totals.ecn_marked},
             {"cnps", totals.cnps}},
            fmt::format("no link was full ({} most, {} busy): the senders held back, by {}",
                        busiest.link, percent_text(busiest.permille), brakes_text(facts))};
}

// A host that spent most of the run on moving data between its memory and its adapter.
struct BusyHost {
    const sim::LinkResult* link = nullptr;
    bool receives = false;
    uint64_t permille = 0;
};

Duration toll_of(const Facts& facts, const sim::Toll& toll, const sim::LinkResult& link) {
    const uint64_t mtu = facts.setup.host.mtu;
    const uint64_t packet = data_wire_bytes(facts.setup, sim::Verb::write, mtu, false, false);
    Duration time = toll.per_packet * static_cast<int64_t>(link.data_packets);
    if (toll.rate) time += toll.rate->time_for(link.wire_bytes / packet * mtu);
    return time;
}

BusyHost busiest_host(const Facts& facts) {
    const sim::HostSettings& host = facts.setup.host;
    BusyHost busiest;
    for (const sim::LinkResult& link : facts.result.links) {
        const bool sends = facts.is_host(link.node);
        if (!sends && !facts.is_host(link.peer_node)) continue;
        const uint64_t busy =
            facts.permille(toll_of(facts, sends ? host.send_toll : host.receive_toll, link));
        if (busy > busiest.permille) busiest = {&link, !sends, busy};
    }
    return busiest;
}

Finding host_set_the_pace(const Facts& facts, const BusyHost& busy) {
    const sim::LinkResult& link = *busy.link;
    const std::string& name = facts.names.node(busy.receives ? link.peer_node : link.node);
    const char* setting = busy.receives ? "hosts.receive_toll" : "hosts.send_toll";
    const sim::HostSettings& host = facts.setup.host;
    const sim::Toll& toll = busy.receives ? host.receive_toll : host.send_toll;
    const bool by_processors =
        (busy.receives ? host.cpu.per_byte_received_e18 : host.cpu.per_byte_sent_e18) != 0;
    const std::string rate =
        toll.rate ? fmt::format(" at {}", base::to_string(*toll.rate)) : std::string();
    return {
        FindingKind::host_set_the_pace,
        Severity::note,
        name,
        {{"host", name},
         {"setting", std::string(setting)},
         {"host_busy_permille", busy.permille},
         {"link", facts.names.link(link)},
         {"link_busy_permille", facts.busy_permille(link)}},
        fmt::format("{} of {} set the pace: {} data{} ({}), {} of the time; {} was {} busy",
                    by_processors ? "the processors" : "the bus", name,
                    busy.receives ? "taking" : "giving", rate, setting, percent_text(busy.permille),
                    facts.names.link(link), percent_text(facts.busy_permille(link)))};
}

// Packets that found no room at the two nodes of a cable.
uint64_t overrun_at(const Facts& facts, const topology::Cable& cable) {
    uint64_t lost = 0;
    for (const sim::LinkResult& link : facts.result.links)
        if (link.node == cable.a.node || link.node == cable.b.node)
            for (const sim::Drop cause : {sim::Drop::headroom_full, sim::Drop::buffer_full})
                lost += link.dropped[static_cast<size_t>(cause)];
    return lost;
}

}  // namespace

uint64_t whole_nanoseconds(base::Duration duration) {
    return static_cast<uint64_t>(duration.ps) / 1000;
}

const sim::LinkResult* busiest_link(const Facts& facts) {
    const sim::LinkResult* busiest = nullptr;
    for (const sim::LinkResult& link : facts.result.links)
        if (link.busy.ps > 0 && (busiest == nullptr || link.busy > busiest->busy)) busiest = &link;
    return busiest;
}

uint64_t limit_permille(const Facts& facts) {
    return facts.permille(facts.limit);
}

void find_deadlock(const Facts& facts, std::vector<Finding>& findings) {
    const auto& circle = facts.result.deadlock;
    if (circle.empty()) return;
    std::vector<std::string> hops;
    std::string text;
    for (const sim::DeadlockHop& hop : circle) {
        hops.push_back(fmt::format("{} ({})", facts.names.link(hop.node, hop.port),
                                   facts.names.lane(hop.lane)));
        text.append(text.empty() ? "" : " waits for ").append(hops.back());
    }
    text += " waits for the first";
    const std::string culprit = facts.names.link(circle.front().node, circle.front().port);
    findings.push_back({FindingKind::deadlock,
                        Severity::failure,
                        culprit,
                        {{"circle", std::move(hops)}},
                        fmt::format("deadlock: {}", text)});
}

void find_failed_flows(const Facts& facts, std::vector<Finding>& findings) {
    std::vector<std::string> names;
    size_t unfinished = 0;
    size_t first = 0;
    for (size_t i = 0; i < facts.flows(); ++i) {
        if (facts.succeeded(i)) continue;
        if (names.empty()) first = i;
        unfinished += facts.result.flows[i].has_ended() ? 0 : 1;
        names.push_back(facts.names.flow(i));
    }
    if (names.empty()) return;
    const std::string culprit = names.front();
    std::string sentence = fmt::format(
        "{} of {} flows did not succeed ({} had not ended), the first of them {}: {}", names.size(),
        facts.flows(), unfinished, culprit, outcome_name(facts.result.flows[first]));
    if (!facts.result.stuck_reason.empty()) sentence += "; " + facts.result.stuck_reason;
    if (facts.result.end == sim::Result::End::stop_time) sentence += "; the run ended at its stop";
    const uint64_t count = names.size();
    findings.push_back(
        {FindingKind::flows_failed,
         Severity::failure,
         culprit,
         {{"count", count}, {"unfinished", uint64_t{unfinished}}, {"flows", std::move(names)}},
         std::move(sentence)});
}

void find_unfinished_phases(const Facts& facts, std::vector<Finding>& findings) {
    std::vector<std::string> names;
    for (const CollectiveFacts& phase : facts.collectives)
        if (!phase.finished) names.push_back(phase.name);
    if (names.empty()) return;
    const std::string culprit = names.front();
    const uint64_t count = names.size();
    std::string sentence = fmt::format("{} of {} did not end, the first of them {}", count,
                                       counted(facts.collectives.size(), "phase"), culprit);
    if (!facts.result.stuck_reason.empty()) sentence += "; " + facts.result.stuck_reason;
    if (facts.result.end == sim::Result::End::stop_time) sentence += "; the run ended at its stop";
    findings.push_back({FindingKind::phases_unfinished,
                        Severity::failure,
                        culprit,
                        {{"count", count}, {"phases", std::move(names)}},
                        std::move(sentence)});
}

// The cable whose ends lost most is named, the others are counted: a switch that is set up wrongly
// disagrees with all its neighbours.
void find_disagreements(const Facts& facts, std::vector<Finding>& findings) {
    const auto& all = facts.result.disagreements;
    if (all.empty()) return;
    const auto lost_at = [&](const sim::Disagreement& at) {
        return overrun_at(facts, facts.setup.graph.cables[at.cable]);
    };
    const sim::Disagreement& most = *std::ranges::max_element(all, {}, lost_at);
    const uint64_t lost = lost_at(most);
    const std::string cable = facts.names.cable(most.cable);
    std::vector<std::string> cables;
    for (const sim::Disagreement& at : all) cables.push_back(facts.names.cable(at.cable));
    std::string sentence =
        fmt::format("the ends of {} are set differently: {}; ", cable, most.what);
    sentence += lost == 0 ? "nothing was lost by it in this run"
                          : fmt::format("{} lost to full buffers there", counted(lost, "packet"));
    if (all.size() > 1)
        sentence += fmt::format("; {} more {} such ends", all.size() - 1,
                                all.size() == 2 ? "cable has" : "cables have");
    findings.push_back({FindingKind::dcbx_disagreement,
                        Severity::warning,
                        cable,
                        {{"cable", cable},
                         {"what", most.what},
                         {"packets_lost", lost},
                         {"cables", std::move(cables)}},
                        std::move(sentence)});
}

void find_pace(const Facts& facts, std::vector<Finding>& findings) {
    if (!facts.has_work() || limit_permille(facts) >= kNearLimitPermille) return;
    if (std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
            return finding.severity != Severity::note || finding.kind != FindingKind::pauses;
        }))
        return;
    const std::optional<Busiest> busiest = busiest_of_all(facts);
    if (!busiest) return;
    if (busiest->permille < kFullPermille) {
        const BusyHost host = busiest_host(facts);
        const bool is_host = host.permille >= kNearLimitPermille;
        findings.insert(findings.begin(), is_host ? host_set_the_pace(facts, host)
                                                  : senders_held_back(facts, *busiest));
        return;
    }
    const sim::LinkResult* link = busiest->between;
    if (link == nullptr || !findings.empty() || facts.is_host(link->node) ||
        facts.is_host(link->peer_node))
        return;
    findings.push_back({FindingKind::full_link,
                        Severity::warning,
                        busiest->link,
                        {{"link", busiest->link}, {"busy_permille", busiest->permille}},
                        fmt::format("{} was {} busy with {}: there is too little between the "
                                    "switches for what the hosts send",
                                    busiest->link, percent_text(busiest->permille),
                                    counted(link->flows, "flow"))});
}

}  // namespace tulle::report
