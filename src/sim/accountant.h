// From what hosts noted of the messages of a chain to the shares of the run's time.
#pragma once

#include "sim/network.h"
#include "sim/ranks.h"

namespace tulle::sim {

TimeAccount account_for(const Setup& setup, const std::vector<ChainLink>& chain, const Ranks& ranks,
                        const Network& network, const Network* scale_up);

}  // namespace tulle::sim
