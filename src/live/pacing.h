// How fast a queue pair sends to another machine: an algorithm of transport/congestion in real
// time, as `tulle run --congestion` names it. What the network marks (ECN) comes back as
// notifications, whether an algorithm is named or not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "live/udp_addresses.h"
#include "transport/core.h"

namespace tulle::live {

class Pacing {
public:
    static constexpr uint64_t kUsualLine = 100'000'000'000;  // what the port says of itself

    // Algorithms that need no further settings.
    static std::vector<std::string_view> names();
    // As TULLE_CONGESTION says, a name or the file of a plug-in; none if it says nothing.
    static transport::Algorithm wanted();

    Pacing() = default;
    // For queue pairs that send from these addresses.
    Pacing(transport::Algorithm algorithm, const std::vector<UdpAddress>& addresses);
    Pacing(const Pacing&) = delete;
    Pacing& operator=(const Pacing&) = delete;

    bool is_on() const { return algorithm_ != transport::Algorithm::none; }
    // Why the plug-in that was asked for cannot be used; empty if nothing is wrong.
    const std::string& problem() const { return problem_; }
    // A plug-in has done what it must not.
    bool has_failed() const {
        return settings_.plugin.loaded && settings_.plugin.loaded->faults() != 0;
    }
    // Refers to this object.
    transport::CongestionControl control() const { return {algorithm_, settings_}; }

private:
    transport::Algorithm algorithm_ = transport::Algorithm::none;
    transport::AlgorithmSettings settings_;
    std::string problem_;
};

}  // namespace tulle::live
