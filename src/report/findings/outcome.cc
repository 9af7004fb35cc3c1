// Runs that did not succeed, and runs that took longer than their links explain.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/findings/findings.h"

namespace tulle::report {
namespace {

constexpr uint64_t kFullPermille = 950;

Finding senders_held_back(const Facts& facts, const std::string& link, uint64_t busy_permille) {
    const sim::Totals& totals = facts.result.totals;
    return {FindingKind::senders_held_back,
            Severity::note,
            link,
            {{"link", link},
             {"busy_permille", busy_permille},
             {"ecn_marked", totals.ecn_marked},
             {"cnps", totals.cnps}},
            fmt::format("no link was full ({} most, {} busy): the senders held back, by congestion "
                        "control ({}, {}), windows or latency",
                        link, percent_text(busy_permille), counted(totals.ecn_marked, "mark"),
                        counted(totals.cnps, "CNP"))};
}

}  // namespace

std::string counted(uint64_t count, const char* thing) {
    return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

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
        unfinished += facts.result.flows[i].finished ? 0 : 1;
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

void find_disagreements(const Facts& facts, std::vector<Finding>& findings) {
    for (const sim::Disagreement& at : facts.result.disagreements) {
        const std::string cable = facts.names.cable(at.cable);
        findings.push_back({FindingKind::dcbx_disagreement,
                            Severity::warning,
                            cable,
                            {{"cable", cable}, {"what", at.what}},
                            fmt::format("the ends of {} are set differently: {}", cable, at.what)});
    }
}

void find_pace(const Facts& facts, std::vector<Finding>& findings) {
    if (!facts.has_work() || limit_permille(facts) >= kNearLimitPermille) return;
    if (std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
            return finding.severity != Severity::note || finding.kind != FindingKind::pauses;
        }))
        return;
    const sim::LinkResult* link = busiest_link(facts);
    if (link == nullptr) return;
    const std::string name = facts.names.link(*link);
    const uint64_t busy = facts.busy_permille(*link);
    if (busy < kFullPermille) {
        findings.insert(findings.begin(), senders_held_back(facts, name, busy));
        return;
    }
    if (!findings.empty() || facts.is_host(link->node) || facts.is_host(link->peer_node)) return;
    findings.push_back({FindingKind::full_link,
                        Severity::warning,
                        name,
                        {{"link", name}, {"busy_permille", busy}},
                        fmt::format("{} was {} busy with {}: there is too little between the "
                                    "switches for what the hosts send",
                                    name, percent_text(busy), counted(link->flows, "flow"))});
}

}  // namespace tulle::report
