// Hosts that tried to talk to another tenant's.
#include "report/tenants.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/findings/findings.h"

namespace tulle::report {
namespace {

// A tenant that both hosts are limited members of; null: none.
const sim::Tenant* limited_in(const Facts& facts, const sim::Violation& one) {
    for (const sim::Tenant& tenant : facts.setup.tenants)
        if (std::ranges::count(tenant.limited, one.source) != 0 &&
            std::ranges::count(tenant.limited, one.destination) != 0)
            return &tenant;
    return nullptr;
}

std::string violation_text(const Facts& facts, const sim::Violation& one) {
    const std::string source = facts.names.endpoint(one.source);
    const std::string destination = facts.names.endpoint(one.destination);
    const sim::Tenant* tenant = limited_in(facts, one);
    const std::string who =
        tenant != nullptr
            ? fmt::format("{} sent to {}, and both are limited members of tenant {}", source,
                          destination, tenant->name)
            : fmt::format("{} of {} sent to {} of {}", source, tenants_of(facts, one.source),
                          destination, tenants_of(facts, one.destination));
    return fmt::format("{}: {} dropped at {} ({})", who, counted(one.packets, "packet"),
                       violation_place(facts, one), counter_of(facts, one));
}

}  // namespace

// The pair with most packets is named, the others are counted.
void find_violations(const Facts& facts, std::vector<Finding>& findings) {
    const auto& all = facts.result.violations;
    if (all.empty()) return;
    const auto most = std::ranges::max_element(all, {}, &sim::Violation::packets);
    std::vector<std::string> pairs;
    for (const sim::Violation& one : all)
        pairs.push_back(fmt::format("{} -> {}", facts.names.endpoint(one.source),
                                    facts.names.endpoint(one.destination)));
    std::string sentence = violation_text(facts, *most);
    if (all.size() > 1)
        sentence += fmt::format("; {} in all, of {} pairs of hosts that share no tenant",
                                counted(refused_packets(facts), "packet"), all.size());
    findings.push_back({FindingKind::other_tenant,
                        Severity::failure,
                        facts.names.endpoint(most->source),
                        {{"packets", refused_packets(facts)},
                         {"most_at", violation_place(facts, *most)},
                         {"counter", std::string(counter_of(facts, *most))},
                         {"pairs", std::move(pairs)}},
                        std::move(sentence)});
}

}  // namespace tulle::report
