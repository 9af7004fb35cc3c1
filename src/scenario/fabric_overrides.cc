#include "scenario/fabric_overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "scenario/glob.h"
#include "scenario/settings.h"

namespace tulle::scenario {
namespace {

constexpr KnownKey kSwitchKeys[] = {
    {"match", "text or list", "names of switches, or patterns such as leaf* or spine?"},
    {"switch", "settings", "buffer, buffer_holds, port_buffer, lossy_threshold, alpha, latency"},
    {"pfc", "settings",
     "threshold, xoff, xon_offset, reserve, headroom, headroom_delays, watchdog"},
    {"marking", "as fabric.marking", "or none, where the fabric marks"},
    {"ecn", "settings", "kmin, kmax, pmax, at"},
    {"fecn", "settings", "threshold, marking_rate, minimum, victims"},
};

constexpr KnownKey kCableKeys[] = {
    {"match", "text or list", "as leaf0-spine1, with #1 for the second of two, or h*-leaf0"},
    {"rate", "rate", "both ways"},
    {"delay", "duration", "both ways"},
    {"loss", "part", "of packets that are lost, such as 1e-4"},
    {"error_rate", "part", "part of bits that are wrong, instead of link.error_rate"},
    {"from", "node",
     "loss and error_rate apply to what this end sends; without it, to both directions"},
};

constexpr std::array<std::string_view, 22> kOfOneSwitch = {
    "fabric.switch.buffer",      "fabric.switch.buffer_holds",
    "fabric.switch.port_buffer", "fabric.switch.lossy_threshold",
    "fabric.switch.alpha",       "fabric.switch.latency",
    "fabric.pfc.threshold",      "fabric.pfc.xoff",
    "fabric.pfc.xon_offset",     "fabric.pfc.reserve",
    "fabric.pfc.headroom",       "fabric.pfc.headroom_delays",
    "fabric.pfc.watchdog",       "fabric.marking",
    "fabric.ecn.kmin",           "fabric.ecn.kmax",
    "fabric.ecn.pmax",           "fabric.ecn.at",
    "fabric.fecn.threshold",     "fabric.fecn.marking_rate",
    "fabric.fecn.minimum",       "fabric.fecn.victims",
};

bool is_of_one_switch(std::string_view path) {
    return std::ranges::find(kOfOneSwitch, path) != kOfOneSwitch.end();
}

class OverrideReader {
public:
    OverrideReader(Notes& notes, sim::Setup& setup) : notes_(notes), setup_(setup) {}

    void read_switch(const Value& entry) {
        if (!notes_.expect_map(entry, "an entry of fabric.switches", kSwitchKeys)) return;
        const Value settings = without_match(entry);
        check_paths("fabric", settings);
        const std::vector<uint32_t> nodes = matching(
            entry, "switch", setup_.graph.nodes.size(), [&](uint32_t node, std::string_view word) {
                const topology::Node& described = setup_.graph.nodes[node];
                return !described.is_host() && matches(word, described.name);
            });
        for (const uint32_t node : nodes)
            if (!notes_.failed()) change(node, settings, entry.line);
    }

    void read_cable(const Value& entry) {
        if (!notes_.expect_map(entry, "an entry of fabric.cables", kCableKeys)) return;
        const std::vector<uint32_t> cables =
            matching(entry, "cable", setup_.graph.cables.size(),
                     [&](uint32_t cable, std::string_view word) { return is_named(cable, word); });
        for (const uint32_t cable : cables)
            if (!notes_.failed()) change_cable(cable, entry);
    }

private:
    static Value without_match(const Value& entry) {
        Value rest = entry;
        for (size_t i = 0; i < rest.keys.size(); ++i)
            if (rest.keys[i].name == "match") {
                rest.keys.erase(rest.keys.begin() + static_cast<ptrdiff_t>(i));
                rest.items.erase(rest.items.begin() + static_cast<ptrdiff_t>(i));
                break;
            }
        return rest;
    }

    // Refuses settings that all switches of a fabric share; they cannot differ at one switch.
    void check_paths(const std::string& path, const Value& map) {
        for (size_t i = 0; i < map.keys.size(); ++i) {
            const std::string below = path + "." + map.keys[i].name;
            if (map.items[i].is_map())
                check_paths(below, map.items[i]);
            else if (is_setting(below) && !is_of_one_switch(below))
                notes_.fail(map.keys[i].line,
                            fmt::format("{} is the same at all switches; write it in fabric",
                                        below.substr(std::string_view("fabric.").size())));
        }
    }

    static bool is_setting(std::string_view path) {
        return std::ranges::any_of(all_settings(),
                                   [&](const Setting& setting) { return setting.path == path; });
    }

