#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "topology/ib_speed.h"
#include "topology/ibnetdiscover.h"
#include "topology/text.h"
#include "topology/tiers.h"

namespace tulle::topology {
namespace {

constexpr uint32_t kMaxIbPorts = 254;

// A cursor on one line. Each step consumes what it names, or nothing.
class Cursor {
public:
    explicit Cursor(std::string_view line) : rest_(line) {}

    std::string_view rest() const { return rest_; }
    void skip_blanks() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
    }
    // "node": the text between quotes.
    std::optional<std::string_view> quoted() {
        skip_blanks();
        return between('"', '"');
    }
    // [12] or [12][ext 3], from 1 to 254.
    std::optional<uint16_t> port() {
        skip_blanks();
        const auto digits = between('[', ']');
        const auto number = digits ? parse_number<uint32_t>(*digits) : std::nullopt;
        if (!number || *number == 0 || *number > kMaxIbPorts) return std::nullopt;
        if (rest_.starts_with("[ext")) between('[', ']');
        if (rest_.starts_with('(')) between('(', ')');
        return static_cast<uint16_t>(*number);
    }

private:
    std::optional<std::string_view> between(char open, char close) {
        if (!rest_.starts_with(open)) return std::nullopt;
        const size_t end = rest_.find(close, 1);
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view inside = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return inside;
    }

    std::string_view rest_;
};

// The quoted text of a comment, reduced to characters that every other format can hold.
std::string description_in(std::string_view line) {
    const size_t comment = line.find('#');
    if (comment == std::string_view::npos) return {};
    const auto quoted = Cursor(line.substr(comment + 1)).quoted();
    std::string name(quoted.value_or(""));
    for (char& c : name)
        if (c < ' ' || c > '~') c = '?';
    while (name.ends_with(' ')) name.pop_back();
    return name;
}

// 4xQDR after the last quoted name of a comment; 0 if there is none.
uint64_t speed_in(std::string_view line) {
    const size_t quote = line.rfind('"');
    for (const std::string_view word : words_of(line.substr(quote + 1)))
        if (const auto rate = parse_ib_speed(word)) return *rate;
    return 0;
}

// The index of the adapter in its server, by the last word of a description: 1 for HCA-2 and for
// mlx5_1.
std::optional<uint16_t> rail_in(std::string_view word) {
    if (word.starts_with("HCA-")) {
        const auto number = parse_number<uint16_t>(word.substr(4));
        return number && *number > 0 ? std::optional<uint16_t>(*number - 1) : std::nullopt;
    }
    const size_t underscore = word.rfind('_');
    if (underscore == std::string_view::npos) return std::nullopt;
    return parse_number<uint16_t>(word.substr(underscore + 1));
}

class Reader {
public:
    Reader(std::string_view content, std::string_view name) : content_(content), name_(name) {}

    base::Result<DiscoveredFabric> read() {
        for (const std::string_view line : split(content_, '\n')) {
            ++line_;
            if (auto error = read_line(line)) return *error;
        }
        if (auto error = connect()) return *error;
        name_nodes();
        find_servers();
        assign_tiers(graph_);
        return DiscoveredFabric{std::move(graph_), std::move(lids_)};
    }

private:
    // A port line: `local` leads to port `peer_port` of the node called `peer`.
    struct Listed {
        CableEnd local;
        std::string_view peer;
        uint16_t peer_port = 0;
        uint64_t rate_bps = 0;
        size_t line = 0;
    };

    base::Error wrong(size_t line, std::string_view what) const {
        return {text(name_, ":", line, ": ", what)};
    }

    std::optional<base::Error> read_line(std::string_view line) {
        Cursor cursor(line);
        cursor.skip_blanks();
        const std::string_view rest = cursor.rest();
        if (rest.empty() || rest.starts_with('#')) return std::nullopt;
        if (rest.starts_with('[')) return read_port(rest);
        const std::string_view word = words_of(rest).front();
        if (word == "Switch" || word == "Rt") return read_node(rest, NodeKind::switch_node);
        if (word == "Ca" || word == "Hca") return read_node(rest, NodeKind::host);
        if (word.find("guid=") != std::string_view::npos) return read_guid(word);
        if (word.find('=') != std::string_view::npos || word == "Chassis" || word == "Non-Chassis")
            return std::nullopt;
        return wrong(line_, text("'", word.substr(0, 40),
                                 "' begins no line of this format; lines begin with Switch, Ca, "
                                 "Hca, Rt, a port such as [1], a key= or #"));
    }

