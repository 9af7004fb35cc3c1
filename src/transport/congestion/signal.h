// The signals of the network to a sender, and the properties of a congestion control algorithm.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace tulle::wire {
class Telemetry;
}

namespace tulle::transport {

struct Signal {
    enum class Kind : uint8_t {
        cnp,            // a congestion notification packet arrived
        becn,           // an acknowledgement with the BECN bit
        ack,            // data was acknowledged
        loss,           // the receiver reports a missing packet
        timeout,        // no answer within the local ACK timeout
        back_pressure,  // a switch reports how many share the port of the receiver
    };
    Kind kind = Kind::ack;
    bool marked = false;  // the packet with the signal was marked (FECN, ECN)
    uint32_t acknowledged_packets = 0;
    uint32_t trimmed_packets = 0;    // with an ack: packets that lost their payload on the way
    uint32_t sharers = 0;            // with back_pressure
    uint32_t packets_in_flight = 0;  // not acknowledged, with an ack or a loss
    base::Duration round_trip{};     // of the newest acknowledged packet; zero if unknown
    // Of a trimmed packet, which waited in no data queue; zero if unknown.
    base::Duration trimmed_round_trip{};
    // Telemetry of switches from the packet that an ack answers, and from one answered before; null
    // if none.
    const wire::Telemetry* telemetry = nullptr;
    const wire::Telemetry* telemetry_before = nullptr;

    bool is_notification() const { return kind == Kind::cnp || kind == Kind::becn; }
};

// Constant properties of an algorithm.
struct Nature {
    bool heeds_notifications = false;       // reacts to CNPs and BECNs
    bool is_ecn_capable = false;            // its packets set ECT(0), so that switches mark them
    bool wants_marks_in_answers = false;    // notifications.way must be `answer`
    bool grants_credit = false;             // receivers grant credit (../credit/credit.h)
    bool wants_telemetry = false;           // its packets ask switches for telemetry
    std::string_view without_answers = {};  // what it lacks with an unreliable service
};

}  // namespace tulle::transport
