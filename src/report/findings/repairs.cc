// How long a fault left hosts without a route, and the cost.
#include <fmt/format.h>

#include "base/units.h"
#include "report/control.h"
#include "report/findings/findings.h"

namespace tulle::report {
namespace {

// A subnet manager writes one port per destination; with several equal ports the others continue.
bool has_one_way(const Facts& facts) {
    return facts.setup.control.kind == sim::ControlSettings::Kind::sweep;
}

std::string until_text(const control::Repair& repair) {
    if (repair.is_repaired())
        return fmt::format("for {}", base::to_string(repair.repaired - repair.cause.at));
    return fmt::format("and {} still had none when the next thing happened or all was at rest",
                       counted(repair.unserved_pairs, "pair"));
}

std::string repair_sentence(const Facts& facts, const control::Repair& repair, uint64_t lost) {
    std::string text = fmt::format("{} at {}: ", disturbance_text(facts, repair.cause),
                                   base::to_string(repair.cause.at - Instant{}));
    if (repair.broken_pairs != 0)
        text += fmt::format(
            "{} of hosts had {} {}, and {} {} lost", counted(repair.broken_pairs, "pair"),
            has_one_way(facts) ? "no route" : "a dead way among their routes", until_text(repair),
            counted(lost, "packet"), lost == 1 ? "was" : "were");
    else
        text += fmt::format("{} {} lost", counted(lost, "packet"), lost == 1 ? "was" : "were");
    if (!repair.cut_off.empty())
        text += fmt::format("; {} {} cut off", counted(repair.cut_off.size(), "host"),
                            repair.cut_off.size() == 1 ? "is" : "are");
    return text;
}

}  // namespace

void find_repairs(const Facts& facts, std::vector<Finding>& findings) {
    for (const sim::RepairResult& found : facts.result.control.repairs) {
        const control::Repair& repair = found.repair;
        const uint64_t lost = lost_by_fault(found);
        if (lost == 0 && repair.cut_off.empty() && repair.unserved_pairs == 0) continue;
        std::vector<Field> fields = {{"at_ns", whole_nanoseconds(repair.cause.at - Instant{})},
                                     {"pairs", repair.broken_pairs},
                                     {"packets", lost},
                                     {"cut_off", uint64_t{repair.cut_off.size()}}};
        if (repair.is_repaired())
            fields.push_back({"no_route_ns", whole_nanoseconds(repair.repaired - repair.cause.at)});
        findings.push_back({FindingKind::no_route, Severity::warning,
                            disturbance_text(facts, repair.cause), std::move(fields),
                            repair_sentence(facts, repair, lost)});
    }
}

}  // namespace tulle::report
