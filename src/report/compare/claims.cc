#include "report/compare/claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/int128.h"
#include "base/units.h"
#include "report/findings/findings.h"

namespace tulle::report {
namespace {

constexpr size_t kMostReasons = 2;
// What is worth being a reason: noticeable by itself, and clearly more than the best has of it.
constexpr uint64_t kTimesMore = 2;
constexpr uint64_t kBusyCoresPermille = 100;
constexpr uint64_t kHeadersPermille = 10;
constexpr int64_t kPausedPart = 100;  // of the run, summed over its links
constexpr uint64_t kSlowerMessages = 1200;

struct Reason {
    std::string text;
    std::vector<std::string> fields;  // below the run
};

using Reasons = std::vector<Reason>;
// The best, and those as fast: what they have too is no reason.
using Leaders = std::vector<const ComparedRun*>;

uint64_t median(const ComparedRun& run) {
    return run.latency.percentile(1, 2);
}

std::string latency_text(uint64_t picoseconds) {
    return base::to_string(Duration{static_cast<int64_t>(picoseconds)});
}

template <class Value>
uint64_t most_of(const Leaders& leaders, Value&& value) {
    uint64_t most = 0;
    for (const ComparedRun* leader : leaders) most = std::max(most, value(*leader));
    return most;
}

void add_losses(const ComparedRun& run, const Leaders& leaders, Reasons& reasons) {
    const uint64_t drops = run.facts->drops();
    const uint64_t again = run.facts->result.totals.retransmitted;
    const uint64_t usual = most_of(leaders, [](const auto& one) { return one.facts->drops(); });
    if (drops <= kTimesMore * usual || again == 0) return;
    reasons.push_back({fmt::format("it lost {} and sent {} again", counted(drops, "packet"), again),
                       {"totals/dropped", "totals/retransmitted"}});
}

void add_processors(const ComparedRun& run, const Leaders& leaders, Reasons& reasons) {
    const auto cores = [](const ComparedRun& one) { return one.facts->busy_cores_permille(); };
    if (cores(run) < kBusyCoresPermille || cores(run) <= kTimesMore * most_of(leaders, cores))
        return;
    reasons.push_back(
        {fmt::format("processors carry its data: {} of their time, {} cores busy in each server",
                     base::to_string(run.facts->result.cpu), ratio_text(cores(run))),
         {"host/cpu_us", "host/cpu_cores_per_server"}});
}

// A lack of credits is part of how InfiniBand works, a pause is not: only alike is compared.
void add_pauses(const ComparedRun& run, const Leaders& leaders, Reasons& reasons) {
    const auto paused = [](const ComparedRun& one) {
        return static_cast<uint64_t>(one.facts->result.totals.paused.ps);
    };
    const uint64_t usual = most_of(leaders, [&](const ComparedRun& one) {
        const bool is_alike =
            one.facts->setup.fabric.flow_control == run.facts->setup.fabric.flow_control;
        return is_alike ? paused(one) : 0;
    });
    if (paused(run) * kPausedPart < static_cast<uint64_t>(run.facts->span.ps) ||
        paused(run) <= kTimesMore * usual)
        return;
    reasons.push_back({fmt::format("its links {} for {} in all",
                                   run.facts->has_credits() ? "waited for credits" : "were paused",
                                   base::to_string(run.facts->result.totals.paused)),
                       {"totals/paused_ns", "totals/held_up_by"}});
}

// What a run complains of by itself. A note only tells: it is no reason.
const Finding* complaint(const ComparedRun& run, FindingKind kind) {
    const auto place = std::find_if(
        run.verdict.findings.begin(), run.verdict.findings.end(), [&](const Finding& finding) {
            return finding.kind == kind && finding.severity != Severity::note;
        });
    return place == run.verdict.findings.end() ? nullptr : &*place;
}

// None where a leader has the same complaint.
const Finding* own_complaint(const ComparedRun& run, FindingKind kind, const Leaders& leaders) {
    const bool is_usual = std::any_of(leaders.begin(), leaders.end(), [&](const ComparedRun* one) {
        return complaint(*one, kind) != nullptr;
    });
    return is_usual ? nullptr : complaint(run, kind);
}

void add_finding(FindingKind kind, const char* words, const ComparedRun& run,
                 const Leaders& leaders, Reasons& reasons) {
    if (own_complaint(run, kind, leaders) != nullptr)
        reasons.push_back({words, {"verdict/findings"}});
}

void add_settings(const ComparedRun& run, const Leaders& leaders, Reasons& reasons) {
    add_finding(FindingKind::pfc_only_brake,
                "pauses were its only brake, since marks came too late", run, leaders, reasons);
    add_finding(FindingKind::needless_resending, "it sent packets again although none was lost",
                run, leaders, reasons);
}

void add_paths(const ComparedRun& run, const Leaders& leaders, Reasons& reasons) {
    add_finding(FindingKind::uneven_paths, "its equal paths were not used equally", run, leaders,
                reasons);
}

template <class Value>
const Value* field_of(const Finding& finding, std::string_view name) {
    for (const Field& field : finding.fields)
        if (field.name == name) return std::get_if<Value>(&field.value);
    return nullptr;
}

using Names = std::vector<std::string>;

// The phase of those named that lost most against the fastest run.
struct Delayed {
    size_t phase = 0;
    uint64_t times_permille = 0;
};

Delayed most_delayed(const Names& names, const ComparedRun& run, const ComparedRun& best) {
    const auto& own = run.facts->collectives;
    const auto& others = best.facts->collectives;
    Delayed most;
    for (size_t i = 0; i < std::min(own.size(), others.size()); ++i) {
        if (std::find(names.begin(), names.end(), own[i].name) == names.end()) continue;
        if (others[i].time.ps <= 0) continue;
        const auto times =
            static_cast<uint64_t>(base::uint128_t{static_cast<uint64_t>(own[i].time.ps)} * 1000 /
                                  static_cast<uint64_t>(others[i].time.ps));
        if (times > most.times_permille) most = {i, times};
    }
    return most;
}

// Those who share the lane of a congested port wait, whoever they send to.
void add_victims(const ComparedRun& run, const Leaders& leaders, Reasons& reasons) {
    const Finding* finding = own_complaint(run, FindingKind::victims, leaders);
    if (finding == nullptr) return;
    const auto* phases = field_of<Names>(*finding, "phases");
    const auto* filled_by = field_of<Names>(*finding, "filled_by");
    const auto* ports = field_of<uint64_t>(*finding, "ports");
    const Delayed delayed =
        phases == nullptr ? Delayed{} : most_delayed(*phases, run, *leaders.front());
    if (delayed.times_permille < kSlowerMessages || filled_by == nullptr || ports == nullptr) {
        reasons.push_back(
            {"messages stood behind others that wait for a congested port", {"verdict/findings"}});
        return;
    }
    reasons.push_back(
        {fmt::format("{} filled {}, and {} spread to {}: {} took {} times as long as on {}",
                     fmt::join(*filled_by, ", "), finding->culprit,
                     run.facts->has_credits() ? "lack of credits" : "pauses",
                     counted(*ports, "port"), run.facts->collectives[delayed.phase].name,
                     ratio_text(delayed.times_permille), leaders.front()->fabric),
         {"verdict/findings", fmt::format("collectives/{}/time_us", delayed.phase)}});
}

void add_notifications(const ComparedRun& run, const Leaders& leaders, Reasons& reasons) {
    const auto cnps = [](const ComparedRun& one) { return one.facts->result.totals.cnps; };
    if (cnps(run) == 0 || cnps(run) <= kTimesMore * most_of(leaders, cnps)) return;
    reasons.push_back({fmt::format("congestion control slowed its senders: {}, {}",
                                   counted(run.facts->result.totals.ecn_marked, "mark"),
                                   counted(cnps(run), "CNP")),
                       {"totals/ecn_marked", "totals/cnps"}});
}

void add_latency(const ComparedRun& run, const Leaders& leaders, Reasons& reasons) {
    const uint64_t usual = most_of(leaders, median);
    if (usual == 0 || median(run) * 1000 < usual * kSlowerMessages) return;
    reasons.push_back({fmt::format("half of its messages take longer than {}, of {}'s {}",
                                   latency_text(median(run)), leaders.front()->fabric,
                                   latency_text(median(*leaders.front()))),
                       {"messages/p50_ns"}});
}

void add_headers(const ComparedRun& run, const Leaders& leaders, Reasons& reasons) {
    const auto headers = [](const ComparedRun& one) { return one.facts->header_permille(); };
    if (headers(run) < most_of(leaders, headers) + kHeadersPermille) return;
    reasons.push_back(
        {fmt::format("headers come to {} of its data, of {}'s to {}", percent_text(headers(run)),
                     leaders.front()->fabric, percent_text(headers(*leaders.front()))),
         {"host/header_ratio"}});
}

// The likeliest first.
Reasons reasons_for(const ComparedRun& run, const Leaders& leaders) {
    Reasons reasons;
    for (const auto add : {add_losses, add_processors, add_victims, add_settings, add_pauses,
                           add_notifications, add_paths, add_latency, add_headers})
        add(run, leaders, reasons);
    if (reasons.empty()) reasons.push_back({run.verdict.sentence, {"verdict/sentence"}});
    if (reasons.size() > kMostReasons) reasons.resize(kMostReasons);
    return reasons;
}

std::string field(size_t run, const std::string& name) {
    return fmt::format("/runs/{}/{}", run, name);
}

std::string behind_text(uint64_t permille) {
    if (permille >= 1000) return fmt::format("{} times as long", ratio_text(permille + 1000));
    return fmt::format("{} longer", percent_text(permille));
}

Claim fastest(const Comparison& comparison, size_t index) {
    const ComparedRun& run = comparison.runs[index];
    return {ClaimKind::fastest,
            index,
            fmt::format("{} is fastest: {}, {} % of the limit", run.fabric,
                        base::to_string(run.facts->span), (run.verdict.limit_permille + 5) / 10),
            {field(index, "verdict/span_ns"), field(index, "verdict/limit_ratio")}};
}

Claim alike(const Comparison& comparison, size_t index, size_t best) {
    const ComparedRun& run = comparison.runs[index];
    return {ClaimKind::alike,
            index,
            fmt::format("{} is as fast: {}", run.fabric,
                        behind_text(behind_permille(run, comparison.runs[best]))),
            {field(index, "verdict/span_ns"), field(best, "verdict/span_ns")}};
}

Claim behind(const Comparison& comparison, size_t index, size_t best, const Leaders& leaders) {
    const ComparedRun& run = comparison.runs[index];
    Claim claim{ClaimKind::behind,
                index,
                fmt::format("{} takes {}", run.fabric,
                            behind_text(behind_permille(run, comparison.runs[best]))),
                {field(index, "verdict/span_ns"), field(best, "verdict/span_ns")}};
    const char* joint = ": ";
    for (const Reason& reason : reasons_for(run, leaders)) {
        claim.sentence.append(joint).append(reason.text);
        joint = "; ";
        for (const std::string& name : reason.fields)
            for (const size_t of : {index, best}) claim.evidence.push_back(field(of, name));
    }
    return claim;
}

Claim failed(const Comparison& comparison, size_t index) {
    const ComparedRun& run = comparison.runs[index];
    return {ClaimKind::failed,
            index,
            fmt::format("{} did not complete the work: {}", run.fabric, run.verdict.sentence),
            {field(index, "verdict/complete"), field(index, "verdict/sentence")}};
}

}  // namespace

std::vector<Claim> claims_of(const Comparison& comparison, const std::string& value) {
    std::vector<Claim> claims;
    const std::vector<size_t> order = comparison.ranking(value);
    Leaders leaders;
    for (const size_t index : order) {
        const ComparedRun& run = comparison.runs[index];
        const bool leads = behind_permille(run, comparison.runs[order.front()]) <= kAlikePermille;
        if (run.verdict.complete && leads) leaders.push_back(&run);
    }
    for (const size_t index : order) {
        const ComparedRun& run = comparison.runs[index];
        const ComparedRun& best = comparison.runs[order.front()];
        if (!run.verdict.complete)
            claims.push_back(failed(comparison, index));
        else if (index == order.front())
            claims.push_back(fastest(comparison, index));
        else if (behind_permille(run, best) <= kAlikePermille)
            claims.push_back(alike(comparison, index, order.front()));
        else
            claims.push_back(behind(comparison, index, order.front(), leaders));
    }
    return claims;
}

const char* claim_name(ClaimKind kind) {
    switch (kind) {
        case ClaimKind::fastest: return "fastest";
        case ClaimKind::alike: return "alike";
        case ClaimKind::behind: return "behind";
        case ClaimKind::failed: return "failed";
    }
    return "unknown";
}

}  // namespace tulle::report