    // Everything that the words after `match` name; each word must name something.
    template <class IsIt>
    std::vector<uint32_t> matching(const Value& entry, std::string_view what, size_t count,
                                   const IsIt& is_it) {
        std::vector<uint32_t> found;
        const Value* match = entry.find("match");
        if (match == nullptr) {
            notes_.fail(entry.line, fmt::format("which {} is missing; write match: leaf*", what));
            return found;
        }
        const std::vector<Value> words = match->is_list() ? match->items : std::vector{*match};
        for (const Value& word : words) {
            const size_t before = found.size();
            for (uint32_t i = 0; i < count; ++i)
                if (is_it(i, word.text)) found.push_back(i);
            if (found.size() == before)
                notes_.fail(word.line, fmt::format("match: no {} is called '{}'", what,
                                                   word.text.substr(0, 60)));
        }
        std::ranges::sort(found);
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    void change(uint32_t node, const Value& settings, uint32_t line) {
        const auto known = std::ranges::find(setup_.switches, node, &sim::SwitchOverride::node);
        Target target{known != setup_.switches.end() ? known->settings : setup_.fabric,
                      setup_.host};
        apply_section("fabric", settings, target, notes_);
        if (notes_.failed()) return;
        check_used("fabric", settings, target, notes_);
        if (const Complaint wrong = check_together(target)) notes_.fail(line, *wrong);
        if (known != setup_.switches.end())
            known->settings = target.fabric;
        else
            setup_.switches.push_back({node, target.fabric});
    }

    // Matches leaf0-spine1, from either end; parallel cables have a number appended, from the
    // second on.
    bool is_named(uint32_t number, std::string_view word) const {
        const topology::Cable& cable = setup_.graph.cables[number];
        const std::string& a = setup_.graph.nodes[cable.a.node].name;
        const std::string& b = setup_.graph.nodes[cable.b.node].name;
        const size_t hash = word.find('#');
        const std::string_view ends = word.substr(0, hash);
        if (!matches(ends, a + "-" + b) && !matches(ends, b + "-" + a)) return false;
        return hash == std::string_view::npos ||
               word.substr(hash + 1) == std::to_string(number_among_parallel(number));
    }

    size_t number_among_parallel(uint32_t number) const {
        const topology::Cable& cable = setup_.graph.cables[number];
        const auto joins_same = [&](const topology::Cable& other) {
            return std::minmax(other.a.node, other.b.node) ==
                   std::minmax(cable.a.node, cable.b.node);
        };
        const auto begin = setup_.graph.cables.begin();
        return static_cast<size_t>(std::count_if(begin, begin + number, joins_same));
    }

    void change_cable(uint32_t number, const Value& entry) {
        topology::Cable& cable = setup_.graph.cables[number];
        if (const Value* rate = entry.find("rate")) {
            const auto value = base::parse_rate(rate->text);
            if (!value) return fail(*rate, "rate", value.error().message);
            cable.rate_bps = value->whole_bits_per_second();
        }
        if (const Value* delay = entry.find("delay")) {
            const auto value = base::parse_duration(delay->text);
            if (!value) return fail(*delay, "delay", value.error().message);
            if (value->ps <= 0) return fail(*delay, "delay", "a cable has some; write 10ns");
            cable.delay = *value;
        }
        add_errors(number, entry);
    }

    void add_errors(uint32_t number, const Value& entry) {
        const Value* loss = entry.find("loss");
        const Value* error_rate = entry.find("error_rate");
        const Value* from = entry.find("from");
        if (from != nullptr && loss == nullptr && error_rate == nullptr)
            return fail(*from, "from", "it has no effect without loss or error_rate");
        if (loss == nullptr && error_rate == nullptr) return;
        sim::CableErrors errors;
        errors.cable = number;
        errors.loss_per_trillion = part(loss, "loss", 1'000'000'000'000);
        errors.error_rate_e18 = part(error_rate, "error_rate", 1'000'000'000'000'000'000);
        if (from != nullptr) set_direction(*from, errors);
        setup_.cable_errors.push_back(errors);
    }

    std::optional<uint64_t> part(const Value* value, std::string_view key, uint64_t one) {
        if (value == nullptr) return std::nullopt;
        const auto parsed = parse_part(value->text, one);
        if (parsed) return *parsed;
        fail(*value, key, parsed.error().message);
        return std::nullopt;
    }

    void set_direction(const Value& from, sim::CableErrors& errors) {
        const topology::Cable& cable = setup_.graph.cables[errors.cable];
        errors.from_a = matches(from.text, setup_.graph.nodes[cable.a.node].name);
        errors.from_b = matches(from.text, setup_.graph.nodes[cable.b.node].name);
        if (!errors.from_a && !errors.from_b)
            fail(from, "from",
                 fmt::format("'{}' is no end of the cable {}-{}", from.text.substr(0, 60),
                             setup_.graph.nodes[cable.a.node].name,
                             setup_.graph.nodes[cable.b.node].name));
    }

    void fail(const Value& value, std::string_view key, std::string_view sentence) {
        notes_.fail(value.line, fmt::format("{}: {}", key, sentence));
    }

    Notes& notes_;
    sim::Setup& setup_;
};

}  // namespace

std::span<const KnownKey> switch_override_keys() {
    return kSwitchKeys;
}

std::span<const KnownKey> cable_override_keys() {
    return kCableKeys;
}

bool is_override_list(std::string_view key) {
    return key == "switches" || key == "cables";
}

void read_fabric_overrides(const Value& fabric, Notes& notes, sim::Setup& setup) {
    OverrideReader reader(notes, setup);
    if (const Value* list = fabric.find("switches"); list && notes.expect_list(*list, "switches"))
        for (const Value& entry : list->items)
            if (!notes.failed()) reader.read_switch(entry);
    if (const Value* list = fabric.find("cables"); list && notes.expect_list(*list, "cables"))
        for (const Value& entry : list->items)
            if (!notes.failed()) reader.read_cable(entry);
}

}  // namespace tulle::scenario
