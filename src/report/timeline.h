// A run as a timeline for Perfetto and Chrome (trace event format): one track per flow, and for
// each link its queues and rates as counters, pauses as slices, drops and marks as instants.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "report/facts.h"

namespace tulle::report {

// Writes a timeline during the run: links as events happen, flows at the end.
class Timeline {
public:
    using Sink = std::function<void(std::string_view)>;

    Timeline(const sim::Setup& setup, Sink sink);
    ~Timeline();
    // In order of time.
    void add(std::span<const sim::TraceSample> events);
    void finish(const Facts& facts);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// The same for a result with the whole trace.
std::string timeline(const Facts& facts);

}  // namespace tulle::report
