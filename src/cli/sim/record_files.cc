#include "cli/sim/record_files.h"

namespace tulle::cli {

RecordFiles::RecordFiles(const sim::Setup& setup, Output* capture, Output* timeline,
                         bool keeps_trace)
    : capture_(capture), keeps_trace_(keeps_trace) {
    if (capture != nullptr) {
        capture_writer_.emplace(setup, report::tapped_cables(setup), bytes_);
        write_capture();
    }
    if (timeline != nullptr)
        timeline_writer_.emplace(setup,
                                 [timeline](std::string_view text) { timeline->write(text); });
}

void RecordFiles::add(const sim::Records& records) {
    if (capture_writer_) {
        capture_writer_->add(records.captured, bytes_);
        write_capture();
    }
    if (timeline_writer_) timeline_writer_->add(records.trace);
    if (keeps_trace_) trace_.insert(trace_.end(), records.trace.begin(), records.trace.end());
}

void RecordFiles::finish(const report::Facts& facts) {
    if (timeline_writer_) timeline_writer_->finish(facts);
}

void RecordFiles::write_capture() {
    capture_->write({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
    bytes_.clear();
}

}  // namespace tulle::cli
