// Lanes as text: the service level of each path, and how switches map levels to lanes.
//
// Levels, one path a line, as ibdmchk(1) reads them: the GUID of the sender, the LID, the level.
// The log of OpenSM's DFSSSP, written with -D 0x4b, names them too ("route from src_lid=1 to
// dest_lid=9 on vl=6").
//
//   0x0200000000000101 9 6
//
// Maps, as opensm-sl2vl.dump has them, by port in, port out and level; or as ibdmchk reads them,
// with two lanes in each byte.
//
//   Switch 0x0200000000001100, base LID 17, "switch0"
//   #in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
//   0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7
//
//   0x0200000000001100 0 1 0x01 0x23 0x45 0x67 0x01 0x23 0x45 0x67
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/subnet/tables.h"

namespace tulle::control {

std::string write_path_levels(const topology::Graph& graph, const Subnet& subnet,
                              const Lanes& lanes);
std::string write_sl2vl(const topology::Graph& graph, const Subnet& subnet, const Lanes& lanes);

class DumpedLanes {
public:
    using Map = std::array<uint8_t, kServiceLevels>;  // the lane of each level

    // All paths have level 0, and the lane is the level.
    explicit DumpedLanes(const Subnet& subnet);

    // Number of data lanes that any packet may be on.
    uint8_t count() const { return count_; }
    // kServiceLevels or more: a switch is at one end, and the file does not name the path.
    uint8_t level(uint16_t from, uint32_t lid) const {
        return levels_.empty() ? uint8_t{0} : levels_[path(from, lid)];
    }
    uint8_t lane(uint32_t in_port_index, uint8_t out_port, uint8_t level) const {
        const auto* const map = map_at(in_port_index, out_port);
        return map == nullptr ? level : (*map)[level];
    }
    // Paths between hosts that no line names; their level is 0.
    uint64_t unnamed_paths() const { return unnamed_paths_; }

    // `name` is the file's name, for error messages.
    std::optional<base::Error> read_path_levels(std::string_view text, std::string_view name,
                                                const topology::Graph& graph, const Subnet& subnet);
    std::optional<base::Error> read_sl2vl(std::string_view text, std::string_view name,
                                          const topology::Graph& graph, const Subnet& subnet);

private:
    size_t path(uint32_t from, uint32_t lid) const {
        return size_t{index_[from]} * lids_.size() + index_[lid];
    }
    void count_lanes();
    const Map* map_at(uint32_t in_port_index, uint8_t out_port) const {
        if (maps_.empty() || out_port >= maps_[in_port_index].size()) return nullptr;
        return &maps_[in_port_index][out_port];
    }

    std::vector<uint16_t> lids_;          // those with an owner
    std::vector<uint32_t> index_;         // by LID: place in `lids_`
    std::vector<uint8_t> levels_;         // by place of the sender's LID and of the LID
    std::vector<std::vector<Map>> maps_;  // by Subnet::port_index of the port in, and port out
    uint8_t count_ = 1;
    uint64_t unnamed_paths_ = 0;
};

}  // namespace tulle::control
