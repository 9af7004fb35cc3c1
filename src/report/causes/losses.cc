// Where packets were lost, and why.
#include <fmt/format.h>

#include <algorithm>

#include "report/causes/investigation.h"

namespace tulle::report::causes {
namespace {

using fabric::Drop;

}  // namespace

void Investigation::explain_loss() {
    const Duration time = nowhere_[ShareKind::loss];
    if (time.ps == 0) return;
    const sim::TimeAccount::Loss* most = nullptr;
    for (const auto& loss : account_.losses)
        if (most == nullptr || loss.packets > most->packets) most = &loss;
    if (most == nullptr) return explain_resending(time);
    const topology::CableEnd end = end_at(facts_.setup, most->place);
    add(kind_of(*most), place_of_loss(*most), time,
        fmt::format("{} of its packets were lost at {} ({})", most->packets, link_name(end),
                    drop_name(most->cause)),
        most->place);
}

CauseKind Investigation::kind_of(const sim::TimeAccount::Loss& loss) const {
    switch (loss.cause) {
        case Drop::buffer_full:
            return facts_.result.disagreements.empty() ? CauseKind::buffer_overflow
                                                       : CauseKind::settings_disagree;
        case Drop::headroom_full:
            if (facts_.result.totals.watchdog_fired != 0) return CauseKind::watchdog;
            return facts_.result.disagreements.empty() ? CauseKind::headroom_overflow
                                                       : CauseKind::settings_disagree;
        case Drop::corrupted: return CauseKind::lossy_cable;
        case Drop::link_down: return CauseKind::link_down;
        case Drop::no_route:
        case Drop::hop_limit: return first_down() ? CauseKind::link_down : CauseKind::no_route;
        case Drop::head_of_queue: return CauseKind::head_of_queue;
        case Drop::watchdog: return CauseKind::watchdog;
    }
    return CauseKind::unexplained;
}

std::string Investigation::place_of_loss(const sim::TimeAccount::Loss& loss) const {
    const topology::CableEnd end = end_at(facts_.setup, loss.place);
    switch (kind_of(loss)) {
        case CauseKind::lossy_cable: return facts_.names.cable(loss.place / 2);
        case CauseKind::link_down:
            if (loss.cause != Drop::link_down) return *first_down();
            return what_was_down(loss.place / 2).value_or(facts_.names.cable(loss.place / 2));
        case CauseKind::watchdog: return link_name(watchdog_at(end));
        case CauseKind::settings_disagree: return facts_.names.cable(disagreement_at(end.node));
        default: return link_name(end);
    }
}

uint32_t Investigation::disagreement_at(uint32_t node) const {
    for (const sim::Disagreement& found : facts_.result.disagreements) {
        const topology::Cable& cable = facts_.setup.graph.cables[found.cable];
        if (cable.a.node == node || cable.b.node == node) return found.cable;
    }
    return facts_.result.disagreements.front().cable;
}

topology::CableEnd Investigation::watchdog_at(topology::CableEnd end) const {
    uint64_t most = 0;
    for (const sim::LinkResult& link : facts_.result.links)
        if (const uint64_t lost = link.dropped[static_cast<size_t>(Drop::watchdog)]; lost > most) {
            most = lost;
            end = {link.node, link.port};
        }
    return end;
}

void Investigation::explain_resending(Duration time) {
    const bool reorders = facts_.setup.fabric.route.choice != fabric::PathChoice::ecmp;
    if (reorders)
        return add(CauseKind::reordering, "", time,
                   "packets took several paths, and what came out of order was taken for lost");
    add(CauseKind::early_timeout, "", time,
        "packets were sent again although none was lost: answers came after the timeout");
}

}  // namespace tulle::report::causes
