// A fabric as a subnet manager sees it: numbered switches, the directed links between them, and
// LIDs as addresses. Engines read it, and write ForwardingTables.
//
// Ports are numbered as in InfiniBand: 1 is the first one, port 0 is the switch itself. A switch
// has one LID. A host has one for each of its cabled ports, or 2^LMC consecutive ones, so that
// packets to it can take several paths. Broken parts are left out: the same graph with other cables
// down is another Subnet with the same switches and LIDs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/graph.h"
#include "topology/ibnetdiscover.h"

namespace tulle::control {

using topology::kNone;

inline constexpr uint32_t kMaxUnicastLid = 0xbfff;
inline constexpr uint8_t kMaxPort = 254;
inline constexpr uint8_t kSwitchItself = 0;  // as a port
inline constexpr uint8_t kNoPort = 255;      // as a port in a forwarding table: there is no route

// The owner of each LID, by LID; a node of kNone: no owner. The port of a switch has no meaning.
using LidOwners = std::vector<topology::CableEnd>;

// LIDs from 1 upwards in the order of the nodes, as in `tulle topo --to ibnetdiscover`. The first
// of the 2^lmc LIDs of a port is a multiple of 2^lmc.
base::Result<LidOwners> assign_lids(const topology::Graph& graph, uint8_t lmc = 0);

// The LIDs that a file gives; nothing unless it gives every switch and every cabled port of a host
// LIDs of its own.
std::optional<LidOwners> given_lids(const topology::Graph& graph,
                                    std::span<const topology::GivenLid> lids);

class Subnet {
public:
    // One direction of a cable between two switches.
    struct Link {
        uint32_t from = 0;
        uint32_t to = 0;
        uint8_t port = 0;     // of `from`
        uint8_t to_port = 0;  // of `to`
        uint32_t cable = 0;
    };
    // Where a LID is: at a port of the switch `home`, or that switch itself. A home of kNone: the
    // LID has no owner, or no switch is next to its owner.
    struct Place {
        topology::CableEnd owner{kNone, 0};
        uint32_t home = kNone;
        uint8_t port = kSwitchItself;
        uint8_t path = 0;  // index among its owner's LIDs
    };

    // An error if a switch has more ports than InfiniBand allows. `cable_down` marks broken cables;
    // empty: none is broken.
    static base::Result<Subnet> make(const topology::Graph& graph, const LidOwners& owners,
                                     const std::vector<bool>& cable_down = {});

    uint32_t switch_count() const { return static_cast<uint32_t>(nodes_.size()); }
    // The graph's node of a switch, and the reverse; kNone: the node is a host.
    uint32_t node(uint32_t s) const { return nodes_[s]; }
    uint32_t switch_of(uint32_t node) const { return index_[node]; }
    const std::string& name(uint32_t s) const { return names_[s]; }
    uint8_t port_count(uint32_t s) const {
        return static_cast<uint8_t>(first_port_[s + 1] - first_port_[s] - 1);
    }

    uint32_t link_count() const { return static_cast<uint32_t>(links_.size()); }
    const Link& link(uint32_t id) const { return links_[id]; }
    uint32_t first_link(uint32_t s) const { return first_link_[s]; }
    uint32_t end_link(uint32_t s) const { return first_link_[s + 1]; }
    // In ascending order of ports.
    std::span<const Link> links_of(uint32_t s) const {
        return std::span(links_).subspan(first_link_[s], first_link_[s + 1] - first_link_[s]);
    }
    // The link out of a port; kNone: it leads to no switch. Any port number is allowed.
    uint32_t link_at(uint32_t s, uint8_t port) const {
        const uint32_t at = first_port_[s] + port;
        return at < first_port_[s + 1] ? link_at_[at] : kNone;
    }
    // The other direction of the same cable.
    uint32_t back(uint32_t link) const { return link_at(links_[link].to, links_[link].to_port); }
    // A number for each port of each switch, port 0 included.
    uint32_t port_index(uint32_t s, uint8_t port) const { return first_port_[s] + port; }
    uint32_t port_index_count() const { return first_port_.back(); }

    // All LIDs are below this.
    uint32_t lid_end() const { return static_cast<uint32_t>(places_.size()); }
    const Place& place(uint32_t lid) const { return places_[lid]; }
    bool is_host(uint32_t lid) const {
        return places_[lid].home != kNone && places_[lid].port != kSwitchItself;
    }
    // The LIDs at a switch in ascending order, with its own.
    std::span<const uint16_t> lids_at(uint32_t s) const {
        return std::span(lids_).subspan(first_lid_[s], first_lid_[s + 1] - first_lid_[s]);
    }
    uint32_t hosts_at(uint32_t s) const { return hosts_at_[s]; }
    // Number of LIDs of a host's port.
    uint8_t paths() const { return paths_; }

private:
    void add_links(const topology::Graph& graph, const std::vector<bool>& cable_down);
    void add_places(const LidOwners& owners, const topology::Ports& ports,
                    const std::vector<bool>& cable_down);

    std::vector<uint32_t> index_;       // by node
    std::vector<uint32_t> nodes_;       // by switch
    std::vector<std::string> names_;    // by switch
    std::vector<uint32_t> first_port_;  // by switch, and the end
    std::vector<uint32_t> link_at_;     // by port
    std::vector<uint32_t> first_link_;  // by switch, and the end
    std::vector<Link> links_;
    std::vector<Place> places_;        // by LID
    std::vector<uint32_t> first_lid_;  // by switch, and the end
    std::vector<uint16_t> lids_;
    std::vector<uint32_t> hosts_at_;  // by switch
    uint8_t paths_ = 1;
};

}  // namespace tulle::control
