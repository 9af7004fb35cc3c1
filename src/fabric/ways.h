// Where a switch sends a packet: the output port, by its fixed path or by the tables, and the lane
// there. Tables may change while the switch runs.
#pragma once

#include <span>
#include <vector>

#include "base/hot.h"
#include "fabric/switch_plan.h"

namespace tulle::fabric {

class Ways {
public:
    static constexpr uint16_t kNoPort = PortChooser::kNoPort;

    // `seed` is of the hash of flows.
    Ways(const Settings& settings, Cabling& cabling, SwitchPlan& plan, uint64_t seed);
    // Call when the cabling is complete.
    void begin(uint32_t first_port);

    // Chooses among the ports of the tables. False: there is no way.
    TULLE_HOT bool choose(Instant now, const Transit& transit, uint32_t index, uint16_t& to);
    // For any packet: it may have a fixed path, or be free to take a detour. kNoPort: no way.
    uint16_t choose_for_any(Instant now, const Port& from, uint32_t index);
    uint8_t mapped_lane(uint32_t in, uint16_t out, uint32_t index) const;

    // Changes of the tables.
    void take(const Routes& routes);
    void write(std::span<const RouteEntry> entries);
    void map_lanes(std::span<const uint64_t> lanes) { lanes_ = lanes; }

    // Of full queues, by this switch and its neighbours.
    Warnings& warnings() { return chooser_.warnings(); }
    const Warnings& warnings() const { return chooser_.warnings(); }

private:
    uint16_t fixed_port(const Transit& transit) const;
    PortList ports_to(uint32_t destination) const {
        return routes_->ports_of_row(row_, node_, destination);
    }
    PortChooser::Question ask(Instant now, PortList ports, uint32_t index) const {
        return {now, *routes_, ports, cabling_.store[index],
                cabling_.store.packet(index).psn().value};
    }
    [[gnu::noinline]] uint16_t choose_otherwise(Instant now, PortList ports, uint32_t index);

    Cabling& cabling_;
    const Routes* routes_;
    const uint32_t* row_ = nullptr;  // this node's row in the tables
    const FixedPaths* paths_;
    std::span<const uint64_t> lanes_;  // SwitchPlan::lanes
    uint32_t node_;
    uint16_t port_count_;
    PortChooser chooser_;
    std::vector<uint32_t> own_row_;  // replaces the tables' row once an entry was written
};

inline bool Ways::choose(Instant now, const Transit& transit, uint32_t index, uint16_t& to) {
    const PortList ports = ports_to(transit.destination);
    if (ports.size() == 1) {
        to = ports[0];
        return true;
    }
    if (chooser_.is_by_hash() && !ports.empty()) {
        to = chooser_.by_hash(ports, transit.flow);
        return true;
    }
    to = choose_otherwise(now, ports, index);
    return to != kNoPort;
}

}  // namespace tulle::fabric
