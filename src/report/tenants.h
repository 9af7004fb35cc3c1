// Tenants of a run: what each of them did, and who tried to talk to whom.
#pragma once

#include <string>
#include <vector>

#include "report/facts.h"

namespace tulle::report {

// "tenant red", "tenants red and blue", "no tenant".
std::string tenants_of(const Facts& facts, uint32_t endpoint);
// Where packets were refused, and what hardware counts there.
std::string violation_place(const Facts& facts, const sim::Violation& violation);
const char* counter_of(const Facts& facts, const sim::Violation& violation);
uint64_t refused_packets(const Facts& facts);

// What hosts of a tenant sent to each other, and what they tried to send to others.
struct TenantFacts {
    uint64_t flows = 0;
    std::vector<Duration> times;  // of flows that ended well, ascending
    uint64_t refused = 0;         // packets
};
TenantFacts tenant_facts(const Facts& facts, const sim::Tenant& tenant);
// InfiniBand; tenants of Ethernet are VLANs.
bool has_partition_keys(const Facts& facts);

// For the text report; empty where there are no tenants.
std::string tenants_text(const Facts& facts);

}  // namespace tulle::report