    // switchguid=0x2c902004046a8(...): the GUID of the next node. The GUID of the system image is
    // ignored.
    std::optional<base::Error> read_guid(std::string_view word) {
        if (word.starts_with("sysimg")) return std::nullopt;
        std::string_view digits = word.substr(word.find('=') + 1);
        if (digits.starts_with("0x")) digits.remove_prefix(2);
        const auto guid = parse_number<uint64_t>(digits.substr(0, digits.find('(')), 16);
        if (!guid)
            return wrong(line_,
                         "a GUID is a hexadecimal number such as switchguid=0x2c902004046a8");
        guid_ = *guid;
        return std::nullopt;
    }

    std::optional<base::Error> read_node(std::string_view line, NodeKind kind) {
        const auto words = words_of(line);
        const uint32_t ports = words.size() > 1 ? parse_number<uint32_t>(words[1]).value_or(0) : 0;
        const size_t quote = line.substr(0, line.find('#')).find('"');
        const auto id =
            quote == std::string_view::npos ? std::nullopt : Cursor(line.substr(quote)).quoted();
        if (ports == 0 || ports > kMaxIbPorts || !id || id->empty())
            return wrong(line_, text("a node is written with its ports, 1 to 254, and its id: ",
                                     words[0], " 36 \"name\""));
        const uint64_t guid = std::exchange(guid_, 0);
        const std::string_view after = line.substr(quote + id->size() + 2);
        const std::string description = description_in(after);
        is_left_out_ = kind == NodeKind::host && description.ends_with("Aggregation Node");
        const uint32_t place = is_left_out_ ? kNone : static_cast<uint32_t>(graph_.nodes.size());
        if (!known_.try_emplace(*id, place).second)
            return wrong(line_, text("node \"", *id, "\" is described twice"));
        if (is_left_out_) return std::nullopt;
        Node node;
        node.name = description;
        node.kind = kind;
        node.port_count = static_cast<uint16_t>(ports);
        node.guid = guid;
        const uint32_t added = graph_.add(std::move(node));
        ids_.push_back(*id);
        if (kind == NodeKind::switch_node) note_lid({added, 0}, after.substr(after.rfind('"') + 1));
        return std::nullopt;
    }

    std::optional<base::Error> read_port(std::string_view line) {
        if (known_.empty()) return wrong(line_, "a port comes before the first node");
        if (is_left_out_) return std::nullopt;
        Cursor cursor(line);
        const auto port = cursor.port();
        const auto peer = port ? cursor.quoted() : std::nullopt;
        const auto peer_port = peer ? cursor.port() : std::nullopt;
        if (!peer_port)
            return wrong(line_, "a port is written [1] \"node\"[2], with ports from 1 to 254");
        const auto node = static_cast<uint32_t>(graph_.nodes.size() - 1);
        if (*port > graph_.nodes[node].port_count)
            return wrong(line_, text("port ", *port, " of a node with ",
                                     graph_.nodes[node].port_count, " ports"));
        const std::string_view comment =
            cursor.rest().substr(std::min(cursor.rest().find('#'), cursor.rest().size()));
        if (graph_.nodes[node].is_host())
            note_lid({node, static_cast<uint16_t>(*port - 1)},
                     comment.substr(0, comment.find('"')));
        listed_.push_back({{node, static_cast<uint16_t>(*port - 1)},
                           *peer,
                           static_cast<uint16_t>(*peer_port - 1),
                           speed_in(cursor.rest()),
                           line_});
        return std::nullopt;
    }

