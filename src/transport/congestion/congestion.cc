#include "transport/congestion/congestion.h"

namespace tulle::transport {

CongestionControl::CongestionControl(Algorithm chosen, const AlgorithmSettings& settings)
    : CongestionControl() {
    switch (chosen) {
        case Algorithm::none: break;
#define TULLE_CHOOSE(name, Class) \
    case Algorithm::name: *this = CongestionControl(Class(settings.name)); break;
            TULLE_ALGORITHMS(TULLE_CHOOSE)
#undef TULLE_CHOOSE
    }
}

void on_signal(CongestionControl& control, base::Instant now, const Signal& signal) {
    switch (control.algorithm) {
        case Algorithm::none: return;
#define TULLE_TELL(name, Class)              \
    case Algorithm::name:                    \
        control.name.on_signal(now, signal); \
        return control.take_window(control.name);
            TULLE_ALGORITHMS(TULLE_TELL)
#undef TULLE_TELL
    }
}

base::Instant pace(CongestionControl& control, base::Instant now, uint32_t bytes) {
    switch (control.algorithm) {
        case Algorithm::none: return now;
#define TULLE_PACE(name, Class) \
    case Algorithm::name: return control.name.on_sent(now, bytes);
            TULLE_ALGORITHMS(TULLE_PACE)
#undef TULLE_PACE
    }
    return now;
}

}  // namespace tulle::transport
