// Which window of a simulation comes next, and when a run is over.
//
// Most runs end because nothing is left to happen. Some never come to that: pauses of PFC are said
// again for as long as their reason lasts, and neither a storm nor a circle of full buffers ends by
// itself. So a run is also over a while after its last flow has ended, and once no packet has moved
// for longer than any timer waits. Both are told by simulated time alone, so that the number of
// partitions does not matter.
#pragma once

#include "sim/simulation.h"

namespace tulle::sim {

class Course {
public:
    Course(const Setup& setup, Simulation& simulation);

    // To be called again once the window was advanced and exchanged.
    void choose();

    bool is_over() const { return window_ == Simulation::kNoWindow; }
    uint64_t window() const { return window_; }
    void stop(Result::End end);
    Result::End end() const { return end_; }

private:
    // How long its timers wait, and when it is disturbed for the last time.
    void look_at(const Setup& network);
    bool is_idle(Instant at);
    bool all_work_ended();

    const Setup& setup_;
    Simulation& simulation_;
    uint64_t window_ = 0;
    Result::End end_ = Result::End::done;
    size_t ends_seen_ = 0;
    Instant last_end_ = Instant::never();  // of all flows and the program
    Instant last_input_{};                 // after this nobody does anything from outside
    Duration quiet_{};                     // so long without a packet, and none will come
    int64_t period_ = 0;                   // of that length, that was looked at last
    uint64_t hops_ = 0;                    // before it
};

}  // namespace tulle::sim