    // "lid 5 lmc 0" in a comment; a LID of 0 is none.
    void note_lid(CableEnd owner, std::string_view comment) {
        GivenLid given{owner};
        const auto words = words_of(comment);
        for (size_t i = 0; i + 1 < words.size(); ++i) {
            if (words[i] == "lid") given.lid = parse_number<uint16_t>(words[i + 1]).value_or(0);
            if (words[i] == "lmc") given.lmc = parse_number<uint8_t>(words[i + 1]).value_or(0);
        }
        if (given.lid != 0 && given.lmc <= 7) lids_.push_back(given);
    }

    static uint64_t key(CableEnd end) { return uint64_t{end.node} << 16 | end.port; }

    std::optional<base::Error> connect() {
        std::unordered_map<uint64_t, size_t> by_port;
        for (size_t i = 0; i < listed_.size(); ++i)
            if (!by_port.try_emplace(key(listed_[i].local), i).second)
                return wrong(listed_[i].line, text("port ", listed_[i].local.port + 1,
                                                   " of this node is listed twice"));
        for (const Listed& here : listed_) {
            const auto found = known_.find(here.peer);
            if (found == known_.end())
                return wrong(here.line,
                             text("node \"", here.peer, "\" is not described in the file"));
            if (found->second == kNone) continue;
            const CableEnd peer{found->second, here.peer_port};
            uint64_t rate_bps = here.rate_bps;
            if (peer.port >= graph_.nodes[peer.node].port_count)
                return wrong(here.line, text("\"", here.peer, "\" has ",
                                             graph_.nodes[peer.node].port_count, " ports"));
            if (const auto other = by_port.find(key(peer)); other != by_port.end()) {
                const Listed& there = listed_[other->second];
                if (ids_[here.local.node] != there.peer || here.local.port != there.peer_port)
                    return wrong(here.line, text("this port and line ", there.line,
                                                 " do not agree on the cable between them"));
                if (there.line < here.line) continue;  // the cable was added at its other end
                if (here.rate_bps == 0 || (there.rate_bps != 0 && there.rate_bps < here.rate_bps))
                    rate_bps = there.rate_bps;
            }
            Cable cable;
            cable.a = here.local;
            cable.b = peer;
            cable.rate_bps = rate_bps;
            graph_.cables.push_back(cable);
        }
        return std::nullopt;
    }

    // The description if it is unique, else the description and the id.
    void name_nodes() {
        std::map<std::string, uint32_t> count;
        for (const Node& node : graph_.nodes) ++count[node.name];
        for (size_t i = 0; i < ids_.size(); ++i) {
            std::string& name = graph_.nodes[i].name;
            std::string id(ids_[i]);
            for (char& c : id)
                if (c < ' ' || c > '~') c = '?';
            if (name.empty())
                name = id;
            else if (count[name] > 1)
                name += text(" ", id);
        }
    }

    void find_servers() {
        std::map<std::string, uint32_t, std::less<>> known;
        uint32_t next = 0;
        for (Node& node : graph_.nodes) {
            if (!node.is_host()) continue;
            const auto words = words_of(node.name);
            const auto rail = words.size() == 2 ? rail_in(words[1]) : std::nullopt;
            const std::string machine(rail ? words[0] : std::string_view(node.name));
            const auto [place, is_new] = known.try_emplace(machine, next);
            next += is_new;
            node.server = place->second;
            node.rail = rail.value_or(0);
        }
    }

    std::string_view content_;
    std::string_view name_;
    size_t line_ = 0;
    uint64_t guid_ = 0;                                     // of the next node
    bool is_left_out_ = false;                              // ignore the ports that follow
    std::unordered_map<std::string_view, uint32_t> known_;  // id to node; kNone: left out
    std::vector<std::string_view> ids_;                     // by node
    std::vector<Listed> listed_;
    std::vector<GivenLid> lids_;
    Graph graph_;
};

}  // namespace

base::Result<Graph> read_ibnetdiscover(std::string_view text, std::string_view name) {
    auto fabric = read_discovered(text, name);
    if (!fabric) return fabric.error();
    return std::move(fabric->graph);
}

base::Result<DiscoveredFabric> read_discovered(std::string_view text, std::string_view name) {
    return Reader(text, name).read();
}

}  // namespace tulle::topology
