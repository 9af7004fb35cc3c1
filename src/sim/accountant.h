// Splits the time of a run into shares, from the notes that hosts made of the chain's messages.
#pragma once

#include "sim/network.h"
#include "sim/ranks.h"

namespace tulle::sim {

TimeAccount account_for(const Setup& setup, const std::vector<ChainLink>& chain, const Ranks& ranks,
                        const Network& network, const Network* scale_up);

}  // namespace tulle::sim
