// What was lost, where most of it was lost, and the likeliest reason.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/findings/findings.h"

namespace tulle::report {
namespace {

using sim::Drop;
using sim::LinkResult;

const LinkResult* most_drops(const Facts& facts, Drop cause) {
    const LinkResult* most = nullptr;
    const auto index = static_cast<size_t>(cause);
    for (const LinkResult& link : facts.result.links)
        if (link.dropped[index] != 0 &&
            (most == nullptr || link.dropped[index] > most->dropped[index]))
            most = &link;
    return most;
}

// What may still arrive after a pause frame is sent: the round trip of the cable, the sender's
// reaction time, and a packet that each end had already begun.
uint64_t headroom_needed(const Facts& facts, const LinkResult& link) {
    const sim::Setup& setup = facts.setup;
    const base::Duration waiting =
        (cable_delay(setup, link.cable) + setup.fabric.link.fec_delay) * 2 +
        setup.fabric.pfc.response_time;
    const uint64_t packet = data_wire_bytes(setup, sim::Verb::write, setup.host.mtu, true, false);
    return cable_rate(setup, link.cable).bytes_in(waiting) + 2 * packet;
}

std::string buffer_reason(const Facts& facts) {
    switch (facts.setup.fabric.flow_control) {
        case fabric::FlowControl::none:
            return "the fabric has no flow control, and senders were not slowed in time";
        case fabric::FlowControl::pfc: return "the queue's priority is not one that PFC protects";
        case fabric::FlowControl::credits: break;
    }
    return "more arrived than the buffer holds";
}

std::string headroom_reason(const Facts& facts, const LinkResult* link) {
    const uint64_t set = facts.setup.fabric.pfc.headroom_bytes;
    if (link == nullptr || set == 0) return "PFC paused too late for the cable";
    return fmt::format("the headroom is {}, but the cable needs about {}",
                       base::bytes_to_string(set),
                       base::bytes_to_string(headroom_needed(facts, *link)));
}

std::string down_reason(const Facts& facts) {
    for (const sim::Fault& fault : facts.setup.faults) {
        if (fault.kind == sim::Fault::Kind::cable_down)
            return fmt::format("the cable {} went down at {}", facts.names.cable(fault.subject),
                               base::to_string(fault.at - Instant{}));
        if (fault.kind == sim::Fault::Kind::switch_down)
            return fmt::format("switch {} went down at {}", facts.names.node(fault.subject),
                               base::to_string(fault.at - Instant{}));
    }
    return "the cable was down";
}

std::string reason_of(const Facts& facts, Drop cause, const LinkResult* link) {
    switch (cause) {
        case Drop::buffer_full: return buffer_reason(facts);
        case Drop::headroom_full: return headroom_reason(facts, link);
        case Drop::no_route: return "there was no way to the destination; " + down_reason(facts);
        case Drop::link_down: return down_reason(facts);
        case Drop::corrupted: return "bit errors: look at the cable and its transceivers";
        case Drop::head_of_queue:
            return "packets stood at the head of a queue for longer than its lifetime, behind a "
                   "receiver that takes nothing";
        case Drop::watchdog:
            return "the queue was paused for too long, and the watchdog cleared it";
        case Drop::hop_limit: return "packets went in a circle: the routes have a loop";
        case Drop::other_tenant: break;  // told by find_violations()
    }
    return "";
}

const char* cause_text(Drop cause) {
    switch (cause) {
        case Drop::buffer_full: return "a full buffer";
        case Drop::headroom_full: return "full headroom";
        case Drop::no_route: return "a missing route";
        case Drop::link_down: return "a link that was down";
        case Drop::corrupted: return "bit errors";
        case Drop::head_of_queue: return "the head-of-queue lifetime";
        case Drop::watchdog: return "the PFC watchdog";
        case Drop::hop_limit: return "the hop limit";
        case Drop::other_tenant: break;
    }
    return "";
}

}  // namespace

namespace {

// Links inside servers lose nothing as a rule, so nothing is sent again there.
void find_losses_inside(const Facts& facts, std::vector<Finding>& findings) {
    if (!facts.result.scale_up || !facts.setup.scale_up) return;
    const auto index = static_cast<size_t>(Drop::corrupted);
    const sim::Result& inside = *facts.result.scale_up;
    const uint64_t lost = inside.totals.dropped[index];
    if (lost == 0) return;
    const auto lost_at = [&](const LinkResult& link) { return link.dropped[index]; };
    const LinkResult& most = *std::ranges::max_element(inside.links, {}, lost_at);
    const std::string where = Names(*facts.setup.scale_up).cable(most.cable);
    const bool stays_lost = facts.setup.scale_up->host.service == sim::Service::unreliable;
    const std::string reason =
        stays_lost ? "bit errors, and nobody sends them again" : "bit errors";
    findings.push_back({FindingKind::losses,
                        Severity::warning,
                        where,
                        {{"cause", std::string(drop_name(Drop::corrupted))},
                         {"packets", lost},
                         {"most_at", where},
                         {"reason", reason}},
                        fmt::format("{} lost inside servers, most of them on the cable {}: {}",
                                    counted(lost, "packet"), where, reason)});
}

}  // namespace

void find_losses(const Facts& facts, std::vector<Finding>& findings) {
    for (size_t i = 0; i < sim::kDropCauses; ++i) {
        const auto cause = static_cast<Drop>(i);
        const uint64_t lost = facts.drops_of(cause);
        if (lost == 0 || cause == Drop::other_tenant) continue;
        const LinkResult* most = most_drops(facts, cause);
        const std::string where = most == nullptr ? "the fabric" : facts.names.link(*most);
        const std::string reason = reason_of(facts, cause, most);
        findings.push_back(
            {FindingKind::losses,
             Severity::warning,
             where,
             {{"cause", std::string(drop_name(cause))},
              {"packets", lost},
              {"most_at", where},
              {"reason", reason}},
             fmt::format("{} lost to {}, most of them at {}: {}", counted(lost, "packet"),
                         cause_text(cause), where, reason)});
    }
    find_losses_inside(facts, findings);
}

}  // namespace tulle::report
