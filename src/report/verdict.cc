#include "report/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/findings/findings.h"
#include "report/serving_causes.h"

namespace tulle::report {
namespace {

constexpr uint64_t kAtLimitPermille = 950;

std::optional<Sufferer> slowest_flow(const Facts& facts) {
    std::optional<Sufferer> slowest;
    for (size_t i = 0; i < facts.flows(); ++i) {
        const uint64_t slowdown = facts.slowdown_permille(i);
        if (!slowest || slowdown > slowest->slowdown_permille) slowest = Sufferer{i, slowdown};
    }
    return slowest;
}

std::string limit_text(const Verdict& verdict) {
    return fmt::format("{} % of the limit", (verdict.limit_permille + 5) / 10);
}

std::string pace_text(const Verdict& verdict) {
    if (!verdict.bottleneck) return "";
    return fmt::format("; {} set the pace, {} busy", verdict.bottleneck->link,
                       percent_text(verdict.bottleneck->busy_permille));
}

// Unfinished work is the effect; the next finding is the likely cause.
std::string failure_sentence(const std::vector<Finding>& findings) {
    const auto is_effect = [](const Finding& finding) {
        return finding.kind == FindingKind::flows_failed ||
               finding.kind == FindingKind::phases_unfinished;
    };
    const auto cause = std::find_if_not(findings.begin(), findings.end(), is_effect);
    if (!is_effect(findings.front()) || cause == findings.end()) return findings[0].sentence;
    return findings[0].sentence + "; " + cause->sentence;
}

std::string interrupted_sentence(const Facts& facts) {
    if (facts.flows() == 0)
        return fmt::format("interrupted: {} of {} phases had ended", facts.phases_finished(),
                           facts.collectives.size());
    return fmt::format("interrupted: {} of {} flows had ended", facts.succeeded_count(),
                       facts.flows());
}

// A run at the limit was not held up; the first finding set the pace.
std::string cause_sentence(const Facts& facts, const Verdict& verdict) {
    const Cause& cause = verdict.causes.front();
    const Duration whole = facts.result.account.end - Instant{};
    const auto part_of = [&](Duration time) {
        return percent_text(static_cast<uint64_t>(time.ps) * 1000 /
                            static_cast<uint64_t>(whole.ps));
    };
    const std::string alike =
        cause.places == 1
            ? ""
            : fmt::format("; {} with {}", part_of(cause.alike),
                          cause.places == 2 ? "another place alike"
                                            : fmt::format("{} others alike", cause.places - 1));
    const std::string text =
        fmt::format("{} ({} of the time{})", cause.sentence, part_of(cause.time), alike);
    if (verdict.limit_permille >= kAtLimitPermille)
        return fmt::format("nothing held it up: {}; {}", limit_text(verdict), text);
    return fmt::format("{}: {}", limit_text(verdict), text);
}

// The kinds of cause that a finding of this kind corresponds to.
bool agrees(FindingKind finding, CauseKind cause) {
    switch (finding) {
        case FindingKind::losses:
        case FindingKind::no_route:
            return cause >= CauseKind::lossy_cable && cause <= CauseKind::head_of_queue;
        case FindingKind::needless_resending:
            return cause == CauseKind::reordering || cause == CauseKind::early_timeout;
        case FindingKind::host_set_the_pace: return cause == CauseKind::host_bus;
        case FindingKind::dcbx_disagreement: return cause == CauseKind::settings_disagree;
        case FindingKind::slow_receiver:
            return cause == CauseKind::slow_receiver || cause == CauseKind::pause_storm;
        default: return cause <= CauseKind::congestion_control;
    }
}

// These report flows that suffer, whether or not they decide the end of the run.
bool is_about_others(FindingKind kind) {
    return kind == FindingKind::victims || kind == FindingKind::noisy_neighbour;
}

// A finding that explains less than a tenth of the time above the limit is a note.
void weigh(const Facts& facts, Verdict& verdict) {
    if (verdict.causes.empty()) return;
    const Duration lost = facts.span - std::min(facts.span, facts.limit);
    for (Finding& finding : verdict.findings) {
        if (finding.severity == Severity::failure || is_about_others(finding.kind)) continue;
        Duration time{};
        for (const Cause& cause : verdict.causes)
            if (agrees(finding.kind, cause.kind)) time += cause.time;
        if (time * 10 < lost || lost.ps == 0) finding.severity = Severity::note;
    }
}

std::string sentence_of(const Facts& facts, const Verdict& verdict) {
    if (!facts.has_work()) return "there was nothing to do";
    if (facts.result.end == sim::Result::End::interrupted) return interrupted_sentence(facts);
    if (!verdict.findings.empty() && !verdict.complete) return failure_sentence(verdict.findings);
    if (!verdict.causes.empty()) return cause_sentence(facts, verdict);
    if (only_serves(facts))
        return fmt::format("{}: {}", limit_text(verdict), serving_sentence(facts.servings.front()));
    if (!verdict.findings.empty())
        return fmt::format("{}: {}", limit_text(verdict), verdict.findings.front().sentence);
    if (verdict.limit_permille < kAtLimitPermille)
        return fmt::format("{}: where the rest of its time went is not followed for this work",
                           limit_text(verdict));
    return fmt::format("nothing held it up: {}{}", limit_text(verdict), pace_text(verdict));
}

}  // namespace

Verdict judge(const Facts& facts) {
    Verdict verdict;
    verdict.complete = facts.is_complete();
    verdict.limit_permille = limit_permille(facts);
    if (const sim::LinkResult* link = busiest_link(facts))
        verdict.bottleneck = Bottleneck{facts.names.link(*link), facts.busy_permille(*link)};
    verdict.slowest = slowest_flow(facts);

    std::vector<Finding>& findings = verdict.findings;
    find_deadlock(facts, findings);
    find_failed_flows(facts, findings);
    find_unfinished_phases(facts, findings);
    find_violations(facts, findings);
    find_pauses(facts, findings);
    find_losses(facts, findings);
    find_repairs(facts, findings);
    find_uneven_paths(facts, findings);
    find_idle_paths(facts, findings);
    find_pfc_only_brake(facts, findings);
    find_needless_resending(facts, findings);
    find_noisy_neighbour(facts, findings);
    find_disagreements(facts, findings);
    find_pace(facts, findings);
    verdict.causes = find_causes(facts);
    weigh(facts, verdict);
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    verdict.sentence = sentence_of(facts, verdict);
    return verdict;
}

const char* kind_name(FindingKind kind) {
    switch (kind) {
        case FindingKind::deadlock: return "deadlock";
        case FindingKind::flows_failed: return "flows_failed";
        case FindingKind::phases_unfinished: return "phases_unfinished";
        case FindingKind::slow_receiver: return "slow_receiver";
        case FindingKind::pauses: return "pauses";
        case FindingKind::victims: return "victims";
        case FindingKind::uneven_paths: return "uneven_paths";
        case FindingKind::idle_paths: return "idle_paths";
        case FindingKind::losses: return "losses";
        case FindingKind::no_route: return "no_route";
        case FindingKind::pfc_only_brake: return "pfc_only_brake";
        case FindingKind::needless_resending: return "needless_resending";
        case FindingKind::noisy_neighbour: return "noisy_neighbour";
        case FindingKind::dcbx_disagreement: return "dcbx_disagreement";
        case FindingKind::other_tenant: return "other_tenant";
        case FindingKind::full_link: return "full_link";
        case FindingKind::host_set_the_pace: return "host_set_the_pace";
        case FindingKind::senders_held_back: return "senders_held_back";
    }
    return "unknown";
}

const char* severity_name(Severity severity) {
    switch (severity) {
        case Severity::note: return "note";
        case Severity::warning: return "warning";
        case Severity::failure: return "failure";
    }
    return "unknown";
}

}  // namespace tulle::report
