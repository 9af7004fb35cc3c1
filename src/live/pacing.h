// How fast a queue pair sends to another machine: an algorithm of transport/congestion in real
// time, as `tulle run --congestion` names it. What the network marks (ECN) comes back as
// notifications, whether an algorithm is named or not.
#pragma once

#include <string_view>
#include <vector>

#include "live/udp_addresses.h"
#include "transport/core.h"

namespace tulle::live {

class Pacing {
public:
    // Algorithms that need no further settings.
    static std::vector<std::string_view> names();
    // As TULLE_CONGESTION says; none if it says nothing.
    static transport::Algorithm wanted();

    Pacing() = default;
    // For queue pairs that send from these addresses.
    Pacing(transport::Algorithm algorithm, const std::vector<UdpAddress>& addresses);
    Pacing(const Pacing&) = delete;
    Pacing& operator=(const Pacing&) = delete;

    bool is_on() const { return algorithm_ != transport::Algorithm::none; }
    // Refers to this object.
    transport::CongestionControl control() const { return {algorithm_, settings_}; }

private:
    transport::Algorithm algorithm_ = transport::Algorithm::none;
    transport::AlgorithmSettings settings_;
};

}  // namespace tulle::live
