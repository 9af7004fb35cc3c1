#include "control/subnet/dump.h"

#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "control/subnet/port_names.h"

namespace tulle::control {
namespace {

using topology::CableEnd;
using topology::Graph;
using topology::kBlanks;
using topology::parse_number;
using topology::text;

std::string padded(uint64_t number, size_t digits, int base) {
    std::array<char, 20> buffer{};
    const auto [end, error] = std::to_chars(buffer.begin(), buffer.end(), number, base);
    std::string out(buffer.begin(), end);
    if (out.size() < digits) out.insert(0, digits - out.size(), '0');
    return out;
}

class Writer {
public:
    Writer(const Graph& graph, const Subnet& subnet, const ForwardingTables& tables)
        : graph_(graph), subnet_(subnet), tables_(tables), guids_(topology::node_guids(graph)) {}

    std::string write() {
        for (uint32_t lid = 0; lid < subnet_.lid_end(); ++lid)
            comments_.push_back(comment(subnet_.place(lid)));
        std::vector<uint32_t> own(subnet_.switch_count());
        for (uint32_t lid = 0; lid < subnet_.lid_end(); ++lid)
            if (subnet_.place(lid).home != kNone && !subnet_.is_host(lid))
                own[subnet_.place(lid).home] = lid;
        for (uint32_t s = 0; s < subnet_.switch_count(); ++s) write_switch(s, own[s]);
        return std::move(out_);
    }

private:
    std::string comment(const Subnet::Place& place) const {
        if (place.owner.node == kNone) return "\n";
        const topology::Node& node = graph_.nodes[place.owner.node];
        const uint64_t guid =
            guids_[place.owner.node] + (node.is_host() ? place.owner.port + 1u : 0);
        return text(node.is_host() ? "Channel Adapter" : "Switch", " portguid 0x",
                    padded(guid, 16, 16), ": '", node.name, "'\n");
    }

    void write_switch(uint32_t s, uint32_t own_lid) {
        const uint32_t node = subnet_.node(s);
        out_ +=
            text("Unicast lids [0-", subnet_.lid_end() - 1, "] of switch Lid ", own_lid, " guid 0x",
                 padded(guids_[node], 16, 16), " ('", graph_.nodes[node].name, "'):\n");
        uint32_t count = 0;
        for (uint32_t lid = 0; lid < subnet_.lid_end(); ++lid) {
            const uint8_t port = tables_.port(s, lid);
            if (port == kNoPort) continue;
            ++count;
            out_ += "0x";
            out_ += padded(lid, 4, 16);
            out_ += ' ';
            out_ += padded(port, 3, 10);
            out_ += " # ";
            out_ += comments_[lid];
        }
        out_ += text(count, " lids dumped\n");
    }

    const Graph& graph_;
    const Subnet& subnet_;
    const ForwardingTables& tables_;
    std::vector<uint64_t> guids_;        // by node
    std::vector<std::string> comments_;  // by LID
    std::string out_;
};

class Reader {
public:
    Reader(std::string_view content, std::string_view name, const Graph& graph)
        : content_(content), name_(name), graph_(graph), ports_(graph) {
        for (uint32_t node = 0; node < graph.nodes.size(); ++node)
            by_name_.try_emplace(graph.nodes[node].name, node);
    }

    base::Result<DumpedTables> read() {
        for (const std::string_view line : topology::split(content_, '\n')) {
            ++line_;
            if (auto error = read_line(line)) return *error;
        }
        if (switch_ == kNone) return wrong("there is no line 'Unicast lids ... of switch ...'");
        if (dumped_.owners.empty()) dumped_.owners.push_back({kNone, 0});
        return std::move(dumped_);
    }

private:
    base::Error wrong(std::string_view what) const { return {text(name_, ":", line_, ": ", what)}; }

    std::optional<base::Error> read_line(std::string_view line) {
        const size_t begin = line.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos) return std::nullopt;
        line.remove_prefix(begin);
        if (line.starts_with("Unicast lids ")) return read_switch(line);
        if (line.starts_with("0x")) return read_entry(line);
        const auto words = topology::words_of(line);
        const bool is_frame = words.front() == "Lid" || words.front() == "Port" ||
                              line.find("lids dumped") != std::string_view::npos ||
                              line.starts_with('#');
        if (is_frame) return std::nullopt;
        return wrong(text("'", words.front().substr(0, 40),
                          "' begins no line of a dump of forwarding tables; lines begin with "
                          "'Unicast lids' or a LID such as 0x0001"));
    }

