#include "report/control.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/findings/findings.h"
#include "report/table.h"

namespace tulle::report {
namespace {

constexpr size_t kMostFaults = 20;

std::string time_without_route(const control::Repair& repair) {
    if (!repair.is_repaired()) return "not repaired";
    if (repair.broken_pairs == 0 && repair.repaired == repair.cause.at) return "-";
    return base::to_string(repair.repaired - repair.cause.at);
}

std::string cut_off_text(const Facts& facts, const control::Repair& repair) {
    if (repair.cut_off.empty()) return "-";
    std::string text;
    for (size_t i = 0; i < std::min(repair.cut_off.size(), kMostNamed); ++i)
        text += (i == 0 ? "" : ", ") + facts.names.endpoint(repair.cut_off[i]);
    if (repair.cut_off.size() > kMostNamed)
        text += fmt::format(" and {} more", repair.cut_off.size() - kMostNamed);
    return text;
}

std::string way_text_of(const Facts& facts) {
    const bool is_manager = facts.setup.control.kind == sim::ControlSettings::Kind::sweep;
    return is_manager ? fmt::format("a subnet manager, engine {}", facts.result.control.way)
                      : facts.result.control.way;
}

}  // namespace

std::string disturbance_text(const Facts& facts, const control::Disturbance& cause) {
    using Kind = control::Disturbance::Kind;
    switch (cause.kind) {
        case Kind::cable_down: return facts.names.cable(cause.subject) + " went down";
        case Kind::cable_up: return facts.names.cable(cause.subject) + " came back";
        case Kind::switch_down: return facts.names.node(cause.subject) + " went down";
        case Kind::switch_up: return facts.names.node(cause.subject) + " came back";
        case Kind::manager_down: return "the subnet manager died";
    }
    return "";
}

uint64_t lost_by_fault(const sim::RepairResult& repair) {
    uint64_t lost = 0;
    for (const sim::Drop cause : {sim::Drop::link_down, sim::Drop::no_route, sim::Drop::hop_limit})
        lost += repair.lost[static_cast<size_t>(cause)];
    return lost;
}

uint64_t lost_by_faults(const Facts& facts) {
    uint64_t lost = 0;
    for (const sim::RepairResult& repair : facts.result.control.repairs)
        lost += lost_by_fault(repair);
    return lost;
}

std::optional<Duration> longest_repair(const Facts& facts) {
    std::optional<Duration> longest;
    for (const auto& [repair, lost] : facts.result.control.repairs) {
        if (!repair.is_repaired()) return std::nullopt;
        longest = std::max(longest.value_or(Duration{}), repair.repaired - repair.cause.at);
    }
    return longest;
}

std::string control_text(const Facts& facts) {
    const sim::ControlResult& control = facts.result.control;
    if (control.is_given()) return "";
    std::string text = fmt::format("\nControl: {}; up after {}, {}\n", way_text_of(facts),
                                   base::to_string(control.bring_up),
                                   counted(control.bring_up_messages, "message"));
    if (control.repairs.empty()) return text;
    Table table;
    table.row({"at", "what happened", "routes dead for", "pairs", "lost", "messages", "on cables",
               "entries written", "cut off"});
    for (size_t i = 0; i < std::min(control.repairs.size(), kMostFaults); ++i) {
        const control::Repair& repair = control.repairs[i].repair;
        table.row({base::to_string(repair.cause.at - Instant{}),
                   disturbance_text(facts, repair.cause), time_without_route(repair),
                   std::to_string(repair.broken_pairs),
                   std::to_string(lost_by_fault(control.repairs[i])),
                   std::to_string(repair.messages), base::bytes_to_string(repair.bytes),
                   std::to_string(repair.writes), cut_off_text(facts, repair)});
    }
    text += table.text();
    if (control.repairs.size() > kMostFaults)
        text += fmt::format("  and {} more\n", control.repairs.size() - kMostFaults);
    return text;
}

}  // namespace tulle::report
