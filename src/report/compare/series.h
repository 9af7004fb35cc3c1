// What a trace shows over time, reduced to the size of a chart.
#pragma once

#include <vector>

#include "sim/result.h"

namespace tulle::report {

struct TimeSeries {
    base::Duration bin{};                // 0: there is no trace
    std::vector<uint64_t> queue_bytes;   // the deepest queue that a packet met, per bin
    std::vector<uint64_t> paused_ports;  // average per bin, in thousandths

    bool empty() const { return bin.ps == 0; }
};

TimeSeries series_of(const sim::Result& result);

}  // namespace tulle::report
