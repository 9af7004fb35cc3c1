// Links with more traffic than they can carry, and the reason.
#include <fmt/format.h>

#include <algorithm>

#include "base/words.h"
#include "report/causes/investigation.h"
#include "sim/cables.h"

namespace tulle::report::causes {
namespace {

constexpr uint64_t kIdlePart = 800;  // of the fullest: below it an equal path had room to spare

}  // namespace

void Investigation::explain_full(Place place, topology::CableEnd end, Duration time,
                                 uint64_t busy) {
    const std::vector<Pair> pairs = crossings_.data_pairs_at(place);
    const sim::LinkResult* link = facts_.link_at(end.node, end.port);
    const bool to_host = link != nullptr && facts_.is_host(link->peer_node);
    if (const auto last = to_host ? std::nullopt : links_.only_receiver(place, pairs)) {
        const topology::CableEnd there = end_at(facts_.setup, *last);
        return explain_full(*last, there, time, links_.busy_permille(there));
    }
    if (!to_host) time = explain_receiver(pairs, time);
    const Sharers sharers = crossings_.sharers_at(place);
    const bool is_mine = crossings_.crosses_chain(place);
    const bool is_of_own = is_mine || (!to_host && sharers.own_pairs != 0);
    const std::set<Place> equals =
        to_host || !is_of_own ? std::set<Place>{} : links_.equals_of(end, pairs, is_mine);
    if (is_of_own && explain_uneven(place, end, time, busy, equals)) return;
    if (sharers.is_of_others())
        return add(CauseKind::other_work, links_.name(end), time,
                   fmt::format("{} uses {} too ({} of {} senders, {} busy)",
                               crossings_.work_name(sharers.other), links_.name(end),
                               sharers.other_pairs, pairs.size(), percent_text(busy)),
                   place, {}, sharers.other);
    if (!is_of_own && crossings_.is_crossed(place))
        return add(CauseKind::victim, links_.name(end), time,
                   fmt::format("it stood behind packets for {}, which its own do not cross "
                               "({} busy, {} senders)",
                               links_.name(end), percent_text(busy), pairs.size()),
                   place, link->peer_node);
    if (to_host)
        return add(
            CauseKind::incast, links_.name(end), time,
            fmt::format("{} send to {} at once: {} was {} busy",
                        base::counted(sharers.sources, "host"), facts_.names.node(link->peer_node),
                        links_.name(end), percent_text(busy)),
            place, link->peer_node, {}, link->busy);
    add(CauseKind::oversubscribed, links_.name(end), time,
        fmt::format("{}{} more to carry than it could ({} busy, {}){}", links_.name(end),
                    equals.empty() ? " had" : " and its equals had", percent_text(busy),
                    base::counted(pairs.size(), "flow"),
                    is_mine ? "" : ", and what waited for it held up the rest"),
        place);
}

// Several hosts send to one. Its link would have kept them waiting for as long as it was busy,
// however wide the way to it.
Duration Investigation::explain_receiver(const std::vector<Pair>& pairs, Duration time) {
    const std::optional<Place> last = links_.receiver_of_chain(pairs);
    if (!last || crossings_.sharers_at(*last).sources < 2) return time;
    const topology::CableEnd end = end_at(facts_.setup, *last);
    const Duration rest = std::clamp(idle_time(links_.busy_time(end)), Duration{}, time);
    explain_full(*last, end, time - rest, links_.busy_permille(end));
    return rest;
}

std::optional<Place> Investigation::first_down_of(const std::set<Place>& equals) const {
    const auto down = std::ranges::find_if(
        equals, [&](Place place) { return cables_.what_was_down(place / 2).has_value(); });
    if (down == equals.end()) return std::nullopt;
    return *down;
}

bool Investigation::explain_uneven(Place place, topology::CableEnd end, Duration time,
                                   uint64_t busy, const std::set<Place>& equals) {
    if (equals.empty()) return false;
    uint64_t others = 0;
    if (const auto other = first_down_of(equals)) {
        const std::string down = *cables_.what_was_down(*other / 2);
        add(CauseKind::link_down, down, time,
            fmt::format("{} was down, and {} carried its part too", down, links_.name(end)),
            *other);
        return true;
    }
    for (const Place other : equals) others += links_.busy_permille(end_at(facts_.setup, other));
    if (others * 1000 >= busy * kIdlePart * equals.size()) return false;
    const Sharers sharers = crossings_.sharers_at(place);
    const std::string beside =
        sharers.is_of_others()
            ? fmt::format(", those of {} among them", crossings_.work_name(sharers.other))
            : "";
    add(CauseKind::uneven_paths, links_.name(end), time,
        fmt::format("{} flows met on {} ({} busy){}, while {} {} busy on average",
                    crossings_.data_pairs_at(place).size(), links_.name(end), percent_text(busy),
                    beside,
                    equals.size() == 1 ? "1 equal path was"
                                       : fmt::format("{} equal paths were", equals.size()),
                    percent_text(others / equals.size())),
        place);
    return true;
}

}  // namespace tulle::report::causes