    static std::optional<std::string_view> quoted_in(std::string_view line) {
        const size_t first = line.find('\'');
        const size_t last = line.rfind('\'');
        if (first == std::string_view::npos || first == last) return std::nullopt;
        return line.substr(first + 1, last - first - 1);
    }

    // The owner of a port, by the GUID after `word` or by the name.
    std::optional<CableEnd> owner_in(std::string_view line, std::string_view word) const {
        if (const auto guid = number_after(line, word))
            if (const auto found = ports_.find(*guid)) return found;
        if (const auto quoted = quoted_in(line))
            if (const auto found = by_name_.find(std::string(*quoted)); found != by_name_.end())
                return CableEnd{found->second, ports_.first_cabled(found->second)};
        return std::nullopt;
    }

    std::optional<base::Error> read_switch(std::string_view line) {
        const auto owner = owner_in(line, " guid ");
        if (!owner || graph_.nodes[owner->node].is_host())
            return wrong("this is no switch of the fabric: it has neither its GUID nor its name");
        switch_ = owner->node;
        const auto lid = number_after(line, " Lid ");
        if (lid && *lid > 0 && *lid <= kMaxUnicastLid)
            return own(static_cast<uint16_t>(*lid), {switch_, 0});
        return std::nullopt;
    }

    std::optional<base::Error> read_entry(std::string_view line) {
        if (switch_ == kNone) return wrong("a LID comes before the first switch");
        const auto words = topology::words_of(line);
        const auto lid = parse_number<uint32_t>(words[0].substr(2), 16);
        if (!lid || *lid == 0 || *lid > kMaxUnicastLid)
            return wrong("a unicast LID is a number from 0x0001 to 0xbfff");
        const auto port =
            words.size() > 1 ? parse_number<uint8_t>(words[1]) : std::optional<uint8_t>{};
        if (!port) return wrong("a LID is followed by the number of a port, 000 to 255");
        const auto here = static_cast<uint16_t>(*lid);
        dumped_.entries.push_back({switch_, here, *port});
        if (line.find("portguid") == std::string_view::npos) return std::nullopt;
        auto owner = owner_in(line, "portguid ");
        if (!owner)
            return wrong("this port is nobody's in the fabric, neither by GUID nor by name");
        if (!graph_.nodes[owner->node].is_host()) owner->port = 0;
        return own(here, *owner);
    }

    std::optional<base::Error> own(uint16_t lid, CableEnd owner) {
        LidOwners& owners = dumped_.owners;
        if (lid >= owners.size()) owners.resize(lid + 1u, {kNone, 0});
        if (owners[lid].node != kNone && owners[lid] != owner)
            return wrong(text("LID ", lid, " is both ", graph_.nodes[owners[lid].node].name,
                              "'s and ", graph_.nodes[owner.node].name, "'s"));
        owners[lid] = owner;
        return std::nullopt;
    }

    std::string_view content_;
    std::string_view name_;
    const Graph& graph_;
    PortsByGuid ports_;
    std::unordered_map<std::string, uint32_t> by_name_;
    size_t line_ = 0;
    uint32_t switch_ = kNone;  // the switch of the following entries
    DumpedTables dumped_;
};

}  // namespace

std::string write_lfts(const Graph& graph, const Subnet& subnet, const ForwardingTables& tables) {
    return Writer(graph, subnet, tables).write();
}

base::Result<DumpedTables> read_lfts(std::string_view text, std::string_view name,
                                     const Graph& graph) {
    return Reader(text, name, graph).read();
}

ForwardingTables DumpedTables::tables(const Subnet& subnet) const {
    ForwardingTables tables(subnet.switch_count(), subnet.lid_end());
    for (const Entry& entry : entries)
        if (entry.lid < subnet.lid_end())
            tables.set(subnet.switch_of(entry.node), entry.lid, entry.port);
    return tables;
}

}  // namespace tulle::control
