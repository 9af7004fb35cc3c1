#include "sim/network.h"

#include <algorithm>

namespace tulle::sim {

uint64_t Network::next_window() const {
    uint64_t first = kNoWindow;
    for (const auto& partition : partitions_) first = std::min(first, partition->first_window());
    return first;
}

void Network::exchange(size_t partition) {
    for (size_t other = 0; other < partitions_.size(); ++other)
        if (other != partition)
            partitions_[partition]->accept(partitions_[other]->cabling().crossings[partition]);
}

size_t Network::flows_done() const {
    size_t done = 0;
    for (const auto& partition : partitions_) done += partition->ends.flows.size();
    return done;
}

uint64_t Network::hops() const {
    uint64_t hops = 0;
    for (const auto& partition : partitions_) {
        fabric::Cabling& cabling = partition->cabling();
        for (uint32_t p = 0; p < cabling.ports(); ++p)
            hops += cabling.port(p).data_packets() + cabling.port(p).control_packets();
    }
    return hops;
}

}  // namespace tulle::sim
