#include "scenario/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/units.h"
#include "base/words.h"
#include "scenario/settings.h"
#include "workload/message.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kFaultKeys[] = {
    {"at", "duration", "when it happens"},
    {"cable", "cable", "such as leaf0-spine1, or leaf0-spine1#1 for the second of them"},
    {"switch", "switch", "by name"},
    {"port", "number", "with `switch`: one of its ports, counted from 0, and the cable there"},
    {"host", "host", "number or name"},
    {"manager", "word `down`", "the subnet manager dies, with control: sweep"},
    {"state", "one of down, up, flapping",
     "new state of the cable, switch or port; flapping: down and up again, `times` times"},
    {"every", "duration",
     "with flapping: time from one outage to the next; it is down for half of this time"},
    {"times", "number", "with flapping: number of outages, 1 to 1000"},
    {"pause_storm", "on or off", "the host's adapter pauses its link again and again"},
    {"slow_receiver", "rate", "the host takes no more than this from its adapter"},
};

constexpr KnownKey kQosKeys[] = {
    {"node", "node", "a switch or host, by name"},
    {"pfc_priorities", "list of lanes", "the lossless priorities of this node"},
    {"strict", "list of lanes", "the lanes with strict priority at this node"},
    {"weights", "list of numbers", "weights of the other lanes at this node"},
    {"willing", "yes or no", "whether the node adopts the settings of its neighbour (DCBX)"},
};

class FaultReader {
public:
    FaultReader(const Names& names, Notes& notes, sim::Setup& setup)
        : names_(names), notes_(notes), setup_(setup) {}

    void read(const Value& map) {
        if (!notes_.expect_map(map, "a fault", kFaultKeys)) return;
        sim::Fault fault;
        fault.at = when(map);
        refuse_without("port", "switch", map);
        const Value* cable = map.find("cable");
        const Value* node = map.find("switch");
        const Value* host = map.find("host");
        const Value* manager = map.find("manager");
        if ((cable != nullptr) + (node != nullptr) + (host != nullptr) + (manager != nullptr) != 1)
            return notes_.fail(map.line, "a fault has one of cable, switch, host and manager");
        if (manager)
            read_manager(map, *manager, fault);
        else if (host)
            read_host(map, *host, fault);
        else
            return read_state(map, cable, node, fault);
        for (const std::string_view key : {"every", "times"}) refuse_without(key, "state", map);
        setup_.faults.push_back(fault);
    }

private:
    base::Instant when(const Value& map) {
        const Value* at = map.find("at");
        if (at == nullptr) {
            notes_.fail(map.line, "when it happens is missing; write at: 100us");
            return {};
        }
        const auto time = base::parse_duration(at->text);
        if (time && *time <= workload::kLatestStart) return base::Instant{} + *time;
        notes_.fail(at->line, time ? "at: it is more than a day away"
                                   : fmt::format("at: {}", time.error().message));
        return {};
    }

    void refuse_without(std::string_view key, std::string_view other, const Value& map) {
        const Value* value = map.find(key);
        if (value != nullptr && map.find(other) == nullptr)
            notes_.fail(value->line, fmt::format("{} has no effect without {}", key, other));
    }

    void read_state(const Value& map, const Value* cable, const Value* node, sim::Fault fault) {
        const Value* state = map.find("state");
        const std::string_view word = state != nullptr ? std::string_view(state->text) : "";
        constexpr std::string_view kWords[] = {"down", "up", "flapping"};
        if (!word.empty() && std::ranges::find(kWords, word) == std::end(kWords))
            return notes_.fail(state->line,
                               fmt::format("state: {}", base::unknown_word(word, kWords)));
        if (word.empty())
            return notes_.fail(state ? state->line : map.line,
                               "what becomes of it is missing; write state: down, state: up or "
                               "state: flapping");
        if (map.find("pause_storm") || map.find("slow_receiver"))
            return notes_.fail(map.line, "pause_storm and slow_receiver are faults of a host");
        const Value& subject = cable ? *cable : *node;
        auto found = cable ? names_.cable(cable->text) : names_.switch_node(node->text);
        if (!found) return notes_.fail(subject.line, found.error().message);
        const Value* port = map.find("port");
        if (port != nullptr) found = cable_at(*port, *found);
        if (!found) return notes_.fail(port->line, found.error().message);
        fault.subject = *found;
        const bool is_cable = cable != nullptr || port != nullptr;
        using Kind = sim::Fault::Kind;
        const auto add = [&](bool is_down) {
            fault.kind = is_cable ? (is_down ? Kind::cable_down : Kind::cable_up)
                                  : (is_down ? Kind::switch_down : Kind::switch_up);
            setup_.faults.push_back(fault);
        };
        if (word == "flapping") return flap(map, fault, add);
        for (const std::string_view key : {"every", "times"})
            if (const Value* value = map.find(key))
                return notes_.fail(value->line, fmt::format("{} has no effect without state: "
                                                            "flapping",
                                                            key));
        add(word == "down");
    }

