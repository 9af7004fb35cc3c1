// Broadcasts through trees in closed form, as in tree.cc. The root's server is a chain that begins
// with the root. The next member of it, or the root if it is alone, feeds two trees over the other
// servers, each of which is also a chain. Each member but the root has one inlet per tree; all that
// it sends waits for the messages there.
#pragma once

#include "workload/schedules/trees.h"

namespace tulle::workload {

class TreeBroadcast : public TreeShape {
public:
    TreeBroadcast(const CollectiveOptions& options, const Placement& placement);

    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    StreamSource source(uint32_t member, uint32_t inlet) const;
    uint64_t stream_bytes(uint32_t, uint32_t index) const { return half(index / kSlots).size(); }
    uint64_t arrivals(uint32_t member) const;

private:
    // The position of a member: in a node of the tree, or in the root's server.
    struct BroadcastPlace {
        bool is_home = false;
        uint32_t node = 0;
        uint32_t position = 0;  // in the server's chain
        uint32_t length = 0;
    };

    uint32_t server_at(uint32_t node) const;
    uint32_t root_in_chain(uint16_t channel) const;
    BroadcastPlace place_of(uint32_t member, uint16_t channel) const;
    uint32_t at_home(uint32_t position, uint16_t channel) const;
    uint32_t feeder_position() const;
    bool has_slot(const BroadcastPlace& place, const Tree& tree, uint32_t slot) const;
    uint64_t edge(const BroadcastPlace& place, const Tree& tree, uint32_t slot) const;

    std::vector<uint64_t> chain_base_;  // by node: number of its first edge
};

}  // namespace tulle::workload
