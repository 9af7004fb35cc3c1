// When the next packet of a queue pair may be sent: the seam for congestion control. Each algorithm
// has a file.
//
// An algorithm receives signals, and answers one question: after this packet, when may the next one
// be sent? Or it has a window, and says in advance how many packets may be in flight. Its state is
// in the queue pair; it is updated when used, and never needs a timer. All arithmetic is in
// integers. Settings are not state: queue pairs share them by a pointer.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/rate.h"
#include "base/time.h"
#include "transport/congestion/algorithms.h"
#include "transport/congestion/signal.h"

namespace tulle::transport {

#define TULLE_NAME(name, Class) name,
enum class Algorithm : uint8_t { none, TULLE_ALGORITHMS(TULLE_NAME) };
#undef TULLE_NAME

// The requirements on a class of the list.
template <class A>
concept IsAlgorithm = requires(A state, const typename A::Settings& settings,
                               typename A::Settings& own, base::Instant now, const Signal& signal,
                               base::Rate line) {
    A(settings);
    state.on_signal(now, signal);
    { state.on_sent(now, uint32_t{}) } -> std::same_as<base::Instant>;
    { A::kNature } -> std::convertible_to<Nature>;
    // Settings learn the line rate, check themselves, and are described for scenarios by `template
    // <class Table> static void describe(Table& table)`. Errors are sentences that begin with the
    // algorithm's name; an empty one means no error.
    { own.set_line(line) } -> std::same_as<std::string_view>;
    { settings.wrong() } -> std::same_as<std::string_view>;
    requires sizeof(A) <= 64;
};

#define TULLE_CHECKED(name, Class) static_assert(IsAlgorithm<Class>);
TULLE_ALGORITHMS(TULLE_CHECKED)
#undef TULLE_CHECKED

// The settings of each algorithm, by its name.
struct AlgorithmSettings {
#define TULLE_SETTINGS(name, Class) Class::Settings name;
    TULLE_ALGORITHMS(TULLE_SETTINGS)
#undef TULLE_SETTINGS
};

struct CongestionControl {
    Algorithm algorithm = Algorithm::none;
    bool probes = false;  // the next packet asks for an answer
    // Packets that may be in flight, if the algorithm has a window; on_signal() updates it.
    uint32_t window_packets = UINT32_MAX;
    union {
#define TULLE_STATE(name, Class) Class name;
        TULLE_ALGORITHMS(TULLE_STATE)
#undef TULLE_STATE
    };

    CongestionControl() : fixed_rate{} {}
    CongestionControl(Algorithm chosen, const AlgorithmSettings& settings);
#define TULLE_CONSTRUCTOR(name, Class)                                                         \
    explicit CongestionControl(const Class& state) : algorithm(Algorithm::name), name(state) { \
        take_window(state);                                                                    \
    }
    TULLE_ALGORITHMS(TULLE_CONSTRUCTOR)
#undef TULLE_CONSTRUCTOR

    bool has_window() const {
        return window_packets != UINT32_MAX;
    }
    template <class A>
    void take_window(const A& state) {
        if constexpr (requires { state.window_packets(); }) window_packets = state.window_packets();
        if constexpr (requires { state.probes(); }) probes = state.probes();
    }
};

// With a window, at least every second packet asks for an acknowledgement, as TCP receivers answer
// (RFC 5681, 4.2).
inline constexpr uint32_t kWindowAcknowledgeAt = 2;

constexpr Nature nature_of(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::none: break;
#define TULLE_NATURE(name, Class) \
    case Algorithm::name: return Class::kNature;
            TULLE_ALGORITHMS(TULLE_NATURE)
#undef TULLE_NATURE
    }
    return {};
}

// One bit for each algorithm whose packets set ECT.
inline constexpr uint32_t kEcnCapable = [] {
    uint32_t bits = 0;
#define TULLE_BIT(name, Class) \
    bits |= uint32_t{Class::kNature.is_ecn_capable} << int(Algorithm::name);
    TULLE_ALGORITHMS(TULLE_BIT)
#undef TULLE_BIT
    return bits;
}();
constexpr bool is_ecn_capable(Algorithm algorithm) {
    return (kEcnCapable >> static_cast<uint32_t>(algorithm) & 1) != 0;
}

// Whether the algorithm reacts to congestion notifications.
constexpr bool heeds_notifications(Algorithm algorithm) {
    return nature_of(algorithm).heeds_notifications;
}

// The name in scenarios.
constexpr std::string_view name_of(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::none: break;
#define TULLE_SPELT(name, Class) \
    case Algorithm::name: return #name;
            TULLE_ALGORITHMS(TULLE_SPELT)
#undef TULLE_SPELT
    }
    return "none";
}

// Calls visit(name, algorithm, member of AlgorithmSettings, class) for each algorithm.
template <class Visit>
void for_each_algorithm(Visit&& visit) {
#define TULLE_VISIT(name, Class)                                              \
    visit(std::string_view(#name), Algorithm::name, &AlgorithmSettings::name, \
          std::type_identity<Class>{});
    TULLE_ALGORITHMS(TULLE_VISIT)
#undef TULLE_VISIT
}

void on_signal(CongestionControl& control, base::Instant now, const Signal& signal);

// A packet of this many bytes on the wire leaves now; returns when the next one may.
base::Instant pace(CongestionControl& control, base::Instant now, uint32_t bytes);
inline base::Instant on_sent(CongestionControl& control, base::Instant now, uint32_t bytes) {
    return control.algorithm == Algorithm::none ? now : pace(control, now, bytes);
}

// When the next packet could be sent after one of this many bytes, without sending any: for
// observers.
base::Instant would_send(const CongestionControl& control, base::Instant now, uint32_t bytes);

}  // namespace tulle::transport
