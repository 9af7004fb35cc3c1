#include "control/subnet/lane_dump.h"

#include <algorithm>
#include <map>

#include "control/subnet/port_names.h"

namespace tulle::control {
namespace {

using topology::CableEnd;
using topology::Graph;
using topology::parse_number;
using topology::text;

constexpr uint8_t kUnknown = 0xff;  // a level

std::string hex(uint64_t number) {
    std::array<char, 20> buffer{};
    const auto [end, error] = std::to_chars(buffer.begin(), buffer.end(), number, 16);
    const std::string digits(buffer.begin(), end);
    return text("0x", std::string(16 - std::min<size_t>(digits.size(), 16), '0'), digits);
}

std::string left(uint64_t number, size_t width) {
    std::string out = std::to_string(number);
    out.resize(std::max(width, out.size()), ' ');
    return out;
}

// The GUID of a host's port or of a switch.
uint64_t guid_of(const Graph& graph, const std::vector<uint64_t>& guids, CableEnd owner) {
    return guids[owner.node] + (graph.nodes[owner.node].is_host() ? owner.port + 1u : 0);
}

// Reads a file line by line, and says where something is wrong.
class LineReader {
public:
    LineReader(std::string_view content, std::string_view name, const Graph& graph)
        : content_(content), name_(name), ports_(graph) {}

protected:
    base::Error wrong(std::string_view what) const { return {text(name_, ":", line_, ": ", what)}; }

    template <class Read>
    std::optional<base::Error> for_each_line(Read&& read) {
        for (const std::string_view line : topology::split(content_, '\n')) {
            ++line_;
            const auto words = topology::words_of(line);
            if (words.empty() || words[0].starts_with('#')) continue;
            if (auto error = read(line, words)) return error;
        }
        return std::nullopt;
    }

    // A GUID with or without 0x, and without the comma that may follow it.
    std::optional<CableEnd> port_with(std::string_view word) const {
        if (word.starts_with("0x")) word.remove_prefix(2);
        if (word.ends_with(',')) word.remove_suffix(1);
        const auto guid = parse_number<uint64_t>(word, 16);
        return guid ? ports_.find(*guid) : std::nullopt;
    }

    std::string_view content_;
    std::string_view name_;
    size_t line_ = 0;
    PortsByGuid ports_;
};

class LevelReader : LineReader {
public:
    LevelReader(std::string_view content, std::string_view name, const Graph& graph,
                const Subnet& subnet)
        : LineReader(content, name, graph), subnet_(subnet) {
        for (uint32_t lid = 0; lid < subnet.lid_end(); ++lid)
            if (is_owned(lid)) lids_[as_pair(subnet.place(lid).owner)].push_back(lid);
    }

    // Calls take(from, lid, level) for each path. The last line about a path counts.
    template <class Take>
    std::optional<base::Error> read(Take&& take) {
        const bool is_log = content_.find(kLogged) != std::string_view::npos;
        bool any = false;
        auto error = for_each_line([&](std::string_view line, const auto& words) {
            if (is_log && line.find(kLogged) == std::string_view::npos)
                return std::optional<base::Error>{};
            any = true;
            return is_log ? read_logged(line, take) : read_path(words, take);
        });
        if (!error && !any) return wrong("there is no path; a line is a GUID, a LID and a level");
        return error;
    }

private:
    static constexpr std::string_view kLogged = "route from src_lid=";

    bool is_owned(uint64_t lid) const {
        return lid < subnet_.lid_end() && subnet_.place(static_cast<uint32_t>(lid)).home != kNone;
    }
    base::Error nobody(uint64_t lid) const {
        return wrong(text("LID ", lid, " is nobody's in the forwarding tables"));
    }

    template <class Take>
    std::optional<base::Error> read_logged(std::string_view line, Take&& take) {
        const auto from = decimal_after(line, kLogged);
        const auto lid = decimal_after(line, "dest_lid=");
        const auto level = decimal_after(line, "on vl=");
        if (!from || !lid || !level || *level >= kServiceLevels)
            return wrong("a path is 'route from src_lid=N to dest_lid=N on vl=0 to 15'");
        for (const uint64_t each : {*from, *lid})
            if (!is_owned(each)) return nobody(each);
        take(static_cast<uint16_t>(*from), static_cast<uint16_t>(*lid),
             static_cast<uint8_t>(*level));
        return std::nullopt;
    }
    static std::optional<uint64_t> decimal_after(std::string_view line, std::string_view word) {
        const size_t at = line.find(word);
        if (at == std::string_view::npos) return std::nullopt;
        const std::string_view digits = line.substr(at + word.size());
        return parse_number<uint64_t>(digits.substr(0, digits.find_first_not_of("0123456789")));
    }

