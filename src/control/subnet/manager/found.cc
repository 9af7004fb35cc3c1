#include "control/subnet/manager/found.h"

namespace tulle::control {
namespace {

class LidTaker {
public:
    explicit LidTaker(uint8_t lmc) : taken_(kMaxUnicastLid + 1u), lmc_(lmc) {}

    uint32_t width(const FoundNode& node) const { return node.is_switch ? 1u : 1u << lmc_; }
    bool is_free(uint32_t lid, uint32_t width) const {
        if (lid == 0 || lid % width != 0 || lid + width - 1 > kMaxUnicastLid) return false;
        for (uint32_t i = 0; i < width; ++i)
            if (taken_[lid + i]) return false;
        return true;
    }
    void take(uint32_t lid, uint32_t width) {
        for (uint32_t i = 0; i < width && lid + i < taken_.size(); ++i) taken_[lid + i] = true;
    }
    // The next free LID; 0: none is left.
    uint16_t take_next(uint32_t width) {
        uint32_t& next = width == 1 ? next_ : next_wide_;
        while (next <= kMaxUnicastLid && !is_free(next, width)) ++next;
        if (next > kMaxUnicastLid) return 0;
        take(next, width);
        return static_cast<uint16_t>(next);
    }

private:
    std::vector<bool> taken_;
    uint8_t lmc_;
    uint32_t next_ = 1;
    uint32_t next_wide_ = 1;
};

}  // namespace

void assign_lids(const FoundFabric& fabric, uint8_t lmc, LidsByGuid& lids) {
    LidTaker taker(lmc);
    for (auto known = lids.begin(); known != lids.end();) {
        const uint32_t node = fabric.node_of(known->first);
        const uint32_t width = node == kNone ? 1u << lmc : taker.width(fabric[node]);
        const bool fits = node == kNone || taker.is_free(known->second, width);
        if (fits) taker.take(known->second, width);
        known = fits ? std::next(known) : lids.erase(known);
    }
    for (const FoundNode& node : fabric.nodes()) {
        if (lids.contains(node.port_guid())) continue;
        uint16_t lid = 0;
        for (const FoundPort& port : node.ports)
            if (port.is_known && port.info.lid.value != 0) lid = port.info.lid.value;
        if (!taker.is_free(lid, taker.width(node))) continue;
        taker.take(lid, taker.width(node));
        lids[node.port_guid()] = lid;
    }
    for (const FoundNode& node : fabric.nodes()) {
        if (lids.contains(node.port_guid())) continue;
        const uint16_t lid = taker.take_next(taker.width(node));
        if (lid != 0) lids[node.port_guid()] = lid;
    }
}

uint32_t FoundFabric::node_with(uint16_t lid, const LidsByGuid& lids) const {
    for (uint32_t node = 0; node < size(); ++node)
        if (lid_of(nodes_[node], lids) == lid) return node;
    return kNone;
}

}  // namespace tulle::control
