// What is simulated instead of more of its kind. With --skip, trees and chains that send very many
// packets are simulated on one of the rails (alike_rails.h) and, if that is not little enough, in
// bursts (bursts.h).
//
// A small part of the work is simulated in full and so. The difference is the estimated error, of
// bursts at least one percent.
//
// Under congestion control chance decides: under DCQCN an all-reduce of 1 GiB on 64 GPUs took 11.4
// to 13.5 ms with three seeds and single packets, and 11.5 ms in bursts. So the part is simulated
// with several seeds. The estimated error is the far end of the interval in which the difference of
// two more runs, one in full and one so, lies with 95 %, by Student's distribution: with three
// seeds the largest difference among them says too little.
#pragma once

#include <cstdint>
#include <span>

#include "sim/setup.h"

namespace tulle::scenario {

// Takes stand-ins if the setup skips and its only work are trees and chains that are generated and
// send more than `most_packets` between GPUs. Chosen: some minutes of simulation.
inline constexpr uint64_t kMostPackets = 500'000'000;
void take_stand_ins(sim::Setup& setup, uint64_t most_packets = kMostPackets);

// The estimated error of runs that took `found` with the seeds with which full runs took `full`, as
// a millionth of what those took.
int64_t doubt_of(std::span<const int64_t> found, std::span<const int64_t> full);

}  // namespace tulle::scenario
