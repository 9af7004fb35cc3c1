#include "transport/congestion/congestion.h"

namespace tulle::transport {

void on_signal(CongestionControl& control, base::Instant, const Signal&) {
    switch (control.algorithm) {
        case Algorithm::none:
        case Algorithm::fixed_rate: return;
    }
}

base::Instant on_sent(CongestionControl& control, base::Instant now, uint32_t bytes) {
    switch (control.algorithm) {
        case Algorithm::none: return now;
        case Algorithm::fixed_rate: return control.fixed_rate.on_sent(now, bytes);
    }
    return now;
}

}  // namespace tulle::transport
