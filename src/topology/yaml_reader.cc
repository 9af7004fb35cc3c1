#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "topology/builders.h"
#include "topology/quantities.h"
#include "topology/text.h"
#include "topology/tiers.h"
#include "topology/yaml.h"

namespace tulle::topology {
namespace {

// Errors within this file are thrown, as the parser throws its own; read_yaml() catches both.
struct Mistake {
    int line;
    std::string message;
};

// Marks count from 0; -1 means no position.
int line_of(const YAML::Mark& mark) {
    return std::max(mark.line, 0) + 1;
}

[[noreturn]] void fail(const YAML::Node& where, std::string message) {
    throw Mistake{line_of(where.Mark()), std::move(message)};
}

std::string scalar(const YAML::Node& node, std::string_view what) {
    if (!node.IsScalar()) fail(node, text(what, " is one word"));
    return node.Scalar();
}

template <class Number>
Number number(const YAML::Node& node, std::string_view what, uint64_t most) {
    const std::string written = scalar(node, what);
    const bool is_hex = written.starts_with("0x");
    const auto value = is_hex ? parse_number<uint64_t>(std::string_view(written).substr(2), 16)
                              : parse_number<uint64_t>(written);
    if (!value || *value > most)
        fail(node, text(what, " is a whole number from 0 to ", most, ", not '", written, "'"));
    return static_cast<Number>(*value);
}

template <class T>
T quantity(const YAML::Node& node, std::string_view what,
           base::Result<T> (*parse)(std::string_view)) {
    const auto value = parse(scalar(node, what));
    if (!value) fail(node, text(what, ": ", value.error().message));
    return *value;
}

class Reader {
public:
    base::Result<Graph> read(const YAML::Node& root) {
        if (!root.IsMap()) fail(root, "a fabric is written as hosts:, switches: and cables:");
        check_keys(root, {"hosts", "switches", "cables"});
        for_each(root, "hosts", [&](const YAML::Node& node) { read_node(node, NodeKind::host); });
        for_each(root, "switches",
                 [&](const YAML::Node& node) { read_node(node, NodeKind::switch_node); });
        for_each(root, "cables", [&](const YAML::Node& node) { read_cable(node); });
        give_ports();
        if (!has_tiers_.value_or(false)) assign_tiers(graph_);
        return std::move(graph_);
    }

private:
    static constexpr uint32_t kAnyPort = 0xffff'ffff;

    struct End {
        uint32_t node;
        uint32_t port;
    };

    template <class Visit>
    static void for_each(const YAML::Node& root, const char* key, Visit&& visit) {
        const YAML::Node list = root[key];
        if (!list.IsDefined() || list.IsNull()) return;
        if (!list.IsSequence()) fail(list, text(key, " is a list"));
        for (const auto& entry : list) visit(entry);
    }

    static void check_keys(const YAML::Node& map, const std::vector<std::string_view>& known) {
        std::set<std::string> seen;
        for (const auto& entry : map) {
            const std::string key = scalar(entry.first, "a key");
            if (std::find(known.begin(), known.end(), key) == known.end()) {
                std::string all;
                for (const std::string_view name : known)
                    all += text(all.empty() ? "" : ", ", name);
                fail(entry.first, text("'", key, "' is not a key here; the keys are ", all));
            }
            if (!seen.insert(key).second) fail(entry.first, text("'", key, "' is given twice"));
        }
    }

    void read_node(const YAML::Node& entry, NodeKind kind) {
        Node node;
        node.kind = kind;
        if (node.is_host()) node.server = static_cast<uint32_t>(graph_.nodes.size());
        if (entry.IsScalar())
            node.name = entry.Scalar();
        else
            read_settings(entry, node);
        const bool is_plain = std::all_of(node.name.begin(), node.name.end(),
                                          [](char c) { return c >= ' ' && c <= '~'; });
        if (node.name.empty() || !is_plain)
            fail(entry, "a node has a name of printable ASCII characters");
        if (!known_.try_emplace(node.name, graph_.nodes.size()).second)
            fail(entry, text("two nodes are called ", node.name));
        if (graph_.nodes.size() >= kMaxHosts + kMaxSwitches) fail(entry, "too many nodes");
        if (!node.is_host()) check_tier(entry, node);
        graph_.add(std::move(node));
        used_.emplace_back();
    }

    void read_settings(const YAML::Node& entry, Node& node) {
        if (!entry.IsMap()) fail(entry, "a node is a name, or settings such as {name: h0}");
        if (node.is_host())
            check_keys(entry, {"name", "server", "rail", "ports", "guid"});
        else
            check_keys(entry, {"name", "tier", "ports", "guid"});
        constexpr uint64_t kMostGuid = std::numeric_limits<uint64_t>::max();
        for (const auto& [key, value] : pairs(entry)) {
            if (key == "name") node.name = scalar(value, "a name");
            if (key == "server") node.server = number<uint32_t>(value, key, kMaxHosts);
            if (key == "rail") node.rail = number<uint16_t>(value, key, kMaxPorts);
            if (key == "ports") node.port_count = number<uint16_t>(value, key, kMaxPorts);
            if (key == "guid") node.guid = number<uint64_t>(value, key, kMostGuid);
            if (key != "tier") continue;
            node.tier = number<uint8_t>(value, key, 255);
            if (node.tier == 0) fail(value, "tier 0 is that of the hosts; leaves are tier 1");
        }
    }

