// Bursts: with --skip, trees and chains that send very many packets are simulated with packets that
// stand for several, inside servers. At size they have hardly more pieces than it takes to fill
// them, so there is no steady pace to skip (sim/AT_SIZE.md), and seven of eight packets are inside
// servers. A burst takes the line as long as its packets would.
//
// What bursts change is how long a switch keeps what it stores and forwards, which is taken from
// latencies, and how finely messages share a line. What remains is measured (stand_ins.h).
//
// Between servers packets stay single: bursts of eight made a tree of 64 GPUs 4 % slower on
// InfiniBand.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/setup.h"

namespace tulle::scenario {

// How many packets a burst has at most in the network inside servers.
uint32_t most_joined(const sim::Setup& inside);

// The same network with so many packets in a burst.
std::shared_ptr<const sim::Setup> joined(const sim::Setup& inside, uint32_t packets);

}  // namespace tulle::scenario
