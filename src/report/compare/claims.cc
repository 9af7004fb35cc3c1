#include "report/compare/claims.h"

#include <fmt/format.h>

#include "base/units.h"
#include "report/compare/gap.h"

namespace tulle::report {
namespace {

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
            {field(index, "verdict/span_ns"), field(index, "verdict/limit_ratio")},
            {}};
}

Claim alike(const Comparison& comparison, size_t index, size_t best) {
    const ComparedRun& run = comparison.runs[index];
    const uint64_t behind = behind_permille(run, comparison.runs[best]);
    return {ClaimKind::alike,
            index,
            behind == 0 ? fmt::format("{} is as fast", run.fabric)
                        : fmt::format("{} is as fast: {}", run.fabric, behind_text(behind)),
            {field(index, "verdict/span_ns"), field(best, "verdict/span_ns")},
            {}};
}

// The reason is the difference of what both runs spent their time on.
Claim behind(const Comparison& comparison, size_t index, size_t best) {
    const ComparedRun& run = comparison.runs[index];
    Claim claim{ClaimKind::behind,
                index,
                fmt::format("{} takes {}", run.fabric,
                            behind_text(behind_permille(run, comparison.runs[best]))),
                {field(index, "verdict/span_ns"), field(best, "verdict/span_ns")},
                gap_between(run, comparison.runs[best])};
    if (claim.parts.empty()) {
        claim.sentence += ": " + run.verdict.sentence;
        claim.evidence.push_back(field(index, "verdict/sentence"));
        return claim;
    }
    claim.sentence += ": " + gap_text(claim.parts);
    for (const size_t of : {index, best}) claim.evidence.push_back(field(of, "time/shares"));
    if (!run.verdict.causes.empty() && run.verdict.causes.front().avoidable.ps > 0) {
        claim.sentence += fmt::format("; {}", run.verdict.causes.front().sentence);
        claim.evidence.push_back(field(index, "verdict/causes"));
    }
    return claim;
}

Claim failed(const Comparison& comparison, size_t index) {
    const ComparedRun& run = comparison.runs[index];
    return {ClaimKind::failed,
            index,
            fmt::format("{} did not complete the work: {}", run.fabric, run.verdict.sentence),
            {field(index, "verdict/complete"), field(index, "verdict/sentence")},
            {}};
}

}  // namespace

std::vector<Claim> claims_of(const Comparison& comparison, const std::string& value) {
    std::vector<Claim> claims;
    const std::vector<size_t> order = comparison.ranking(value);
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
            claims.push_back(behind(comparison, index, order.front()));
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
