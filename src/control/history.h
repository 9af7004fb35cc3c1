// What a control plane did to the forwarding tables of a fabric, and when.
//
// Messages of a control plane travel over the same cables as data, with the delay of the cable and
// the processing time of each switch, and never wait for data. So the work of a control plane
// depends on the fabric and its failures, not on traffic. It therefore runs first, by itself, and a
// simulation replays its history: each switch applies its own writes at the times at which its
// agent made them, and each message takes its bytes from the line that it left on. The result is
// the same for any number of threads.
//
// Time begins when the fabric is up; bring-up comes before the run.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "topology/graph.h"

namespace tulle::control {

// Something that breaks or comes back.
struct Disturbance {
    enum class Kind : uint8_t { cable_down, cable_up, switch_down, switch_up, manager_down };
    Kind kind = Kind::cable_down;
    base::Instant at{};
    uint32_t subject = 0;  // a cable or a node of the graph
};

// Distinct lists of ports, each identified by a number.
class PortLists {
public:
    static constexpr uint32_t kEmpty = 0;
    static constexpr uint32_t kHere = 0xffff'ffff;  // in a table: the target is at this switch

    PortLists() { number_of({}); }
    uint32_t number_of(const std::vector<uint16_t>& ports) {
        const auto [place, is_new] =
            numbers_.try_emplace(ports, static_cast<uint32_t>(lists_.size()));
        if (is_new) lists_.push_back(ports);
        return place->second;
    }
    std::span<const uint16_t> ports(uint32_t list) const { return lists_[list]; }
    uint32_t count() const { return static_cast<uint32_t>(lists_.size()); }

private:
    std::vector<std::vector<uint16_t>> lists_;
    std::map<std::vector<uint16_t>, uint32_t> numbers_;
};

// What the forwarding tables of all switches hold: numbers of PortLists, by switch and target.
class SwitchTables {
public:
    SwitchTables() = default;
    SwitchTables(const topology::Graph& graph, uint32_t target_count)
        : target_count_(target_count) {
        for (const topology::Node& node : graph.nodes)
            row_.push_back(node.is_host() ? topology::kNone : switch_count_++);
        lists_.assign(size_t{switch_count_} * target_count, PortLists::kEmpty);
    }

    uint32_t& at(uint32_t node, uint32_t target) { return lists_[place(node) + target]; }
    uint32_t at(uint32_t node, uint32_t target) const { return lists_[place(node) + target]; }
    std::span<const uint32_t> row(uint32_t node) const {
        return std::span(lists_).subspan(place(node), target_count_);
    }

private:
    size_t place(uint32_t node) const { return size_t{row_[node]} * target_count_; }

    uint32_t target_count_ = 0;
    uint32_t switch_count_ = 0;
    std::vector<uint32_t> row_;  // by node
    std::vector<uint32_t> lists_;
};

struct TableWrite {
    base::Instant at{};
    uint32_t node = 0;
    uint32_t target = 0;
    uint32_t list = PortLists::kEmpty;
};

// What happened between a disturbance and the next one.
struct Repair {
    Disturbance cause;
    uint64_t messages = 0;
    uint64_t bytes = 0;   // that control planes sent over cables, hop by hop, with all headers
    uint64_t writes = 0;  // of table entries
    // Ordered pairs of hosts that working cables join and that had no route: right after this
    // disturbance, and still when the next one happened.
    uint64_t broken_pairs = 0;
    uint64_t unserved_pairs = 0;
    // When every pair that cables join had a route again; never: not before the next disturbance.
    base::Instant repaired = base::Instant::never();
    uint64_t cut_off_pairs = 0;       // no working cables join them any more
    std::vector<uint32_t> cut_off{};  // endpoints outside the largest connected piece

    bool is_repaired() const { return repaired != base::Instant::never(); }
};

// A cable that came back may be used from this time on, some time after it has light.
struct CableReady {
    base::Instant at{};
    uint32_t cable = 0;
};

// Virtual lanes that prevent credit loops, for routes that need more than one lane. A sender keeps
// the service level that it learned when its connection was made.
struct HistoryOfLanes {
    // By input and output port of a switch, port 0 included: four bits for each service level.
    using Map = std::vector<uint64_t>;
    struct Write {
        base::Instant at{};
        uint32_t node = 0;
        Map map;
    };
    uint8_t count = 1;
    uint32_t endpoints = 0;
    std::vector<uint8_t> service_levels;  // by sender and receiver; empty: one lane suffices
    std::array<uint8_t, 16> of_hosts{};   // by service level: the lane that hosts send on
    std::vector<Map> maps;                // by node, when the run begins
    std::vector<Write> writes;            // by time

    bool are_used() const { return !service_levels.empty(); }
    uint8_t level(uint32_t from, uint32_t to) const {
        return service_levels[size_t{from} * endpoints + to];
    }
};

// A packet of a control plane begins to leave a port, or several in one go.
struct ManagementSent {
    base::Instant at{};
    topology::CableEnd from;
    uint32_t bytes = 0;  // on the wire, with all headers and gaps
};

// A MAD on the wire: 256 bytes, LRH 8, BTH 12, DETH 8, ICRC 4 and VCRC 2.
inline constexpr uint32_t kMadPacketBytes = 256 + 8 + 12 + 8 + 4 + 2;

struct History {
    std::string way;            // the protocol or the engine
    base::Duration bring_up{};  // until the first tables reach every host
    uint64_t bring_up_messages = 0;
    std::vector<uint32_t> target_of;  // by endpoint: hosts with one target share table entries
    uint32_t target_count = 0;
    PortLists lists;
    SwitchTables tables;             // when the run begins
    std::vector<TableWrite> writes;  // by time
    std::vector<CableReady> ready;   // by time; cables that are not here are ready at once
    HistoryOfLanes lanes;
    std::vector<ManagementSent> management;  // during the run, in any order
    std::vector<Repair> repairs;             // one for each disturbance, by time
};

}  // namespace tulle::control
