#include "report/causes/cables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "sim/cables.h"

namespace tulle::report::causes {
namespace {

constexpr int64_t kFarLonger = 4;      // than the usual cable
constexpr uint64_t kSample = 1 << 20;  // bytes by which rates are compared

bool goes_down(const sim::Fault& fault) {
    return fault.kind == sim::Fault::Kind::cable_down ||
           fault.kind == sim::Fault::Kind::switch_down;
}

}  // namespace

const UsualCable& Cables::usual(uint32_t cable) const {
    const topology::Graph& graph = facts_.setup.graph;
    return *usual_[is_at_host(graph, graph.cables[cable])];
}

bool Cables::is_slow(uint32_t cable) const {
    return sim::cable_rate(facts_.setup, cable) < usual(cable).rate;
}

bool Cables::is_far(uint32_t cable) const {
    return sim::cable_delay(facts_.setup, cable) > usual(cable).delay * kFarLonger;
}

Duration slow_part(Duration time, base::Rate rate, base::Rate usual) {
    const Duration own = rate.time_for(kSample);
    return time * ((own - usual.time_for(kSample)).ps * 1000 / own.ps) / 1000;
}

Duration Cables::excess_of(uint32_t cable, Duration time) const {
    return slow_part(time, sim::cable_rate(facts_.setup, cable), usual(cable).rate);
}

uint64_t Cables::usual_permille(uint32_t cable, uint64_t busy_permille) const {
    const Duration own = sim::cable_rate(facts_.setup, cable).time_for(kSample);
    const Duration other = usual(cable).rate.time_for(kSample);
    return busy_permille * static_cast<uint64_t>(other.ps) / static_cast<uint64_t>(own.ps);
}

Errors errors_at(const sim::Setup& setup, fabric::Place place) {
    Errors errors{setup.graph.cables[place / 2].loss_per_trillion,
                  setup.fabric.link.error_rate_e18};
    for (const sim::CableErrors& own : setup.cable_errors) {
        if (own.cable != place / 2 || !(place % 2 == 0 ? own.from_a : own.from_b)) continue;
        errors.loss_per_trillion = own.loss_per_trillion.value_or(errors.loss_per_trillion);
        errors.error_rate_e18 = own.error_rate_e18.value_or(errors.error_rate_e18);
    }
    return errors;
}

uint64_t Cables::repair_permille(fabric::Place place) const {
    const fabric::LinkSettings& link = facts_.setup.fabric.link;
    if (link.bit_errors != fabric::BitErrors::retransmitted) return 0;
    const uint32_t number = place / 2;
    const Errors errors = errors_at(facts_.setup, place);
    const uint64_t bytes = facts_.setup.host.mtu;
    const uint64_t hit_e9 =
        std::min<uint64_t>(1'000'000'000, errors.loss_per_trillion / 1'000 +
                                              errors.error_rate_e18 * bytes / 1'000'000'000 * 8);
    const Duration once = sim::cable_rate(facts_.setup, number).time_for(bytes);
    const Duration again =
        once + 2 * (sim::cable_delay(facts_.setup, number) + link.fec_delay) + link.retry.response;
    const auto repairs = static_cast<uint64_t>(again.ps) * hit_e9 / 1'000'000'000;
    return repairs * 1000 / (repairs + static_cast<uint64_t>(once.ps));
}

std::string Cables::far_text(uint32_t cable) const {
    return fmt::format("the cable {} takes {}, others {}", facts_.names.cable(cable),
                       base::to_string(sim::cable_delay(facts_.setup, cable)),
                       base::to_string(usual(cable).delay));
}

std::string Cables::slow_text(uint32_t cable) const {
    return fmt::format("the cable {} runs at {}, others at {}", facts_.names.cable(cable),
                       base::to_string(sim::cable_rate(facts_.setup, cable)),
                       base::to_string(usual(cable).rate));
}

bool Cables::has_fault(sim::Fault::Kind kind, uint32_t subject) const {
    return std::any_of(facts_.setup.faults.begin(), facts_.setup.faults.end(),
                       [&](const sim::Fault& fault) {
                           return fault.kind == kind && fault.subject == subject &&
                                  fault.at < facts_.result.account.end;
                       });
}

std::optional<std::string> Cables::first_down(uint32_t node) const {
    const sim::Fault* first = nullptr;
    bool is_beside = false;
    for (const sim::Fault& fault : facts_.setup.faults) {
        if (!goes_down(fault) || fault.at >= facts_.result.account.end) continue;
        const bool is_own = touches(fault, node);
        if (first != nullptr && (is_beside != is_own ? is_beside : first->at <= fault.at)) continue;
        first = &fault;
        is_beside = is_own;
    }
    if (first == nullptr) return std::nullopt;
    return first->kind == sim::Fault::Kind::cable_down ? facts_.names.cable(first->subject)
                                                       : facts_.names.node(first->subject);
}

bool Cables::touches(const sim::Fault& fault, uint32_t node) const {
    const auto is_end_of = [&](const topology::Cable& cable, uint32_t end) {
        return cable.a.node == end || cable.b.node == end;
    };
    const auto& cables = facts_.setup.graph.cables;
    if (fault.kind == sim::Fault::Kind::cable_down) return is_end_of(cables[fault.subject], node);
    return fault.subject == node || std::ranges::any_of(cables, [&](const topology::Cable& cable) {
               return is_end_of(cable, node) && is_end_of(cable, fault.subject);
           });
}

std::optional<std::string> Cables::what_cuts_off(uint32_t host) const {
    for (const auto& link : facts_.names.ports().of(host))
        if (link.is_cabled())
            if (auto down = what_was_down(link.cable)) return down;
    return std::nullopt;
}

std::optional<std::string> Cables::what_was_down(uint32_t number) const {
    const topology::Cable& cable = facts_.setup.graph.cables[number];
    for (const uint32_t node : {cable.a.node, cable.b.node})
        if (has_fault(sim::Fault::Kind::switch_down, node)) return facts_.names.node(node);
    if (has_fault(sim::Fault::Kind::cable_down, number)) return facts_.names.cable(number);
    return std::nullopt;
}

}  // namespace tulle::report::causes
