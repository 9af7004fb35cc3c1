#include "transport/congestion/congestion.h"

namespace tulle::transport {
namespace {

bool is_notification(const Signal& signal) {
    return signal.kind == Signal::Kind::cnp || signal.kind == Signal::Kind::becn;
}

void tell(Dctcp& dctcp, const Signal& signal) {
    switch (signal.kind) {
        case Signal::Kind::cnp:
        case Signal::Kind::becn: return dctcp.on_mark();
        case Signal::Kind::ack:
            return dctcp.on_acknowledged(signal.acknowledged_packets, signal.packets_in_flight);
        case Signal::Kind::loss: return dctcp.on_loss(signal.packets_in_flight);
        case Signal::Kind::timeout: return dctcp.on_timeout();
    }
}

}  // namespace

void on_signal(CongestionControl& control, base::Instant now, const Signal& signal) {
    switch (control.algorithm) {
        case Algorithm::none:
        case Algorithm::fixed_rate: return;
        case Algorithm::dcqcn:
            if (is_notification(signal)) control.dcqcn.on_notification(now);
            return;
        case Algorithm::ib_cc:
            if (is_notification(signal)) control.ib_cc.on_notification(now);
            return;
        case Algorithm::timely:
            if (signal.round_trip.ps > 0) control.timely.on_round_trip(signal.round_trip);
            return;
        case Algorithm::dctcp:
            tell(control.dctcp, signal);
            control.window_packets = control.dctcp.window_packets();
            return;
    }
}

bool heeds_notifications(Algorithm algorithm) {
    return algorithm == Algorithm::dcqcn || algorithm == Algorithm::ib_cc ||
           algorithm == Algorithm::dctcp;
}

base::Instant pace(CongestionControl& control, base::Instant now, uint32_t bytes) {
    switch (control.algorithm) {
        case Algorithm::none: return now;
        case Algorithm::fixed_rate: return control.fixed_rate.on_sent(now, bytes);
        case Algorithm::dcqcn: return control.dcqcn.on_sent(now, bytes);
        case Algorithm::ib_cc: return control.ib_cc.on_sent(now, bytes);
        case Algorithm::timely: return control.timely.on_sent(now, bytes);
        case Algorithm::dctcp: return now;
    }
    return now;
}

}  // namespace tulle::transport
