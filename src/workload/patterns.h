// The traffic patterns that fabrics are measured with. Hosts are numbers below `hosts`. A random
// pattern takes its random stream as an argument. All starts are zero; ids count from 1.
#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "workload/message.h"

namespace tulle::workload {

// Every host sends to one other and receives from one other. With a `count`, only that many hosts
// send, drawn at random. The permutation is one cycle through all hosts (Sattolo), so no host sends
// to itself. There are at least two hosts, and no more senders than hosts.
std::vector<Message> permutation(uint32_t hosts, uint32_t count, uint64_t bytes,
                                 base::RandomStream& random);

// All `sources` send to `destination`, which is not one of them.
std::vector<Message> incast(std::span<const uint32_t> sources, uint32_t destination,
                            uint64_t bytes);

// Host i sends to host (i + by) mod hosts. `by` is not a multiple of `hosts`.
std::vector<Message> shift(uint32_t hosts, uint32_t by, uint64_t bytes);

// Two random halves; each host exchanges with its partner in the other half. With an odd number of
// hosts, one stays idle.
std::vector<Message> bisection(uint32_t hosts, uint64_t bytes, base::RandomStream& random);

}  // namespace tulle::workload
