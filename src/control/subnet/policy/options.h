// Options of a manager besides partitions, in the language of opensm.conf: one name and value on
// each line. Options of OpenSM that this manager does not have are noted and change nothing.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/subnet/tables.h"
#include "wire/mad/congestion.h"
#include "wire/mad/smp_tables.h"

namespace tulle::control {

// Quality of service for one kind of port. The defaults are OpenSM's.
struct QosTables {
    uint8_t lanes = 15;  // qos_max_vls
    uint8_t high_limit = 0;
    std::vector<wire::VlArbitrationEntry> high;  // at most 32 entries, in `low` as well
    std::vector<wire::VlArbitrationEntry> low;
    std::array<uint8_t, kServiceLevels> lane_of_level{};
};

struct QosPolicy {
    QosTables adapters;
    QosTables switches;
};

struct CongestionPolicy {
    uint64_t key = 0;
    wire::SwitchCongestionSetting at_switches;
    wire::CaCongestionSetting at_adapters;
    std::vector<wire::CongestionControlEntry> table;  // at most 128
};

struct ManagerOptions {
    std::string engine;  // routing_engine; empty: not set
    uint8_t lmc = 0;
    uint8_t priority = 0;
    uint64_t m_key = 0;
    uint64_t sm_key = 1;
    uint16_t m_key_lease_period = 0;  // seconds
    uint8_t m_key_protection_level = 0;
    std::optional<uint32_t> window;  // max_wire_smps
    std::optional<QosPolicy> qos;
    std::optional<CongestionPolicy> congestion;
    std::vector<std::string> ignored;  // names of options
};

base::Result<ManagerOptions> parse_manager_options(std::string_view text, std::string_view file);

}  // namespace tulle::control