    // Tiers are all given in the file or all derived from its cables.
    void check_tier(const YAML::Node& entry, const Node& node) {
        const bool has_tier = node.tier != 0;
        if (has_tiers_.value_or(has_tier) != has_tier)
            fail(entry, text(node.name, has_tier ? " has a tier" : " has no tier",
                             ", unlike the switches before it: give every switch one, or none"));
        has_tiers_ = has_tier;
    }

    static std::vector<std::pair<std::string, YAML::Node>> pairs(const YAML::Node& map) {
        std::vector<std::pair<std::string, YAML::Node>> all;
        for (const auto& entry : map) all.emplace_back(entry.first.Scalar(), entry.second);
        return all;
    }

    void read_cable(const YAML::Node& entry) {
        Cable cable;
        YAML::Node between = entry;
        if (entry.IsMap()) {
            check_keys(entry, {"between", "rate", "delay", "length", "loss"});
            between.reset(entry["between"]);
            for (const auto& [key, value] : pairs(entry)) {
                if (key == "rate") cable.rate_bps = quantity(value, key, parse_rate_bps);
                if (key == "delay") cable.delay = quantity(value, key, parse_delay);
                if (key == "length") cable.length_mm = quantity(value, key, parse_length_mm);
                if (key == "loss") cable.loss_per_trillion = quantity(value, key, parse_loss);
            }
        }
        if (!between.IsDefined() || !between.IsSequence() || between.size() != 2)
            fail(entry, "a cable is [h0:1, leaf0:1], or {between: [h0:1, leaf0:1], rate: 100Gbps}");
        if (graph_.cables.size() >= kMaxCables) fail(entry, "too many cables");
        ends_.push_back(read_end(between[0]));
        ends_.push_back(read_end(between[1]));
        graph_.cables.push_back(cable);
        lines_.push_back(line_of(entry.Mark()));
    }

    // "leaf0:3" is port 3 of leaf0, "leaf0" any port of it.
    End read_end(const YAML::Node& entry) const {
        const std::string written = scalar(entry, "the end of a cable");
        const size_t colon = written.rfind(':');
        if (colon != std::string::npos) {
            const auto port = parse_number<uint32_t>(std::string_view(written).substr(colon + 1));
            const auto found = known_.find(written.substr(0, colon));
            if (port && found != known_.end()) {
                if (*port == 0 || *port > kMaxPorts)
                    fail(entry, text("ports count from 1 to ", kMaxPorts));
                return {found->second, *port - 1};
            }
        }
        const auto found = known_.find(written);
        if (found == known_.end())
            fail(entry, text("'", written, "' is neither a node of this file nor a port of one"));
        return {found->second, kAnyPort};
    }

    // Ports that the file names are taken first; then each other end gets the lowest free port.
    void give_ports() {
        for (size_t i = 0; i < ends_.size(); ++i)
            if (ends_[i].port != kAnyPort) use(i, ends_[i].port);
        std::vector<uint32_t> lowest(graph_.nodes.size());
        for (size_t i = 0; i < ends_.size(); ++i) {
            if (ends_[i].port != kAnyPort) continue;
            uint32_t& port = lowest[ends_[i].node];
            while (used_[ends_[i].node].contains(port)) ++port;
            use(i, port);
        }
    }

    void use(size_t end, uint32_t port) {
        const uint32_t place = ends_[end].node;
        Node& node = graph_.nodes[place];
        const int line = lines_[end / 2];
        if (port >= kMaxPorts) throw Mistake{line, text(node.name, " has too many cables")};
        if (!used_[place].insert(port).second)
            throw Mistake{line, text("port ", port + 1, " of ", node.name, " is used twice")};
        node.port_count = std::max(node.port_count, static_cast<uint16_t>(port + 1));
        Cable& cable = graph_.cables[end / 2];
        (end % 2 == 0 ? cable.a : cable.b) = {place, static_cast<uint16_t>(port)};
    }

    Graph graph_;
    std::optional<bool> has_tiers_;  // unset before the first switch
    std::map<std::string, uint32_t> known_;
    std::vector<End> ends_;                 // two per cable
    std::vector<int> lines_;                // by cable
    std::vector<std::set<uint32_t>> used_;  // by node: its ports in use
};

}  // namespace

base::Result<Graph> read_yaml(std::string_view content, std::string_view name) {
    try {
        return Reader().read(YAML::Load(std::string(content)));
    } catch (const Mistake& mistake) {
        return base::Error{text(name, ":", mistake.line, ": ", mistake.message)};
    } catch (const YAML::Exception& error) {
        return base::Error{text(name, ":", line_of(error.mark), ": this is no YAML: ", error.msg)};
    }
}

}  // namespace tulle::topology
