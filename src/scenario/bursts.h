// Bursts: with --skip, trees and chains that send very many packets are simulated with packets that
// stand for several, inside servers. At size they have hardly more pieces than it takes to fill
// them, so there is no steady pace to skip (sim/AT_SIZE.md), and seven of eight packets are inside
// servers. A burst takes the line as long as its packets would.
//
// What bursts change is how long a switch keeps what it stores and forwards, which is taken from
// latencies, and how finely messages share a line. What remains is measured: a small part of the
// work is simulated with single packets and with bursts. The difference is the estimated error.
//
// Between servers packets stay single: bursts of eight made a tree of 64 GPUs 4 % slower on
// InfiniBand.
//
// Under congestion control chance decides: under DCQCN an all-reduce of 1 GiB on 64 GPUs took 11.4
// to 13.5 ms with three seeds and single packets, and 11.5 ms in bursts. So the part is simulated
// with several seeds, and the estimated error is the largest difference between any two.
#pragma once

#include <cstdint>

#include "sim/setup.h"

namespace tulle::scenario {

// Joins packets if the setup skips and its only work are trees and chains that are generated and
// send more than `most_packets` between GPUs. Chosen: some minutes of simulation.
inline constexpr uint64_t kMostPackets = 500'000'000;
void join_packets(sim::Setup& setup, uint64_t most_packets = kMostPackets);

}  // namespace tulle::scenario