    template <class Take>
    std::optional<base::Error> read_path(const std::vector<std::string_view>& words, Take&& take) {
        const auto lid = words.size() > 1 ? parse_number<uint64_t>(words[1]) : std::nullopt;
        const auto level = words.size() > 2 ? parse_number<uint64_t>(words[2]) : std::nullopt;
        if (words.size() != 3 || !lid || !level || *level >= kServiceLevels)
            return wrong("a path is the GUID of its sender, a LID and a service level, 0 to 15");
        const auto owner = port_with(words[0]);
        if (!owner) return wrong(text("the fabric has no GUID ", words[0].substr(0, 40)));
        if (!is_owned(*lid)) return nobody(*lid);
        for (const uint32_t from : lids_[as_pair(*owner)])
            take(static_cast<uint16_t>(from), static_cast<uint16_t>(*lid),
                 static_cast<uint8_t>(*level));
        return std::nullopt;
    }
    static std::pair<uint32_t, uint16_t> as_pair(CableEnd end) { return {end.node, end.port}; }

    const Subnet& subnet_;
    std::map<std::pair<uint32_t, uint16_t>, std::vector<uint32_t>> lids_;  // by their owner
};

class MapReader : LineReader {
public:
    MapReader(std::string_view content, std::string_view name, const Graph& graph,
              const Subnet& subnet)
        : LineReader(content, name, graph), graph_(graph), subnet_(subnet) {}

    // Calls take(port_index_in, port_out, map) for each map of a switch.
    template <class Take>
    std::optional<base::Error> read(Take&& take) {
        auto error = for_each_line([&](std::string_view line, const auto& words) {
            if (line.starts_with("Switch ") || line.starts_with("Channel Adapter "))
                return begin_node(words[line.starts_with("Switch ") ? 1 : 2]);
            if (!words[0].starts_with("0x")) return read_row(words, take);
            if (auto wrong_node = begin_node(words[0])) return wrong_node;
            return read_packed_row(words, take);
        });
        if (!error && !found_) return wrong("there is no line with the lanes of a switch");
        return error;
    }

private:
    std::optional<base::Error> begin_node(std::string_view guid) {
        owner_ = port_with(guid);
        if (!owner_) return wrong(text("the fabric has no GUID ", guid.substr(0, 40)));
        return std::nullopt;
    }

    // in, out, ':', and a lane for each level.
    template <class Take>
    std::optional<base::Error> read_row(const std::vector<std::string_view>& words, Take&& take) {
        if (!owner_) return wrong("lanes come before the first switch");
        DumpedLanes::Map map{};
        if (words.size() != 3 + map.size() || words[2] != ":") return wrong_row();
        for (size_t i = 0; i < map.size(); ++i) {
            const auto lane = parse_number<uint8_t>(words[3 + i]);
            if (!lane || *lane > kMostLanes) return wrong_row();
            map[i] = *lane;
        }
        return take_row(words[0], words[1], map, take);
    }
    base::Error wrong_row() const {
        return wrong("a row is 'in out : ' and 16 lanes, each 0 to 15");
    }

    // GUID, in, out, and eight bytes, each with two lanes.
    template <class Take>
    std::optional<base::Error> read_packed_row(const std::vector<std::string_view>& words,
                                               Take&& take) {
        constexpr std::string_view kForm =
            "a row is the GUID of a switch, in, out, and 8 bytes such as 0x01, each with two lanes";
        DumpedLanes::Map map{};
        if (words.size() != 3 + map.size() / 2) return wrong(kForm);
        for (size_t i = 0; i < map.size() / 2; ++i) {
            const std::string_view word = words[3 + i];
            const auto pair = word.starts_with("0x") && word.size() == 4
                                  ? parse_number<uint8_t>(word.substr(2), 16)
                                  : std::nullopt;
            if (!pair) return wrong(kForm);
            map[2 * i] = *pair >> 4;
            map[2 * i + 1] = *pair & 0xf;
        }
        return take_row(words[1], words[2], map, take);
    }

    template <class Take>
    std::optional<base::Error> take_row(std::string_view in_word, std::string_view out_word,
                                        const DumpedLanes::Map& map, Take&& take) {
        const auto in = parse_number<uint8_t>(in_word);
        const auto out = parse_number<uint8_t>(out_word);
        if (!in || !out) return wrong("a port is a number from 0 to 254");
        if (graph_.nodes[owner_->node].is_host()) return std::nullopt;  // no cable between switches
        const uint32_t s = subnet_.switch_of(owner_->node);
        const uint8_t most = subnet_.port_count(s);
        if (std::max(*in, *out) > most)
            return wrong(text(subnet_.name(s), " has ", most, " ports in the fabric, not ",
                              std::max(*in, *out)));
        found_ = true;
        take(subnet_.port_index(s, *in), *out, map);
        return std::nullopt;
    }

