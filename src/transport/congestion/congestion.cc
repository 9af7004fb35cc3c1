#include "transport/congestion/congestion.h"

namespace tulle::transport {
namespace {

// Only an algorithm with probes() can change its window when a packet is sent.
template <class A>
base::Instant pace_by(CongestionControl& control, A& state, base::Instant now, uint32_t bytes) {
    const base::Instant next = state.on_sent(now, bytes);
    if constexpr (requires { state.probes(); }) control.take_window(state);
    return next;
}

// Algorithms change state when asked, so this asks a copy. An algorithm with its state elsewhere
// has its own would_send().
template <class A>
base::Instant ask(const A& state, base::Instant now, uint32_t bytes) {
    if constexpr (requires { state.would_send(now, bytes); }) {
        return state.would_send(now, bytes);
    } else {
        A copy = state;
        return copy.on_sent(now, bytes);
    }
}

}  // namespace

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
    case Algorithm::name: return pace_by(control, control.name, now, bytes);
            TULLE_ALGORITHMS(TULLE_PACE)
#undef TULLE_PACE
    }
    return now;
}

base::Instant would_send(const CongestionControl& control, base::Instant now, uint32_t bytes) {
    switch (control.algorithm) {
        case Algorithm::none: return now;
#define TULLE_ASK(name, Class) \
    case Algorithm::name: return ask(control.name, now, bytes);
            TULLE_ALGORITHMS(TULLE_ASK)
#undef TULLE_ASK
    }
    return now;
}

}  // namespace tulle::transport
