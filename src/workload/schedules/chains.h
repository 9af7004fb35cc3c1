// Broadcasts along a chain in closed form, as in ring.cc: the order of a ring, from the root on.
#pragma once

#include <vector>

#include "workload/schedules/shape.h"

namespace tulle::workload {

class ChainBroadcast : public Shape {
public:
    ChainBroadcast(const CollectiveOptions& options, const Placement& placement);

    Stream stream(uint32_t member, uint32_t index) const;
    StreamMessage message(uint32_t member, uint32_t index, uint64_t k) const;
    StreamSource source(uint32_t member, uint32_t inlet) const;
    Repetition repetition(uint32_t index, uint64_t) const {
        return {1, 0, chains_[index].messages};
    }
    static constexpr bool repeats_throughout() { return true; }
    bool may_feed(uint32_t inlet, uint32_t index) const { return inlet == index; }
    uint64_t stream_bytes(uint32_t, uint32_t index) const {
        return channel_data(static_cast<uint16_t>(index)).size();
    }
    uint64_t most_under_way() const;
    uint64_t arrivals(uint32_t member) const;

private:
    // One channel.
    struct Chain {
        std::vector<uint32_t> order;
        std::vector<uint32_t> position;  // by member
        uint64_t messages = 0;           // of a stream
        uint64_t base = 0;               // number of its first message
    };
    void add_chain(uint16_t channel);

    std::vector<Chain> chains_;  // by channel
};

}  // namespace tulle::workload
