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

constexpr int64_t kFullPermille = 700;  // of the run: a link above this was full

bool was_full(const Facts& facts, topology::CableEnd end) {
    const sim::LinkResult* link = facts.link_at(end.node, end.port);
    const Duration whole = facts.result.account.end - facts.begin;
    return link != nullptr && link->busy * 1000 >= whole * kFullPermille;
}

// What a share was spent on. Flow control moves a wait to another place: who is held because a full
// link has a full buffer waits for the packets before that link, and who is held by a host waits
// for the host's memory if that is slow.
ShareKind kind_of(const Facts& facts, const sim::TimeShare& share) {
    const bool is_held_for_port = share.kind == ShareKind::held && share.place != fabric::kNowhere;
    if (!is_held_for_port || share.tier != workload::Tier::scale_out) return share.kind;
    const topology::CableEnd end = end_at(facts.setup, share.place);
    if (!facts.is_host(end.node)) return was_full(facts, end) ? ShareKind::queue : share.kind;
    return facts.setup.host_of(end.node).receive_toll.is_free() ? share.kind : ShareKind::bus;
}

struct Spent {
    std::map<ShareKind, Duration> by_kind;
    std::map<ShareKind, std::map<std::string, Duration>> by_place;

    explicit Spent(const Facts& facts) {
        for (const sim::TimeShare& share : facts.result.account.shares) {
            const ShareKind kind = kind_of(facts, share);
            by_kind[kind] += share.time;
            by_place[kind][share_place(facts, share)] += share.time;
        }
    }

    // In words, with the place where most time of that kind was spent.
    std::string words_for(ShareKind kind) const {
        const auto places = by_place.find(kind);
        if (places == by_place.end()) return share_text({kind, "", {}});
        const auto most = std::ranges::max_element(places->second, {},
                                                   [](const auto& place) { return place.second; });
        return share_text({kind, most->first, {}});
    }
};

Duration size_of(Duration time) {
    return time.ps < 0 ? -time : time;
}

}  // namespace

std::vector<GapPart> gap_between(const ComparedRun& run, const ComparedRun& best) {
    if (run.facts->result.account.shares.empty() || best.facts->result.account.shares.empty())
        return {};
    const Spent here(*run.facts);
    const Spent there(*best.facts);
    std::map<ShareKind, Duration> more = here.by_kind;
    for (const auto& [kind, time] : there.by_kind) more[kind] -= time;
    std::vector<GapPart> parts;
    for (const auto& [kind, time] : more)
        if (time.ps != 0)
            parts.push_back({kind, (time.ps > 0 ? here : there).words_for(kind), time});
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
