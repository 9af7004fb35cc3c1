// Cables that differ from their like, repair their errors, or were down.
#include "sim/cables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/causes/investigation.h"

namespace tulle::report::causes {
namespace {

constexpr int64_t kFarLonger = 4;  // times the usual cable

}  // namespace

const UsualCable& Investigation::usual(uint32_t cable) const {
    const topology::Graph& graph = facts_.setup.graph;
    return *usual_[is_at_host(graph, graph.cables[cable])];
}

bool Investigation::is_slow(uint32_t cable) const {
    return sim::cable_rate(facts_.setup, cable) < usual(cable).rate;
}

bool Investigation::is_far(uint32_t cable) const {
    return sim::cable_delay(facts_.setup, cable) > usual(cable).delay * kFarLonger;
}

uint64_t Investigation::repair_permille(uint32_t number) const {
    const fabric::LinkSettings& link = facts_.setup.fabric.link;
    if (link.bit_errors != fabric::BitErrors::retransmitted) return 0;
    const topology::Cable& cable = facts_.setup.graph.cables[number];
    const uint64_t bytes = facts_.setup.host.mtu;
    const uint64_t hit_e9 =
        std::min<uint64_t>(1'000'000'000, cable.loss_per_trillion / 1'000 +
                                              link.error_rate_e18 / 1'000'000'000 * bytes * 8);
    const Duration once = sim::cable_rate(facts_.setup, number).time_for(bytes);
    const Duration again =
        once + 2 * (sim::cable_delay(facts_.setup, number) + link.fec_delay) + link.retry.response;
    const auto repairs = static_cast<uint64_t>(again.ps) * hit_e9 / 1'000'000'000;
    return repairs * 1000 / (repairs + static_cast<uint64_t>(once.ps));
}

void Investigation::explain_sent(Place place, topology::CableEnd end, Duration time) {
    const auto repair = static_cast<int64_t>(repair_permille(place / 2));
    const Duration repairs = time * repair / 1000;
    add(CauseKind::link_retries, link_name(end), repairs, retries_text(end), place);
    own_bytes_ += time - repairs;
}

std::optional<uint32_t> Investigation::far_cable() const {
    for (const auto& [place, trouble] : troubles_)
        if (is_far(place / 2) && trouble.propagation.ps != 0) return place / 2;
    return std::nullopt;
}

void Investigation::explain_far(Place place, Duration time) {
    const uint32_t cable = place / 2;
    const Duration delay = sim::cable_delay(facts_.setup, cable);
    const Duration excess{time.ps - time.ps / delay.ps * usual(cable).delay.ps};
    latency_ += time - excess;
    add(CauseKind::long_cable, facts_.names.cable(cable), excess, far_text(cable), place);
}

std::string Investigation::far_text(uint32_t cable) const {
    return fmt::format("the cable {} takes {}, others {}", facts_.names.cable(cable),
                       base::to_string(sim::cable_delay(facts_.setup, cable)),
                       base::to_string(usual(cable).delay));
}

void Investigation::explain_slow(Place place, const Trouble& trouble) {
    const uint32_t cable = place / 2;
    add(CauseKind::slow_cable, facts_.names.cable(cable),
        trouble.contention() + trouble.serialization, slow_text(cable), place);
}

std::string Investigation::slow_text(uint32_t cable) const {
    return fmt::format("the cable {} runs at {}, others at {}", facts_.names.cable(cable),
                       base::to_string(sim::cable_rate(facts_.setup, cable)),
                       base::to_string(usual(cable).rate));
}

bool Investigation::has_fault(sim::Fault::Kind kind, uint32_t subject) const {
    return std::any_of(
        facts_.setup.faults.begin(), facts_.setup.faults.end(),
        [&](const sim::Fault& fault) { return fault.kind == kind && fault.subject == subject; });
}

std::string Investigation::retries_text(topology::CableEnd end) const {
    return fmt::format("bit errors on {}: the link sent packets again", link_name(end));
}

std::optional<std::string> Investigation::first_down() const {
    const sim::Fault* first = nullptr;
    for (const sim::Fault& fault : facts_.setup.faults)
        if ((fault.kind == sim::Fault::Kind::cable_down ||
             fault.kind == sim::Fault::Kind::switch_down) &&
            (first == nullptr || fault.at < first->at))
            first = &fault;
    if (first == nullptr) return std::nullopt;
    return first->kind == sim::Fault::Kind::cable_down ? facts_.names.cable(first->subject)
                                                       : facts_.names.node(first->subject);
}

std::optional<std::string> Investigation::what_was_down(uint32_t number) const {
    const topology::Cable& cable = facts_.setup.graph.cables[number];
    for (const uint32_t node : {cable.a.node, cable.b.node})
        if (has_fault(sim::Fault::Kind::switch_down, node)) return facts_.names.node(node);
    if (has_fault(sim::Fault::Kind::cable_down, number)) return facts_.names.cable(number);
    return std::nullopt;
}

}  // namespace tulle::report::causes
