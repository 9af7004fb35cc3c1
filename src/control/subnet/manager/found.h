// The result of discovery: nodes with their ports, and the peer of each port. Each port of a
// channel adapter is a separate node here, because it has its own LID and its own cable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/subnet/subnet.h"
#include "wire/mad/port_info.h"
#include "wire/mad/smp.h"
#include "wire/mad/smp_attributes.h"

namespace tulle::control {

// LIDs by port GUID, kept over restarts. A port with several LIDs is listed with its first.
using LidsByGuid = std::map<uint64_t, uint16_t>;

struct FoundPort {
    bool is_known = false;
    bool was_active = false;  // when it was discovered: some manager brought it up before
    wire::PortInfo info;
    uint32_t peer = kNone;  // a node
    uint8_t peer_port = 0;

    bool is_up() const { return info.port_state >= wire::kPortInitialize; }
};

struct FoundNode {
    wire::NodeInfo info;
    bool is_switch = false;
    uint8_t entry_port = 0;     // the port where the path arrives; 0: the manager's own node
    std::vector<uint8_t> path;  // output ports, hop by hop
    std::string description;
    wire::SwitchInfo switch_info;
    std::vector<FoundPort> ports;  // by number

    uint64_t guid() const { return info.node_guid.value; }
    uint64_t port_guid() const { return info.port_guid.value; }  // of a switch: its own
    uint8_t port_count() const { return info.port_count; }
    // The port that has the LID: port 0 of a switch, the discovered port of an adapter.
    uint8_t own_port() const { return is_switch ? uint8_t{0} : info.local_port; }
};

class FoundFabric {
public:
    uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
    FoundNode& operator[](uint32_t node) { return nodes_[node]; }
    const FoundNode& operator[](uint32_t node) const { return nodes_[node]; }
    const std::vector<FoundNode>& nodes() const { return nodes_; }
    void clear() {
        nodes_.clear();
        by_guid_.clear();
    }

    // The node with this port GUID; kNone: there is none.
    uint32_t node_of(uint64_t port_guid) const {
        const auto found = by_guid_.find(port_guid);
        return found == by_guid_.end() ? kNone : found->second;
    }
    uint32_t add(FoundNode node) {
        by_guid_[node.port_guid()] = size();
        nodes_.push_back(std::move(node));
        return size() - 1;
    }
    void join(uint32_t node, uint8_t port, uint32_t peer, uint8_t peer_port) {
        if (port >= nodes_[node].ports.size() || peer_port >= nodes_[peer].ports.size()) return;
        nodes_[node].ports[port].peer = peer;
        nodes_[node].ports[port].peer_port = peer_port;
        nodes_[peer].ports[peer_port].peer = node;
        nodes_[peer].ports[peer_port].peer_port = port;
    }
    // The port at the other end of the cable; nullptr: the two ends do not agree.
    const FoundPort* peer_of(uint32_t node, uint8_t port) const {
        const FoundPort& own = nodes_[node].ports[port];
        if (own.peer == kNone || own.peer_port == 0) return nullptr;
        const FoundPort& other = nodes_[own.peer].ports[own.peer_port];
        return other.peer == node && other.peer_port == port ? &other : nullptr;
    }
    // Nobody is known at the other end of this port's cable, and a directed route can get there.
    bool leads_to_unknown(uint32_t node, uint8_t number) const {
        const FoundNode& found = nodes_[node];
        const FoundPort& port = found.ports[number];
        const bool is_own_port = !found.is_switch && !found.path.empty();
        return number != 0 && port.is_known && port.is_up() && port.peer == kNone &&
               number != found.entry_port && !is_own_port && found.path.size() < wire::kSmpMaxHops;
    }
    // The node with this LID; kNone: there is none.
    uint32_t node_with(uint16_t lid, const LidsByGuid& lids) const;
    // Calls visit(node, number, info) for each port 0 and each port with a link.
    template <class Visit>
    void for_each_link_port(Visit&& visit) const {
        for (uint32_t node = 0; node < size(); ++node)
            for (uint32_t number = 0; number < nodes_[node].ports.size(); ++number) {
                const FoundPort& port = nodes_[node].ports[number];
                if (port.is_known && (number == 0 || port.is_up()))
                    visit(node, static_cast<uint8_t>(number), port.info);
            }
    }

private:
    std::vector<FoundNode> nodes_;
    std::unordered_map<uint64_t, uint32_t> by_guid_;  // of ports
};

// Gives every port a LID, and every adapter port 2^lmc of them. Entries of `lids` stay. A port
// keeps the LID that it already has, unless another port owns it.
void assign_lids(const FoundFabric& fabric, uint8_t lmc, LidsByGuid& lids);
inline uint16_t lid_of(const FoundNode& node, const LidsByGuid& lids) {
    const auto lid = lids.find(node.port_guid());
    return lid == lids.end() ? uint16_t{0} : lid->second;
}

}  // namespace tulle::control
