// What a trace shows of single links and senders over time, in few enough numbers for a chart.
#pragma once

#include <utility>
#include <vector>

#include "sim/result.h"

namespace tulle::report {

// Of a sending port, all its lanes together.
struct LinkSeries {
    uint32_t node = 0;
    uint16_t port = 0;
    std::vector<uint64_t> queue_bytes{};    // the most of any lane, of each bin
    std::vector<uint64_t> held_permille{};  // how much of each bin a lane could not send
    std::vector<uint64_t> marks{};          // in each bin
};

// Fills all of them, and says how long a bin is.
base::Duration fill(const sim::Result& result, std::vector<LinkSeries>& links);

// How fast a queue pair was allowed to send, from each of these times on.
struct SenderRate {
    uint32_t node = 0;
    uint32_t queue_pair = 0;
    uint32_t peer = 0;
    std::vector<std::pair<base::Instant, uint64_t>> points{};  // bits a second
};

// Those that were slowed most come first. Points are thinned out where there are too many.
std::vector<SenderRate> sender_rates(const sim::Result& result);

}  // namespace tulle::report
