// What a trace shows of single links and senders over time, reduced to the size of a chart.
#pragma once

#include <utility>
#include <vector>

#include "sim/result.h"

namespace tulle::report {

// A sending port, all its lanes together.
struct LinkSeries {
    uint32_t node = 0;
    uint16_t port = 0;
    std::vector<uint64_t> queue_bytes{};    // the most of any lane, per bin
    std::vector<uint64_t> held_permille{};  // share of each bin in which a lane could not send
    std::vector<uint64_t> marks{};          // per bin
};

// Fills all of them, and returns the length of a bin.
base::Duration fill(const sim::Result& result, std::vector<LinkSeries>& links);

// The rate limit of a queue pair, from each of these times on.
struct SenderRate {
    uint32_t node = 0;
    uint32_t queue_pair = 0;
    uint32_t peer = 0;
    std::vector<std::pair<base::Instant, uint64_t>> points{};  // bits a second
};

// Those slowed most come first. Excess points are thinned out.
std::vector<SenderRate> sender_rates(const sim::Result& result);

}  // namespace tulle::report
