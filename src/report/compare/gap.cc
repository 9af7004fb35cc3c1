#include "report/compare/gap.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"

namespace tulle::report {
namespace {

using fabric::ShareKind;

constexpr size_t kMostParts = 3;
constexpr int64_t kSmallPart = 20;  // of the gap: smaller parts are summed up

std::map<ShareKind, Duration> sums_of(const ComparedRun& run) {
    std::map<ShareKind, Duration> sums;
    for (const sim::TimeShare& share : run.facts->result.account.shares)
        sums[share.kind] += share.time;
    return sums;
}

// In words, with the place where this run spent most time of that kind.
std::string words_for(const ComparedRun& run, ShareKind kind) {
    for (const ShareRow& row : share_rows(*run.facts))
        if (row.kind == kind) return share_text(row);
    return share_text({kind, "", {}});
}

Duration size_of(Duration time) {
    return time.ps < 0 ? -time : time;
}

}  // namespace

std::vector<GapPart> gap_between(const ComparedRun& run, const ComparedRun& best) {
    if (run.facts->result.account.shares.empty() || best.facts->result.account.shares.empty())
        return {};
    std::map<ShareKind, Duration> more = sums_of(run);
    for (const auto& [kind, time] : sums_of(best)) more[kind] -= time;
    std::vector<GapPart> parts;
    for (const auto& [kind, time] : more)
        if (time.ps != 0) parts.push_back({kind, words_for(time.ps > 0 ? run : best, kind), time});
    std::stable_sort(parts.begin(), parts.end(), [](const GapPart& a, const GapPart& b) {
        return size_of(a.time) > size_of(b.time);
    });
    return parts;
}

std::string gap_text(const std::vector<GapPart>& parts) {
    Duration gap{};
    for (const GapPart& part : parts) gap += part.time;
    std::string text;
    Duration rest = gap;
    size_t named = 0;
    for (const GapPart& part : parts) {
        if (named == kMostParts || size_of(part.time) * kSmallPart < size_of(gap)) break;
        text += fmt::format("{}{} {} for \"{}\"", named == 0 ? "" : ", ",
                            base::to_string(size_of(part.time)), part.time.ps > 0 ? "more" : "less",
                            part.text);
        rest -= part.time;
        ++named;
    }
    if (rest.ps != 0 && named != 0)
        text += fmt::format(", {} {} for all else", base::to_string(size_of(rest)),
                            rest.ps > 0 ? "more" : "less");
    return text;
}

}  // namespace tulle::report