    base::Result<uint32_t> cable_at(const Value& port, uint32_t node) {
        const topology::Node& own = setup_.graph.nodes[node];
        uint64_t number = 0;
        if (const Complaint wrong =
                detail::not_a_number(port, 0, own.port_count - uint64_t{1}, number))
            return base::Error{fmt::format("port: {}", *wrong)};
        for (uint32_t i = 0; i < setup_.graph.cables.size(); ++i) {
            const topology::Cable& cable = setup_.graph.cables[i];
            const topology::CableEnd end{node, static_cast<uint16_t>(number)};
            if (cable.a == end || cable.b == end) return i;
        }
        return base::Error{
            fmt::format("port: nothing is connected to port {} of {}", number, own.name)};
    }

    template <class Add>
    void flap(const Value& map, sim::Fault& fault, const Add& add) {
        const Value* every = map.find("every");
        const Value* times = map.find("times");
        if (every == nullptr || times == nullptr)
            return notes_.fail(map.line, "how it flaps is missing; write every: 1ms and times: 5");
        const auto period = base::parse_duration(every->text);
        if (!period || period->ps < 2)
            return notes_.fail(
                every->line,
                fmt::format("every: {}", period ? "it is at least 2ps" : period.error().message));
        uint64_t count = 0;
        if (const Complaint wrong = detail::not_a_number(*times, 1, 1000, count))
            return notes_.fail(times->line, fmt::format("times: {}", *wrong));
        for (uint64_t i = 0; i < count; ++i, fault.at = fault.at + *period) {
            add(true);
            const base::Instant begin = fault.at;
            fault.at = begin + base::Duration{period->ps / 2};
            add(false);
            fault.at = begin;
        }
        if (fault.at > base::Instant{} + workload::kLatestStart)
            notes_.fail(every->line, "every: it flaps for more than a day");
    }

    void read_host(const Value& map, const Value& host, sim::Fault& fault) {
        const auto endpoint = names_.host(host.text);
        if (!endpoint) return notes_.fail(host.line, endpoint.error().message);
        fault.subject = names_.node_of(*endpoint);
        if (const Value* state = map.find("state"))
            return notes_.fail(state->line, "a host has no state; take down its cable or switch");
        const Value* storm = map.find("pause_storm");
        const Value* slow = map.find("slow_receiver");
        if ((storm != nullptr) == (slow != nullptr))
            return notes_.fail(map.line, "write one of pause_storm: on and slow_receiver: 10Gbps");
        if (storm) {
            read_storm(*storm, fault);
        } else if (const auto rate = base::parse_rate(slow->text)) {
            fault.kind = sim::Fault::Kind::slow_receiver;
            fault.rate = *rate;
        } else {
            notes_.fail(slow->line, fmt::format("slow_receiver: {}", rate.error().message));
        }
    }

    void read_manager(const Value& map, const Value& manager, sim::Fault& fault) {
        if (manager.text != "down")
            return notes_.fail(manager.line, "manager: write manager: down; it does not come back");
        if (setup_.control.kind != sim::ControlSettings::Kind::sweep)
            return notes_.fail(manager.line,
                               "there is no subnet manager that could die; write control: sweep");
        for (const std::string_view useless : {"state", "pause_storm", "slow_receiver"})
            if (const Value* value = map.find(useless))
                return notes_.fail(value->line,
                                   fmt::format("{} has no effect on a manager", useless));
        fault.kind = sim::Fault::Kind::manager_down;
        fault.subject = names_.node_of(setup_.control.sweep.manager);
    }

    void read_storm(const Value& storm, sim::Fault& fault) {
        if (storm.text != "on" && storm.text != "off")
            return notes_.fail(storm.line,
                               fmt::format("pause_storm: '{}' is unknown here; write on or off",
                                           storm.text.substr(0, 40)));
        if (setup_.fabric.flow_control != fabric::FlowControl::pfc)
            notes_.fail(storm.line, "pause_storm has no effect, because flow_control is not pfc");
        fault.kind =
            storm.text == "on" ? sim::Fault::Kind::pause_storm : sim::Fault::Kind::pause_storm_end;
    }

    const Names& names_;
    Notes& notes_;
    sim::Setup& setup_;
};

// Reads a value like the setting at this path, into a copy of the fabric's settings.
void read_as(std::string_view path, const Value* value, Target& target, Notes& notes) {
    if (value == nullptr) return;
    for (const Setting& setting : all_settings())
        if (setting.path == path)
            if (const Complaint wrong = setting.field.read(target, *value))
                notes.fail(value->line, fmt::format("{}: {}", path, *wrong));
}

