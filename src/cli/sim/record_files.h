// The files that are written while a run goes on, because they grow with each packet: the capture
// and the timeline.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cli/output.h"
#include "report/capture_report.h"
#include "report/timeline.h"
#include "sim/result.h"

namespace tulle::cli {

class RecordFiles {
public:
    // A null stream is not wanted. `keeps_trace`: keep the trace in memory for another output.
    RecordFiles(const sim::Setup& setup, Output* capture, Output* timeline, bool keeps_trace);

    void add(const sim::Records& records);
    // Writes the rest after the run, and returns the kept trace.
    void finish(const report::Facts& facts);
    std::vector<sim::TraceSample> take_trace() { return std::move(trace_); }

private:
    void write_capture();

    Output* capture_;
    std::vector<std::byte> bytes_;
    std::optional<report::CaptureWriter> capture_writer_;
    std::optional<report::Timeline> timeline_writer_;
    bool keeps_trace_;
    std::vector<sim::TraceSample> trace_;
};

}  // namespace tulle::cli
