// A run as a timeline that Perfetto and Chrome show (trace event format): a track a flow, and for
// each link its queues and rates as counters, pauses as slices, drops and marks as instants.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "report/facts.h"

namespace tulle::report {

// Writes a timeline while the run goes on: links as things happen, flows in the end.
class Timeline {
public:
    using Sink = std::function<void(std::string_view)>;

    Timeline(const sim::Setup& setup, Sink sink);
    ~Timeline();
    // In the order of time.
    void add(std::span<const sim::TraceEvent> events);
    void finish(const Facts& facts);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// The same of a result that has the whole trace.
std::string timeline(const Facts& facts);

}  // namespace tulle::report