    const Graph& graph_;
    const Subnet& subnet_;
    std::optional<CableEnd> owner_;  // of the following rows
    bool found_ = false;
};

void write_row(std::string& out, uint32_t in, uint32_t to, const DumpedLanes::Map& map) {
    out += text(left(in, 4), left(to, 4), ": ");
    for (const uint8_t lane : map) out += left(lane, 3);
    out += '\n';
}

}  // namespace

std::string write_path_levels(const Graph& graph, const Subnet& subnet, const Lanes& lanes) {
    const std::vector<uint64_t> guids = topology::node_guids(graph);
    std::string out;
    for (uint32_t from = 0; from < subnet.lid_end(); ++from) {
        if (subnet.place(from).home == kNone || subnet.place(from).path != 0) continue;
        const Subnet::Place& place = subnet.place(from);
        const std::string guid = hex(guid_of(graph, guids, place.owner));
        // Paths between switches do not count (routing/lanes.h).
        for (uint32_t lid = 0; lid < subnet.lid_end(); ++lid) {
            const bool counts = subnet.is_host(lid) || subnet.is_host(from);
            if (subnet.place(lid).home == kNone || subnet.place(lid).owner == place.owner ||
                !counts)
                continue;
            out += text(guid, ' ', lid, ' ',
                        lanes.service_level(place.home, lid, subnet.switch_count()), '\n');
        }
    }
    return out;
}

std::string write_sl2vl(const Graph& graph, const Subnet& subnet, const Lanes& lanes) {
    const std::vector<uint64_t> guids = topology::node_guids(graph);
    std::string out;
    for (uint32_t lid = 0; lid < subnet.lid_end(); ++lid) {
        const Subnet::Place& place = subnet.place(lid);
        if (place.home == kNone || subnet.is_host(lid)) continue;
        const uint32_t s = place.home;
        out += text("Switch ", hex(guids[place.owner.node]), ", base LID ", lid, ", \"",
                    subnet.name(s), "\"\n#in out : ");
        for (uint32_t level = 0; level < kServiceLevels; ++level) out += left(level, 3);
        out += text("\n#", std::string(56, '-'), '\n');
        for (uint8_t to = 1; to <= subnet.port_count(s); ++to)
            for (uint8_t in = 0; in <= subnet.port_count(s); ++in) {
                DumpedLanes::Map map{};
                for (uint8_t level = 0; level < kServiceLevels; ++level) {
                    const uint8_t lane =
                        lanes.rule.lane(subnet.port_index(s, in), subnet.port_index(s, to), level);
                    map[level] = lane < lanes.count ? lane : uint8_t{0};
                }
                write_row(out, in, to, map);
            }
        out += text('#', std::string(56, '-'), "\n\n");
    }
    return out;
}

DumpedLanes::DumpedLanes(const Subnet& subnet) : index_(subnet.lid_end(), kNone) {
    for (uint32_t lid = 0; lid < subnet.lid_end(); ++lid) {
        if (subnet.place(lid).home == kNone) continue;
        index_[lid] = static_cast<uint32_t>(lids_.size());
        lids_.push_back(static_cast<uint16_t>(lid));
    }
}

std::optional<base::Error> DumpedLanes::read_path_levels(std::string_view text,
                                                         std::string_view name, const Graph& graph,
                                                         const Subnet& subnet) {
    levels_.assign(lids_.size() * lids_.size(), kUnknown);
    auto error = LevelReader(text, name, graph, subnet)
                     .read([&](uint16_t from, uint16_t lid, uint8_t level) {
                         levels_[path(from, lid)] = level;
                     });
    unnamed_paths_ = 0;
    for (const uint16_t from : lids_)
        for (const uint16_t lid : lids_) {
            uint8_t& level = levels_[path(from, lid)];
            if (level != kUnknown || subnet.place(from).owner == subnet.place(lid).owner ||
                !subnet.is_host(from) || !subnet.is_host(lid))
                continue;
            level = 0;
            ++unnamed_paths_;
        }
    count_lanes();
    return error;
}

std::optional<base::Error> DumpedLanes::read_sl2vl(std::string_view text, std::string_view name,
                                                   const Graph& graph, const Subnet& subnet) {
    maps_.resize(subnet.port_index_count());
    auto error =
        MapReader(text, name, graph, subnet).read([&](uint32_t in, uint8_t out, const Map& map) {
            if (maps_[in].size() <= out) {
                Map same{};
                for (uint8_t i = 0; i < same.size(); ++i) same[i] = i;
                maps_[in].resize(out + 1u, same);
            }
            maps_[in][out] = map;
        });
    count_lanes();
    return error;
}

void DumpedLanes::count_lanes() {
    std::array<bool, kServiceLevels> is_used{};
    if (levels_.empty()) is_used[0] = true;
    for (const uint8_t level : levels_)
        if (level != kUnknown) is_used[level] = true;
    uint8_t highest = 0;
    const auto see = [&](uint8_t lane) {
        if (lane < kMostLanes) highest = std::max(highest, lane);
    };
    for (uint8_t level = 0; level < kServiceLevels; ++level) {
        if (!is_used[level]) continue;
        if (maps_.empty()) see(level);
        for (const std::vector<Map>& maps : maps_)
            for (size_t out = 1; out < maps.size(); ++out) see(maps[out][level]);
    }
    count_ = highest + 1;
}

}  // namespace tulle::control
