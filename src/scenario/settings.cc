#include "scenario/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cluster/framing.h"
#include "fabric/credits.h"
#include "scenario/fabric_overrides.h"
#include "scenario/files.h"
#include "scenario/setting_tables.h"

namespace tulle::scenario {
namespace {

using fabric::FlowControl;
using transport::Algorithm;

// True if a profile may set values for this feature while it is off.
bool may_wait(Use use) {
    return use == Use::staging || use == Use::watchdog || use == Use::notification_packets ||
           use == Use::telemetry;
}

// A value that a section sets, with its path from the root: "fabric.pfc.xoff".
struct Leaf {
    std::string path;
    const Value* value;
    uint32_t line;  // of its key
};

bool begins_with(std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with;
}

const Setting* find_setting(std::string_view path) {
    for (const Setting& setting : all_settings())
        if (setting.path == path) return &setting;
    return nullptr;
}

// The possible keys below a path: for `fabric` they are link, framing, flow_control, ...
std::vector<std::string_view> keys_below(std::string_view path) {
    std::vector<std::string_view> keys;
    for (const Setting& setting : all_settings()) {
        std::string_view rest = setting.path;
        if (!begins_with(rest, path) || rest.substr(path.size(), 1) != ".") continue;
        rest.remove_prefix(path.size() + 1);
        const std::string_view key = rest.substr(0, rest.find('.'));
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    return keys;
}

// Collects the values of a section, to the depth of the table. Tables are three deep, so this ends.
void collect(const std::string& path, const Value& map, std::vector<Leaf>& leaves, Notes& notes) {
    const std::vector<std::string_view> known = keys_below(path);
    if (!map.is_map())
        return notes.fail(map.line, fmt::format("{} has settings of its own; write some of {}",
                                                path, fmt::join(known, ", ")));
    for (size_t i = 0; i < map.keys.size(); ++i) {
        const Key& key = map.keys[i];
        if (path == "fabric" && is_override_list(key.name)) continue;
        if (std::find(known.begin(), known.end(), key.name) == known.end())
            return notes.fail(key.line, unknown_key(key.name, path, known));
        const std::string below = path + "." + key.name;
        if (find_setting(below) != nullptr)
            leaves.push_back({below, &map.items[i], key.line});
        else
            collect(below, map.items[i], leaves, notes);
    }
}

// Telemetry of two packets is comparable only if they took the same path.
Complaint check_telemetry(const Target& target) {
    const std::string_view name = transport::name_of(target.host.congestion);
    if (!fabric::keeps_flows_together(target.fabric.route.choice))
        return fmt::format(
            "congestion.algorithm is {}, which compares telemetry of one path, and route.choice "
            "spreads packets; write route: {{choice: ecmp}}",
            name);
    if (target.host.delivery != transport::Delivery::ordered)
        return fmt::format(
            "congestion.algorithm is {}, which needs one path a queue pair; write delivery: "
            "ordered",
            name);
    return std::nullopt;
}

Complaint check_congestion(const Target& target) {
    const sim::HostSettings& host = target.host;
    const bool by_answer = host.notifications.way == transport::NotificationSettings::Way::answer;
    Complaint complaint;
    transport::for_each_algorithm([&](std::string_view name, auto algorithm, auto settings, auto) {
        if (host.congestion != algorithm) return;
        const std::string_view wrong = (host.algorithms.*settings).wrong();
        if (!wrong.empty())
            complaint = wrong;
        else if (transport::nature_of(algorithm).wants_marks_in_answers && !by_answer)
            complaint = fmt::format(
                "{} learns of marks from acknowledgements; write notifications: {{way: answer}}",
                name);
    });
    if (!complaint && transport::nature_of(host.congestion).wants_telemetry)
        return check_telemetry(target);
    return complaint;
}

// Without acknowledgements there is no round trip to measure, and no answer carries a mark back.
Complaint check_service(const sim::HostSettings& host) {
    if (host.service == sim::Service::reliable) return std::nullopt;
    if (host.service == sim::Service::datagram)
        return host.congestion == transport::Algorithm::none
                   ? Complaint()
                   : "service is rd, whose contexts have no congestion control; write congestion: "
                     "{algorithm: none}";
    const std::string_view lacks = transport::nature_of(host.congestion).without_answers;
    if (!lacks.empty()) return fmt::format("service is unreliable, so {}", lacks);
    if (transport::heeds_notifications(host.congestion) &&
        host.notifications.way == transport::NotificationSettings::Way::answer)
        return "service is unreliable, so no answer carries a mark; write notifications: {way: "
               "packet}";
    return std::nullopt;
}

// Go-back-N drops packets that arrive out of order.
Complaint check_delivery(const sim::HostSettings& host) {
    if (host.delivery == transport::Delivery::ordered)
        return host.receiver_credit() == nullptr
                   ? Complaint()
                   : "receivers grant credit to queue pairs that take packets in any order; write "
                     "delivery: unordered, or another congestion.algorithm";
    if (host.loss != transport::LossPolicy::selective_repeat)
        return "delivery is not ordered, but loss is go_back_n, which keeps no packet that comes "
               "early; write loss: selective_repeat";
    if (host.service != sim::Service::reliable)
        return "service is unreliable or rd, which deliver in order; write delivery: ordered";
    return std::nullopt;
}

Complaint check_lanes(const Target& target) {
    const fabric::Settings& fabric = target.fabric;
    const uint8_t most = fabric.flow_control == FlowControl::credits ? 14 : 7;
    if (fabric.flow_control == FlowControl::pfc) {
        if (fabric.pfc.priorities == 0)
            return "flow_control is pfc, but pfc.priorities is empty; write priorities: [3]";
        if (fabric.pfc.priorities > 0xff) return "pfc.priorities go from 0 to 7";
        if (!fabric.pfc.dynamic_threshold && fabric.pfc.xoff_bytes == 0)
            return "pfc.threshold is static, but there is no xoff; write xoff: 200KB";
    }
    if (fabric.arbitration == fabric::Arbitration::vl_tables &&
        fabric.vl_arbitration.high_count + fabric.vl_arbitration.low_count == 0)
        return "arbitration is vl_tables, but both tables are empty; write low: [0:4]";
    if (fabric.overflow == fabric::Overflow::trim && fabric.qos.trimmed_lane > most)
        return fmt::format("qos.trimmed_lane is above {}", most);
    return std::nullopt;
}

// Messages from switches to sources must not wait for the buffer space that they report.
Complaint check_back_pressure(const Target& target) {
    const fabric::Settings& fabric = target.fabric;
    const uint8_t lane = fabric.back_pressure.lane;
    if (fabric.back_pressure.above_bytes == 0) return std::nullopt;
    if (fabric.flow_control == FlowControl::credits)
        return "back_pressure.above is set, but flow_control is credits: words would wait for "
               "them; take pfc or none";
    if (fabric.flow_control == FlowControl::pfc && (fabric.pfc.priorities >> lane & 1) != 0)
        return fmt::format(
            "back_pressure.lane is {}, which is paused; take one that is not in "
            "pfc.priorities",
            lane);
    return std::nullopt;
}

}  // namespace

std::span<const Setting> all_settings() {
    static const std::vector<Setting> settings = [] {
        std::vector<Setting> all = fabric_settings();
        const std::vector<Setting> more = host_settings();
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }();
    return settings;
}

namespace {

std::string_view why_use_is_none(Use use, const Target& target) {
    const fabric::Settings& fabric = target.fabric;
    const Algorithm algorithm = target.host.congestion;
    const auto unless = [](bool used, std::string_view why) { return used ? "" : why; };
    switch (use) {
        case Use::always: return "";
        case Use::pfc:
            return unless(fabric.flow_control == FlowControl::pfc, "flow_control is not pfc");
        case Use::static_threshold:
            if (fabric.flow_control != FlowControl::pfc) return "flow_control is not pfc";
            return unless(!fabric.pfc.dynamic_threshold, "pfc.threshold is dynamic");
        case Use::link_retry:
            return unless(fabric.link.bit_errors == fabric::BitErrors::retransmitted,
                          "link.bit_errors is not retransmitted");
        case Use::credits:
            return unless(fabric.flow_control == FlowControl::credits,
                          "flow_control is not credits");
        case Use::shared_buffer:
            return unless(fabric.flow_control != FlowControl::credits,
                          "with flow_control credits the buffers are credits.lane_buffer");
        case Use::alpha:
            if (fabric.flow_control == FlowControl::credits) return "flow_control is credits";
            return unless(
                (fabric.flow_control == FlowControl::pfc && fabric.pfc.dynamic_threshold) ||
                    fabric.node.lossy_dynamic_threshold,
                "no threshold is dynamic");
        case Use::watchdog:
            if (fabric.flow_control != FlowControl::pfc) return "flow_control is not pfc";
            return unless(fabric.pfc.watchdog.ps != 0, "pfc.watchdog is off");
        case Use::reduction: return unless(fabric.node.reduction, "switch.reduction is no");
        case Use::ets:
            return unless(fabric.arbitration == fabric::Arbitration::ets, "arbitration is not ets");
        case Use::vl_tables:
            return unless(fabric.arbitration == fabric::Arbitration::vl_tables,
                          "arbitration is not vl_tables");
        case Use::ecn: return unless(fabric.marking == fabric::Marking::ecn, "marking is not ecn");
        case Use::fecn:
            return unless(fabric.marking == fabric::Marking::fecn, "marking is not fecn");
        case Use::trimming:
            return unless(fabric.overflow == fabric::Overflow::trim, "overflow is not trim");
        case Use::dscp:
            return unless(fabric.qos.trust == fabric::Trust::dscp, "qos.trust is not dscp");
        case Use::flowlets:
            return unless(fabric.route.choice == fabric::PathChoice::flowlet ||
                              fabric.route.choice == fabric::PathChoice::ugal,
                          "route.choice is neither flowlet nor ugal");
        case Use::ugal:
            return unless(fabric.route.choice == fabric::PathChoice::ugal,
                          "route.choice is not ugal");
        case Use::loads:
            return unless(fabric.route.choice == fabric::PathChoice::adaptive ||
                              fabric.route.choice == fabric::PathChoice::flowlet ||
                              fabric.route.choice == fabric::PathChoice::ugal,
                          "route.choice looks at no loads");
        case Use::back_pressure:
            return unless(fabric.back_pressure.above_bytes != 0, "back_pressure.above is 0");
        case Use::algorithm: return "";  // checked by its name
        case Use::notifications:
            return unless(transport::heeds_notifications(algorithm),
                          "congestion.algorithm heeds no notifications");
        case Use::notification_packets:
            if (!transport::heeds_notifications(algorithm))
                return "congestion.algorithm heeds no notifications";
            return unless(
                target.host.notifications.way == transport::NotificationSettings::Way::packet,
                "notifications.way is answer");
        case Use::staging: return unless(target.host.staging.is_on, "staging.on is no");
        case Use::spread:
            return unless(target.host.delivery != transport::Delivery::ordered,
                          "delivery is ordered");
        case Use::telemetry:
            return unless(
                transport::nature_of(algorithm).wants_telemetry || algorithm == Algorithm::plugin,
                "congestion.algorithm asks for no telemetry");
    }
    return "";
}

}  // namespace

std::string why_unused(const Setting& setting, const Target& target) {
    if (setting.use != Use::algorithm) return std::string(why_use_is_none(setting.use, target));
    if (target.host.congestion == setting.algorithm) return "";
    if (setting.algorithm == transport::Algorithm::rccc && target.host.receiver_credit() != nullptr)
        return "";
    return fmt::format("congestion.algorithm is not {}", transport::name_of(setting.algorithm));
}

void apply_section(std::string_view section, const Value& map, Target& target, Notes& notes) {
    std::vector<Leaf> leaves;
    collect(std::string(section), map, leaves, notes);
    std::string& plugin = target.host.algorithms.plugin.source;
    const std::string inherited = std::exchange(plugin, "");
    // In the order of the table, not of the file: a choice is applied before the settings that
    // depend on it.
    for (const Setting& setting : all_settings())
        for (const Leaf& leaf : leaves)
            if (leaf.path == setting.path)
                if (const Complaint wrong = setting.field.read(target, *leaf.value))
                    notes.fail(leaf.line, fmt::format("{}: {}", leaf.path, *wrong));
    plugin = plugin.empty() ? inherited : resolve(notes.file(), plugin);
}

void check_used(std::string_view section, const Value& map, const Target& target, Notes& notes,
                bool is_profile) {
    std::vector<Leaf> leaves;
    collect(std::string(section), map, leaves, notes);
    for (const Leaf& leaf : leaves) {
        const Setting& setting = *find_setting(leaf.path);
        if (is_profile && may_wait(setting.use)) continue;
        const std::string why = why_unused(setting, target);
        if (!why.empty())
            notes.fail(leaf.line,
                       fmt::format("{} has no effect, because {}; change that, or remove "
                                   "this",
                                   leaf.path, why));
    }
}

namespace {

// Credits must cover any packet, plus the bytes that must be freed before a credit update is sent.
Complaint check_credits(const Target& target) {
    const fabric::CreditSettings& credits = target.fabric.credits;
    const uint32_t any = cluster::Framing(target.fabric).room_for_any(target.host.mtu);
    const fabric::CreditScale scale(credits.unit_bytes, credits.counter_bits);
    const uint64_t packet = uint64_t{scale.blocks_of(any)} * scale.bytes();
    const uint64_t most = scale.most_bytes();
    if (packet + credits.update_bytes > most)
        return fmt::format(
            "credits.update is {}B, and no more than {}B are given at a time, a packet of {}B "
            "included: no update would ever come; write {}B at most",
            credits.update_bytes, most, packet, most - packet);
    if (credits.lane_buffer_bytes < packet + credits.update_bytes)
        return fmt::format(
            "credits.lane_buffer is {}B, which does not hold a packet of {}B and what comes free "
            "before an update; write at least {}B",
            credits.lane_buffer_bytes, packet, packet + credits.update_bytes);
    if (credits.update_bytes > credits.lane_buffer_bytes / 2)
        return "credits.update is above half of credits.lane_buffer, so senders would wait for "
               "ever";
    return std::nullopt;
}

}  // namespace

Complaint check_together(const Target& target) {
    const fabric::Settings& fabric = target.fabric;
    const uint32_t mtu = target.host.mtu;
    const bool is_path_mtu = mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0;
    if (!is_path_mtu && fabric.framing.fixed_header_bytes == 0)
        return fmt::format("hosts.mtu is {}; a path MTU is 256, 512, 1024, 2048 or 4096", mtu);
    if (mtu % 4 != 0)
        return fmt::format("hosts.mtu is {}; payloads are padded, so it is a multiple of 4", mtu);
    if (fabric.marking == fabric::Marking::ecn && fabric.ecn.kmin_bytes > fabric.ecn.kmax_bytes)
        return "ecn.kmin is above ecn.kmax";
    const uint32_t packet = mtu + 100;
    if (fabric.flow_control == FlowControl::credits)
        if (Complaint wrong = check_credits(target)) return wrong;
    if (fabric.flow_control != FlowControl::credits && fabric.node.buffer_bytes < packet)
        return fmt::format("switch.buffer holds no whole packet; write at least {}B", packet);
    const uint32_t part = fabric.node.reduction_numerator;
    const uint32_t whole = fabric.node.reduction_denominator;
    if (part > whole || 4 * part < whole)
        return fmt::format("switch.reduction_efficiency is {}/{}; write a ratio from 1/4 to 1",
                           part, whole);
    if (fabric.route.choice == fabric::PathChoice::flowlet && fabric.route.flowlet_gap.ps == 0)
        return "route.choice is flowlet, but there is no gap; write flowlet_gap: 50us";
    if (Complaint wrong = check_lanes(target)) return wrong;
    if (Complaint wrong = check_back_pressure(target)) return wrong;
    if (Complaint wrong = check_service(target.host)) return wrong;
    if (Complaint wrong = check_delivery(target.host)) return wrong;
    return check_congestion(target);
}

namespace {

uint32_t line_at(std::string_view path, const Value* value) {
    while (value != nullptr && !path.empty()) {
        const size_t dot = path.find('.');
        value = value->find(path.substr(0, dot));
        path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
    }
    return value != nullptr ? value->line : 0;
}

}  // namespace

uint32_t line_of(std::string_view sentence, const Value& file) {
    const std::string_view setting = sentence.substr(0, sentence.find(' '));
    if (const uint32_t line = line_at(setting, &file)) return line;
    for (const std::string_view section : {"fabric", "hosts"})
        if (const uint32_t line = line_at(setting, file.find(section))) return line;
    return 0;
}

}  // namespace tulle::scenario
