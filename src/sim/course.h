// Chooses the next window of a simulation, and decides when a run is over.
//
// Most runs end because no event is left. Some never reach that point: PFC repeats a pause as long
// as its reason lasts, and neither a pause storm nor a circle of full buffers ends by itself. So a
// run is also over a while after its last flow has ended, and once no packet has moved for longer
// than any timer. Both rules use simulated time alone, so the number of partitions does not matter.
#pragma once

#include "sim/simulation.h"

namespace tulle::sim {

class Course {
public:
    Course(const Setup& setup, Simulation& simulation);

    // Chooses the next window. Call it after the current one was advanced and exchanged.
    void choose();

    bool is_over() const { return window_ == Simulation::kNoWindow; }
    uint64_t window() const { return window_; }
    void stop(Result::End end);
    Result::End end() const { return end_; }

private:
    // Reads the longest timer of a network, and the time of the last input from outside.
    void look_at(const Setup& network);
    bool is_idle(Instant at);
    bool has_settled(Instant at);
    bool all_work_ended();

    const Setup& setup_;
    Simulation& simulation_;
    uint64_t window_ = 0;
    Result::End end_ = Result::End::done;
    size_t ends_seen_ = 0;
    Instant last_end_ = Instant::never();  // of all flows and the program
    Instant last_input_{};                 // no flow, job, fault or table write begins after this
    Duration quiet_{};        // after this long without a packet no more packets will come
    int64_t period_ = 0;      // the last one that was checked; each is as long as `quiet_`
    uint64_t hops_ = 0;       // before that period
    bool was_quiet_ = false;  // nothing moved before it
};

}  // namespace tulle::sim
