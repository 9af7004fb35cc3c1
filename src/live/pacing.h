// Congestion control of queue pairs that send to another machine: an algorithm of
// transport/congestion in real time, named by `tulle run --congestion`. Packets that the network
// marks (ECN) are answered with notifications, whether an algorithm is named or not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "live/udp_addresses.h"
#include "transport/adapter.h"
#include "transport/core.h"

namespace tulle::live {

class Pacing {
public:
    static constexpr uint64_t kUsualLine = 100'000'000'000;  // the rate that the port reports

    // Algorithms that need no further settings.
    static std::vector<std::string_view> names();
    // The algorithm in TULLE_CONGESTION, a name or the file of a plug-in; none if it is not set.
    static transport::Algorithm wanted();

    Pacing() = default;
    // For queue pairs that send from these addresses.
    Pacing(transport::Algorithm algorithm, const std::vector<UdpAddress>& addresses);
    Pacing(const Pacing&) = delete;
    Pacing& operator=(const Pacing&) = delete;

    bool is_on() const { return algorithm_ != transport::Algorithm::none; }
    // Why the requested plug-in cannot be used; empty if it can.
    const std::string& problem() const { return problem_; }
    // Ends the process if a plug-in has broken a rule: results measured with it are worthless.
    void end_if_failed(transport::Adapter& adapter) const {
        if (settings_.plugin.loaded && settings_.plugin.loaded->faults() != 0) [[unlikely]]
            end(adapter);
    }
    // The result refers to this object.
    transport::CongestionControl control() const { return {algorithm_, settings_}; }

private:
    static void end(transport::Adapter& adapter);

    transport::Algorithm algorithm_ = transport::Algorithm::none;
    transport::AlgorithmSettings settings_;
    std::string problem_;
};

}  // namespace tulle::live
