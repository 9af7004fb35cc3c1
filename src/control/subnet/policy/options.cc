#include "control/subnet/policy/options.h"

#include <algorithm>

#include "control/subnet/policy/words.h"
#include "topology/text.h"

namespace tulle::control {
namespace {

using topology::text;

constexpr size_t kArbitrationEntries = 32;
constexpr size_t kControlEntries = 128;

// OpenSM's defaults (osm_base.h): the first lane has high priority, the others share the rest.
QosTables usual_qos() {
    QosTables tables;
    for (uint8_t lane = 0; lane < 15; ++lane) {
        tables.high.push_back({{}, lane, lane == 0 ? uint8_t{4} : uint8_t{0}});
        tables.low.push_back({{}, lane, lane == 0 ? uint8_t{0} : uint8_t{4}});
    }
    for (uint8_t level = 0; level < kServiceLevels; ++level)
        tables.lane_of_level[level] = level < 15 ? level : uint8_t{7};
    return tables;
}

class OptionReader {
public:
    OptionReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

    base::Result<ManagerOptions> read() {
        while (!text_.empty()) {
            const size_t end = std::min(text_.find('\n'), text_.size());
            std::string_view line = text_.substr(0, end);
            text_.remove_prefix(std::min(end + 1, text_.size()));
            ++line_;
            line = trimmed(line.substr(0, std::min(line.find('#'), line.size())));
            if (line.empty()) continue;
            const size_t space = std::min(line.find_first_of(" \t"), line.size());
            take(line.substr(0, space), trimmed(line.substr(space)));
            if (error_) return *error_;
        }
        if (has_qos_) options_.qos = qos_;
        if (has_congestion_) options_.congestion = congestion_;
        return std::move(options_);
    }

private:
    void fail(std::string sentence) {
        if (!error_) error_ = base::Error{text(file_, ":", line_, ": ", sentence)};
    }

    template <class Field>
    void take_number(std::string_view name, std::string_view value, uint64_t most, Field& field) {
        if (const auto whole = parse_whole(value, most))
            field = static_cast<Field>(*whole);
        else
            fail(text(name, " is a number from 0 to ", most, ", not '", value, "'"));
    }

    bool is_true(std::string_view name, std::string_view value) {
        if (value != "TRUE" && value != "FALSE" && value != "true" && value != "false")
            fail(text(name, " is TRUE or FALSE, not '", value, "'"));
        return value == "TRUE" || value == "true";
    }

