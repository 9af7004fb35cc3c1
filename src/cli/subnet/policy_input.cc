#include "cli/subnet/policy_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/input.h"
#include "cli/subnet/routed.h"

namespace tulle::cli {

base::Result<PolicyInput> read_policies(const std::string& options_file,
                                        const std::string& partitions_file,
                                        const std::string& engine) {
    PolicyInput input;
    control::ManagerOptions options;
    if (!options_file.empty()) {
        const auto text = read_file(options_file);
        if (!text) return text.error();
        auto parsed = control::parse_manager_options(*text, options_file);
        if (!parsed) return parsed.error();
        options = std::move(*parsed);
    }
    control::ManagerSettings& settings = input.settings;
    const std::string name = engine.empty() ? options.engine : engine;
    settings.engine = control::routing_engine_named(name);
    if (!name.empty() && settings.engine == nullptr) return unknown_engine(name);
    settings.lmc = options.lmc;
    settings.priority = options.priority;
    settings.m_key = options.m_key;
    settings.sm_key = options.sm_key;
    settings.m_key_lease_period = options.m_key_lease_period;
    settings.m_key_protection_level = options.m_key_protection_level;
    if (options.window) settings.window = *options.window;
    if (options.qos) {
        settings.routing.max_lanes =
            std::min(settings.routing.max_lanes, options.qos->switches.lanes);
        settings.qos = std::make_shared<control::QosPolicy>(std::move(*options.qos));
    }
    if (options.congestion)
        settings.congestion =
            std::make_shared<control::CongestionPolicy>(std::move(*options.congestion));
    if (!partitions_file.empty()) {
        const auto text = read_file(partitions_file);
        if (!text) return text.error();
        auto parsed = control::parse_partitions(*text, partitions_file);
        if (!parsed) return parsed.error();
        settings.partitions = std::make_shared<control::PartitionPolicy>(std::move(*parsed));
    }
    input.ignored = std::move(options.ignored);
    return input;
}

}  // namespace tulle::cli
