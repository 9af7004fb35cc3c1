// What the network tells a sender, and what an algorithm of congestion control says of itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace tulle::transport {

struct Signal {
    enum class Kind : uint8_t {
        cnp,      // a congestion notification packet came
        becn,     // an acknowledgement with the BECN bit
        ack,      // data was acknowledged
        loss,     // the receiver misses a packet
        timeout,  // nothing came for the time of the local ACK timeout
    };
    Kind kind = Kind::ack;
    bool marked = false;  // the packet that brought it was marked (FECN, ECN)
    uint32_t acknowledged_packets = 0;
    uint32_t trimmed_packets = 0;    // with an ack: so many lost their payload on the way
    uint32_t packets_in_flight = 0;  // that are not acknowledged, with an ack or a loss
    base::Duration round_trip{};     // of the newest packet acknowledged; zero if not known

    bool is_notification() const { return kind == Kind::cnp || kind == Kind::becn; }
};

// What does not change while it runs.
struct Nature {
    bool heeds_notifications = false;       // CNPs and BECNs change something
    bool is_ecn_capable = false;            // its packets say so, that switches mark them: ECT(0)
    bool wants_marks_in_answers = false;    // notifications.way has to be `answer`
    std::string_view without_answers = {};  // what an unreliable service would leave it without
};

}  // namespace tulle::transport