    void take(std::string_view name, std::string_view value) {
        if (value == "(null)") return;
        if (name == "lmc") return take_number(name, value, 7, options_.lmc);
        if (name == "sm_priority") return take_number(name, value, 15, options_.priority);
        if (name == "sm_key") return take_number(name, value, ~uint64_t{0}, options_.sm_key);
        if (name == "m_key") return take_number(name, value, ~uint64_t{0}, options_.m_key);
        if (name == "m_key_lease_period")
            return take_number(name, value, 0xffff, options_.m_key_lease_period);
        if (name == "m_key_protection_level")
            return take_number(name, value, 3, options_.m_key_protection_level);
        if (name == "max_wire_smps") {
            take_number(name, value, 65'536, options_.window.emplace());
            if (options_.window == 0) fail("max_wire_smps is at least 1");
            return;
        }
        if (name == "routing_engine") {
            options_.engine = std::string(value);
            return;
        }
        if (name == "qos") {
            has_qos_ = is_true(name, value);
        } else if (name.starts_with("qos_")) {
            take_qos(name, value);
        } else if (name == "congestion_control") {
            has_congestion_ = is_true(name, value);
        } else if (name.starts_with("cc_")) {
            take_congestion(name, value);
        } else {
            options_.ignored.emplace_back(name);
        }
    }

    // An option that names no kind of port applies to all kinds.
    void take_qos(std::string_view name, std::string_view value) {
        std::string_view rest = name.substr(4);
        const bool is_adapters = rest.starts_with("ca_");
        const bool is_switches = rest.starts_with("swe_");
        if (is_adapters || is_switches) rest.remove_prefix(is_adapters ? 3 : 4);
        if (!is_switches && !take_qos_of(name, rest, value, qos_.adapters)) return;
        if (!is_adapters) take_qos_of(name, rest, value, qos_.switches);
    }

    bool take_qos_of(std::string_view name, std::string_view rest, std::string_view value,
                     QosTables& tables) {
        if (rest == "max_vls") {
            take_number(name, value, 15, tables.lanes);
            if (tables.lanes == 0) fail("a port has at least one lane");
        } else if (rest == "high_limit") {
            take_number(name, value, 255, tables.high_limit);
        } else if (rest == "vlarb_high") {
            take_arbitration(name, value, tables.high);
        } else if (rest == "vlarb_low") {
            take_arbitration(name, value, tables.low);
        } else if (rest == "sl2vl") {
            take_lanes(name, value, tables.lane_of_level);
        } else {
            options_.ignored.emplace_back(name);
            return false;
        }
        return true;
    }

    void take_arbitration(std::string_view name, std::string_view value,
                          std::vector<wire::VlArbitrationEntry>& list) {
        list.clear();
        while (!value.empty()) {
            const auto [entry, rest] = split(value, ',');
            value = rest;
            const auto [lane, weight] = split(entry, ':');
            const auto which = parse_whole(lane, 14);
            const auto share = parse_whole(weight, 255);
            if (!which || !share)
                return fail(text(name, " is a list of lanes and weights such as 0:64,1:128; '",
                                 entry, "' is neither"));
            list.push_back({{}, static_cast<uint8_t>(*which), static_cast<uint8_t>(*share)});
        }
        if (list.size() > kArbitrationEntries)
            fail(text(name, " has ", list.size(), " entries; a port has ", kArbitrationEntries));
    }

    void take_lanes(std::string_view name, std::string_view value,
                    std::array<uint8_t, kServiceLevels>& lanes) {
        size_t level = 0;
        while (!value.empty() && level < lanes.size()) {
            const auto [word, rest] = split(value, ',');
            value = rest;
            const auto lane = parse_whole(word, 15);
            if (!lane) return fail(text(name, ": '", word, "' is no lane; write 0 to 15"));
            lanes[level++] = static_cast<uint8_t>(*lane);
        }
        if (level != lanes.size() || !value.empty())
            fail(text(name, " names a lane for each of the 16 service levels"));
    }

    void take_congestion(std::string_view name, std::string_view value) {
        wire::SwitchCongestionSetting& at_switch = congestion_.at_switches;
        wire::CaCongestionSetting& at_adapter = congestion_.at_adapters;
        if (name == "cc_key") return take_number(name, value, ~uint64_t{0}, congestion_.key);
        if (name == "cc_sw_cong_setting_control_map")
            return take_number(name, value, 0xffff'ffff, at_switch.control_map.value);
        if (name == "cc_sw_cong_setting_threshold")
            return take_number(name, value, 15, at_switch.threshold);
        if (name == "cc_sw_cong_setting_packet_size")
            return take_number(name, value, 255, at_switch.packet_size);
        if (name == "cc_sw_cong_setting_marking_rate")
            return take_number(name, value, 0xffff, at_switch.marking_rate);
        if (name == "cc_ca_cong_setting_port_control")
            return take_number(name, value, 0xffff, at_adapter.port_control.value);
        if (name == "cc_ca_cong_setting_control_map")
            return take_number(name, value, 0xffff, at_adapter.control_map.value);
        if (name == "cc_cct") return take_control_table(value);
        constexpr std::string_view kOfLevel = "cc_ca_cong_setting_";
        if (name.starts_with(kOfLevel))
            return take_of_level(name, name.substr(kOfLevel.size()), value);
        options_.ignored.emplace_back(name);
    }

    // The text has a service level, then the value.
    void take_of_level(std::string_view name, std::string_view rest, std::string_view value) {
        const size_t space = std::min(value.find_first_of(" \t"), value.size());
        const auto level = parse_whole(value.substr(0, space), 15);
        if (!level) return fail(text(name, " is a service level and a number, not '", value, "'"));
        value = trimmed(value.substr(space));
        wire::CaCongestionEntry& entry = congestion_.at_adapters.entries[*level];
        if (rest == "ccti_timer") return take_number(name, value, 0xffff, entry.ccti_timer);
        if (rest == "ccti_increase") return take_number(name, value, 255, entry.ccti_increase);
        if (rest == "trigger_threshold")
            return take_number(name, value, 255, entry.trigger_threshold);
        if (rest == "ccti_min") return take_number(name, value, 255, entry.ccti_min);
        options_.ignored.emplace_back(name);
    }

    // The text lists shift:multiplier pairs, or the multiplier alone.
    void take_control_table(std::string_view value) {
        congestion_.table.clear();
        while (!value.empty()) {
            const size_t end = std::min(value.find_first_of(", \t"), value.size());
            const std::string_view word = value.substr(0, end);
            value = trimmed(value.substr(std::min(end + 1, value.size())));
            const bool has_shift = word.find(':') != std::string_view::npos;
            const auto [first, second] = split(word, ':');
            const auto shift = has_shift ? parse_whole(first, 3) : std::optional<uint64_t>(0);
            const auto multiplier = parse_whole(has_shift ? second : first, 0x3fff);
            if (!shift || !multiplier)
                return fail(text("cc_cct is a list of shift:multiplier; '", word, "' is none"));
            congestion_.table.push_back(
                {static_cast<uint8_t>(*shift), static_cast<uint16_t>(*multiplier)});
        }
        if (congestion_.table.size() > kControlEntries)
            fail(text("cc_cct has ", congestion_.table.size(), " entries; an adapter has ",
                      kControlEntries));
    }

    std::string_view text_;
    std::string_view file_;
    size_t line_ = 0;
    ManagerOptions options_;
    QosPolicy qos_{usual_qos(), usual_qos()};
    CongestionPolicy congestion_;
    bool has_qos_ = false;
    bool has_congestion_ = false;
    std::optional<base::Error> error_;
};

}  // namespace

base::Result<ManagerOptions> parse_manager_options(std::string_view text, std::string_view file) {
    return OptionReader(text, file).read();
}

}  // namespace tulle::control
