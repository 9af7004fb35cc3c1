// Rails that are alike. With --skip, an all-reduce by trees is simulated on one rail of its
// servers, which stands for all of them.
//
// A tree of channel c is the same for every c but for where it is: it begins at GPU c of a server,
// uses that GPU's adapter, and its chain goes on to the GPUs c + 1, c + 2 and so on. So whoever
// numbers GPUs, adapters and channels from another rail on finds the same job, and what GPU g does
// for channel c at some time, GPU 0 does for channel c - g. So channel 0 is simulated with all GPUs
// of a server where GPU 0 is: its port inside the server sends and receives for the whole chain,
// which is what it would send and receive for all channels.
//
// What this changes: which packets meet by chance. Senders hash other addresses; and where chance
// differs from rail to rail, the slowest rail takes longer than one of them.
#pragma once

#include <cstdint>

#include "sim/setup.h"

namespace tulle::scenario {

// The number of rails if the work is such trees and nothing tells its rails apart; otherwise 1.
uint32_t alike_rails(const sim::Setup& setup);

// Simulates one of them instead of all.
void fold_rails(sim::Setup& setup);

}  // namespace tulle::scenario
