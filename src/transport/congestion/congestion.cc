#include "transport/congestion/congestion.h"

namespace tulle::transport {

void on_signal(CongestionControl& control, base::Instant, const Signal&) {
    switch (control.algorithm) {
        case Algorithm::none:
        case Algorithm::fixed_rate: return;
    }
}

}  // namespace tulle::transport
