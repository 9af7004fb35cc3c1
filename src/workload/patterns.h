// The traffic patterns that fabrics are measured with. Hosts are numbers below `hosts`; a pattern
// that draws takes the stream that it draws from. Starts are zero, ids count from 1.
#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "workload/message.h"

namespace tulle::workload {

// Every host sends to one other and receives from one other; with a `count`, only so many of them
// send, drawn at random. One cycle through all hosts (Sattolo), so nobody sends to itself.
// At least two hosts, and no more senders than hosts.
std::vector<Message> permutation(uint32_t hosts, uint32_t count, uint64_t bytes,
                                 base::RandomStream& random);

// All `sources` send to `destination`, which is not one of them.
std::vector<Message> incast(std::span<const uint32_t> sources, uint32_t destination,
                            uint64_t bytes);

// Host i sends to host i + by, around the end. `by` is no multiple of `hosts`.
std::vector<Message> shift(uint32_t hosts, uint32_t by, uint64_t bytes);

// Two random halves; each host exchanges with its partner in the other half. An odd one sits out.
std::vector<Message> bisection(uint32_t hosts, uint64_t bytes, base::RandomStream& random);

}  // namespace tulle::workload
