// What a control plane did to the forwarding tables of a fabric, and when.
//
// Messages of a control plane travel over the same cables as data, with their delay and the time
// that a switch takes for each, but do not compete with data for the lines. What a control plane
// does therefore depends on the fabric and on what breaks, not on traffic. So it is run first, by
// itself, and its history is what the switches of a simulation live through: each gets its own
// writes, at the time at which its own agent made them. That is the same for any number of threads.
//
// Time begins when the fabric has come up: bring-up is before the run.
#pragma once

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

// Lists of ports, each kept once and known by its number.
class PortLists {
public:
    static constexpr uint32_t kEmpty = 0;
    static constexpr uint32_t kHere = 0xffff'ffff;  // in a table: the hosts of the target are here

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

struct TableWrite {
    base::Instant at{};
    uint32_t node = 0;
    uint32_t target = 0;
    uint32_t list = PortLists::kEmpty;
};

// What followed a disturbance, up to the next one.
struct Repair {
    Disturbance cause;
    uint64_t messages = 0;
    uint64_t writes = 0;  // of table entries
    // Of ordered pairs of hosts that working cables join: those that had packets with nowhere to
    // go when it happened, and those that still had when the next thing happened.
    uint64_t broken_pairs = 0;
    uint64_t unserved_pairs = 0;
    // From here on every pair that cables join was served; never: not before the next disturbance.
    base::Instant repaired = base::Instant::never();
    uint64_t cut_off_pairs = 0;       // that no cable joins any more
    std::vector<uint32_t> cut_off{};  // endpoints that are outside the largest piece

    bool is_repaired() const { return repaired != base::Instant::never(); }
};

// A cable that came back and may be used, some time after it has light.
struct CableReady {
    base::Instant at{};
    uint32_t cable = 0;
};

struct History {
    std::string way;            // the protocol or the engine
    base::Duration bring_up{};  // from nothing to tables that serve everybody
    uint64_t bring_up_messages = 0;
    std::vector<uint32_t> target_of;  // by endpoint: hosts with one target share table entries
    uint32_t target_count = 0;
    PortLists lists;
    std::vector<uint32_t> tables;    // by node and target, when the run begins
    std::vector<TableWrite> writes;  // by time
    std::vector<CableReady> ready;   // by time; cables that are not here are ready at once
    std::vector<Repair> repairs;     // one a disturbance, by time

    uint32_t& table(uint32_t node, uint32_t target) {
        return tables[size_t{node} * target_count + target];
    }
};

}  // namespace tulle::control
