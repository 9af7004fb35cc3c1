// Rate and delay of a cable in a run: from the graph where it gives them, else from the fabric.
#pragma once

#include "sim/setup.h"

namespace tulle::sim {

inline constexpr int64_t kPicosecondsPerMillimetre = 5;  // light in glass: two thirds of its speed

inline base::Rate cable_rate(const Setup& setup, const topology::Cable& cable) {
    return cable.rate_bps != 0 ? base::Rate::bits_per_second(cable.rate_bps)
                               : setup.fabric.link.rate;
}
inline base::Rate cable_rate(const Setup& setup, uint32_t cable) {
    return cable_rate(setup, setup.graph.cables[cable]);
}

// The delay of the cable alone; coding and decoding at its ends are added to it.
inline Duration cable_delay(const Setup& setup, const topology::Cable& cable) {
    if (cable.delay.ps != 0) return cable.delay;
    if (cable.length_mm != 0) return {cable.length_mm * kPicosecondsPerMillimetre};
    return setup.fabric.link.delay;
}
inline Duration cable_delay(const Setup& setup, uint32_t cable) {
    return cable_delay(setup, setup.graph.cables[cable]);
}

}  // namespace tulle::sim
