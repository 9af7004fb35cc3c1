// How fast a flow could be at best, over any path, with nobody else around: a bound that knows
// nothing of queues, routes or windows.
#pragma once

#include "sim/setup.h"

namespace tulle::fabric_swarm {

class Fastest {
public:
    explicit Fastest(const sim::Setup& setup);

    // From its start to the requester's completion.
    base::Duration of(const sim::Flow& flow) const;

    // All cables are alike, so all shortest paths are.
    bool is_uniform() const { return is_uniform_; }

private:
    // `message_bytes` leave one host in packets; the last of them, of `packet_bytes`, arrives.
    base::Duration way(uint32_t from, uint32_t to, uint64_t message_bytes, uint64_t packets,
                       uint64_t packet_bytes) const;
    base::Duration on_line(uint32_t cable, uint64_t bytes, uint64_t packets) const;

    const sim::Setup& setup_;
    topology::Ports ports_;
    std::vector<uint32_t> hosts_;
    bool is_uniform_ = true;
};

}  // namespace tulle::fabric_swarm