void refuse_useless_keys(const Value& entry, const fabric::Settings& fabric, Notes& notes) {
    if (entry.keys.size() == 1 && entry.find("node") != nullptr)
        notes.fail(entry.line,
                   "the entry changes nothing; add one of pfc_priorities, strict, "
                   "weights and willing");
    const Value* priorities = entry.find("pfc_priorities");
    if (priorities != nullptr && fabric.flow_control != fabric::FlowControl::pfc)
        notes.fail(priorities->line,
                   "pfc_priorities has no effect, because flow_control is not pfc");
}

// A host has one sender for all lanes. It tells its switches how to share the lines to it, and a
// switch that is willing heeds it.
void refuse_useless_shares(const Value& entry, const Names& names, const sim::Setup& setup,
                           Notes& notes) {
    const uint32_t node = *names.node(entry.find("node")->text);
    if (!setup.graph.nodes[node].is_host()) return;
    const auto is_willing = [&](const topology::Cable& cable) {
        if (cable.a.node != node && cable.b.node != node) return false;
        const uint32_t peer = cable.a.node == node ? cable.b.node : cable.a.node;
        const auto own = std::ranges::find(setup.qos, peer, &sim::QosOverride::node);
        return own != setup.qos.end() && own->willing;
    };
    for (const char* key : {"strict", "weights"})
        if (const Value* value = entry.find(key);
            value != nullptr && std::ranges::none_of(setup.graph.cables, is_willing))
            notes.fail(
                value->line,
                fmt::format("{} of a host has no effect, because its switch is not willing", key));
}

sim::QosOverride qos_override(const Value& map, const Names& names, Notes& notes,
                              const fabric::Settings& fabric) {
    sim::QosOverride override;
    const Value* name = map.find("node");
    const auto node = names.node(name ? name->text : "");
    if (!node) notes.fail(name ? name->line : map.line, node.error().message);
    Target own;
    own.fabric = fabric;
    read_as("fabric.pfc.priorities", map.find("pfc_priorities"), own, notes);
    read_as("fabric.ets.strict", map.find("strict"), own, notes);
    read_as("fabric.ets.weights", map.find("weights"), own, notes);
    override.node = node ? *node : 0;
    override.pfc_priorities = own.fabric.pfc.priorities;
    override.ets = own.fabric.ets;
    if (const Value* willing = map.find("willing")) {
        Target unused;
        const Field field = yes_no([&](Target&) -> bool& { return override.willing; });
        if (const Complaint wrong = field.read(unused, *willing))
            notes.fail(willing->line, fmt::format("willing: {}", *wrong));
    }
    return override;
}

}  // namespace

std::span<const KnownKey> fault_keys() {
    return kFaultKeys;
}

std::span<const KnownKey> qos_keys() {
    return kQosKeys;
}

void read_faults(const Value& list, const Names& names, Notes& notes, sim::Setup& setup) {
    if (!notes.expect_list(list, "faults")) return;
    FaultReader reader(names, notes, setup);
    for (const Value& item : list.items)
        if (!notes.failed()) reader.read(item);
    const auto is_earlier = [](const sim::Fault& a, const sim::Fault& b) { return a.at < b.at; };
    std::stable_sort(setup.faults.begin(), setup.faults.end(), is_earlier);
}

void read_qos(const Value& list, const Names& names, Notes& notes, sim::Setup& setup) {
    if (!notes.expect_list(list, "qos")) return;
    if (setup.fabric.flow_control == fabric::FlowControl::credits)
        return notes.fail(list.line, "qos has no effect, because flow_control is credits");
    if (list.items.empty())
        return notes.fail(list.line, "qos: name at least one node, or leave the key out");
    for (const Value& item : list.items) {
        if (notes.failed() || !notes.expect_map(item, "an entry of qos", kQosKeys)) return;
        const sim::QosOverride own = qos_override(item, names, notes, setup.fabric);
        refuse_useless_keys(item, setup.fabric, notes);
        if (std::ranges::find(setup.qos, own.node, &sim::QosOverride::node) != setup.qos.end())
            notes.fail(item.line, fmt::format("{} has two entries; make them one",
                                              setup.graph.nodes[own.node].name));
        setup.qos.push_back(own);
    }
    for (const Value& item : list.items)
        if (!notes.failed()) refuse_useless_shares(item, names, setup, notes);
}

void read_capture(const Value& list, const Names& names, Notes& notes, sim::Setup& setup) {
    if (!notes.expect_list(list, "capture")) return;
    for (const Value& item : list.items) {
        const auto cable = names.cable(item.text);
        if (!cable) return notes.fail(item.line, cable.error().message);
        setup.taps.push_back({*cable});
    }
}

}  // namespace tulle::scenario
