#include "report/tenants.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/findings/findings.h"
#include "report/table.h"

namespace tulle::report {
namespace {

constexpr size_t kMostViolations = 10;

bool is_member(const sim::Tenant& tenant, uint32_t endpoint) {
    return std::ranges::binary_search(tenant.full, endpoint) ||
           std::ranges::binary_search(tenant.limited, endpoint);
}

std::string members_text(const sim::Tenant& tenant) {
    return tenant.limited.empty()
               ? std::to_string(tenant.full.size())
               : fmt::format("{} and {} limited", tenant.full.size(), tenant.limited.size());
}

std::string key_text(const Facts& facts, const sim::Tenant& tenant) {
    return has_partition_keys(facts) ? fmt::format("{:#06x}", tenant.pkey)
                                     : std::to_string(tenant.vlan);
}

}  // namespace

bool has_partition_keys(const Facts& facts) {
    return wire::is_infiniband(facts.setup.fabric.framing.encapsulation);
}

TenantFacts tenant_facts(const Facts& facts, const sim::Tenant& tenant) {
    TenantFacts found;
    for (size_t i = 0; i < facts.flows(); ++i) {
        const sim::Flow& flow = facts.setup.flows[i];
        if (!is_member(tenant, flow.source) || !is_member(tenant, flow.destination)) continue;
        ++found.flows;
        if (facts.succeeded(i)) found.times.push_back(facts.result.flows[i].completion);
    }
    std::ranges::sort(found.times);
    for (const sim::Violation& one : facts.result.violations)
        if (is_member(tenant, one.source)) found.refused += one.packets;
    return found;
}

std::string tenants_of(const Facts& facts, uint32_t endpoint) {
    std::vector<std::string_view> names;
    for (const sim::Tenant& tenant : facts.setup.tenants)
        if (is_member(tenant, endpoint)) names.push_back(tenant.name);
    if (names.empty()) return "no tenant";
    std::string text = names.size() == 1 ? "tenant " : "tenants ";
    for (size_t i = 0; i < names.size(); ++i)
        text.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append(names[i]);
    return text;
}

std::string violation_place(const Facts& facts, const sim::Violation& violation) {
    if (facts.is_host(violation.node)) return facts.names.node(violation.node);
    return violation.as_sent ? facts.names.port(violation.node, violation.port)
                             : facts.names.link(violation.node, violation.port);
}

// IBTA vol 1, 14.2.5.6 (PortInfo) and 16.1.3.5 (PortCounters).
const char* counter_of(const Facts& facts, const sim::Violation& violation) {
    if (!has_partition_keys(facts)) return "not in the sender's VLAN";
    if (facts.is_host(violation.node)) return "P_KeyViolations";
    return violation.as_sent ? "PortRcvConstraintErrors" : "PortXmitConstraintErrors";
}

uint64_t refused_packets(const Facts& facts) {
    uint64_t packets = 0;
    for (const sim::Violation& one : facts.result.violations) packets += one.packets;
    return packets;
}

std::string tenants_text(const Facts& facts) {
    if (facts.setup.tenants.empty()) return "";
    Table table;
    table.row({"tenant", has_partition_keys(facts) ? "P_Key" : "VLAN", "hosts", "flows",
               "ended well", "median", "max", "packets refused"});
    for (const sim::Tenant& tenant : facts.setup.tenants) {
        const TenantFacts found = tenant_facts(facts, tenant);
        const auto time = [&](size_t percent) {
            return found.times.empty() ? "-" : base::to_string(percentile(found.times, percent));
        };
        table.row({tenant.name, key_text(facts, tenant), members_text(tenant),
                   std::to_string(found.flows), std::to_string(found.times.size()), time(50),
                   time(100), std::to_string(found.refused)});
    }
    std::string text = "\nTenants\n" + table.text();
    const auto& violations = facts.result.violations;
    for (size_t i = 0; i < std::min(violations.size(), kMostViolations); ++i)
        text += fmt::format(
            "  {} ({}) -> {} ({}): {} dropped at {} ({})\n",
            facts.names.endpoint(violations[i].source), tenants_of(facts, violations[i].source),
            facts.names.endpoint(violations[i].destination),
            tenants_of(facts, violations[i].destination), counted(violations[i].packets, "packet"),
            violation_place(facts, violations[i]), counter_of(facts, violations[i]));
    if (violations.size() > kMostViolations)
        text += fmt::format("  and {} more\n", violations.size() - kMostViolations);
    return text;
}

}  // namespace tulle::report
