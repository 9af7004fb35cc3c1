// When the next packet of a queue pair may go: the seam for congestion control, one algorithm a
// file.
//
// An algorithm is told what happens (signals) and asked one question: after this packet, when may
// the next one go? Or it has a window, and says beforehand how many may be in flight. It keeps its
// state in the queue pair, advances it when it is used and never asks for a timer tick. All
// arithmetic is in integers. Settings are not state: queue pairs share them by a pointer. To add
// one: a file beside this one with a state structure and the functions below for it, a name in
// Algorithm, a member in the union, and a case in each switch of congestion.cc.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/dcqcn.h"
#include "transport/congestion/dctcp.h"
#include "transport/congestion/fixed_rate.h"
#include "transport/congestion/ib_cc.h"
#include "transport/congestion/timely.h"

namespace tulle::transport {

enum class Algorithm : uint8_t { none, fixed_rate, dcqcn, ib_cc, timely, dctcp };

// What the network told a sender.
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
    uint32_t packets_in_flight = 0;  // that are not acknowledged, with an ack or a loss
    base::Duration round_trip{};     // of the newest packet acknowledged; zero if not known
};

struct CongestionControl {
    Algorithm algorithm = Algorithm::none;
    // Packets that may be in flight, if the algorithm has a window; on_signal() keeps it.
    uint32_t window_packets = UINT32_MAX;
    union {
        FixedRate fixed_rate;
        Dcqcn dcqcn;
        IbCc ib_cc;
        Timely timely;
        Dctcp dctcp;
    };
    CongestionControl() : fixed_rate{} {}
    explicit CongestionControl(const FixedRate& state)
        : algorithm(Algorithm::fixed_rate), fixed_rate(state) {}
    explicit CongestionControl(const Dcqcn& state) : algorithm(Algorithm::dcqcn), dcqcn(state) {}
    explicit CongestionControl(const IbCc& state) : algorithm(Algorithm::ib_cc), ib_cc(state) {}
    explicit CongestionControl(const Timely& state) : algorithm(Algorithm::timely), timely(state) {}
    explicit CongestionControl(const Dctcp& state)
        : algorithm(Algorithm::dctcp), window_packets(state.window_packets()), dctcp(state) {}

    bool has_window() const { return window_packets != UINT32_MAX; }
};

void on_signal(CongestionControl& control, base::Instant now, const Signal& signal);

// Whether notifications of congestion change anything.
bool heeds_notifications(Algorithm algorithm);

// A packet of so many bytes on the wire leaves now; returns when the next one may.
base::Instant pace(CongestionControl& control, base::Instant now, uint32_t bytes);
inline base::Instant on_sent(CongestionControl& control, base::Instant now, uint32_t bytes) {
    return control.algorithm == Algorithm::none ? now : pace(control, now, bytes);
}

}  // namespace tulle::transport
