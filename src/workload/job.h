// Builds a job: phases one after the other, each on the same ranks.
//
// A rank begins a phase when it has ended the previous one: all of its messages are known to have
// arrived, and it has received all that it expects. Ranks do not wait for each other otherwise, so
// a fast rank may be a phase ahead, as in a real job.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workload/placement.h"
#include "workload/program.h"
#include "workload/range.h"

namespace tulle::workload {

// The contents of a message: which bytes of the phase's buffer, and what the receiver does with
// them. A simulation needs only the sizes. Pass a ledger to learn which rank holds which data.
struct Content {
    enum class Effect : uint8_t { none, copy, reduce };
    Effect effect = Effect::none;
    Range range;
};
using Ledger = std::vector<Content>;  // indexed by task

class JobBuilder {
public:
    // Jobs that run at the same time must use different channels: see end_channel().
    JobBuilder(Program& program, const Job& job, Placement placement, uint16_t first_channel = 0,
               Ledger* ledger = nullptr);

    // Continues a job that is in the program already.
    JobBuilder(Program& program, Placement placement, uint32_t job, uint16_t first_channel);

    const Placement& placement() const { return placement_; }
    const Program& program() const { return program_; }

    // Begins a phase; the previous one must have ended. Fills in its job and ranks.
    void begin(Phase phase);
    // Adds a phase in which all ranks compute for `duration`.
    void compute(const std::string& name, base::Duration duration);
    // A kernel starts on all ranks: their other tasks of this phase wait for it.
    void launch(base::Duration duration);
    // Ends the phase: later tasks of any rank wait for it.
    void end();

    // Adds a task of a member, with `needs` and the dependencies that the phase implies. `member`
    // and `peer` are members; their ranks and the phase are filled in.
    uint32_t add(Task task, uint32_t member, uint32_t peer, std::span<const uint32_t> needs,
                 const Content& content = {});

    // Between phases: the task that a member waits for before it begins the next one.
    void enter_after(uint32_t member, uint32_t task) { entry_[member] = task; }
    // The task that a member waits for before it begins this phase; kNoTask: nothing.
    uint32_t entry(uint32_t member) const { return entry_[member]; }
    // The first unused channel.
    uint16_t end_channel() const { return end_channel_; }

private:
    bool is_entered(uint32_t member, std::span<const uint32_t> needs) const;
    std::vector<std::vector<uint32_t>> last_tasks() const;

    Program& program_;
    Placement placement_;
    Ledger* ledger_;
    uint32_t job_ = 0;
    uint32_t phase_ = 0;
    uint32_t phase_begin_ = 0;  // its first task
    bool in_phase_ = false;
    uint16_t first_channel_ = 0;
    uint16_t end_channel_ = 0;
    std::vector<uint32_t> entry_;      // of each member
    std::vector<uint32_t> member_of_;  // by task of the phase: the member that does it
    std::vector<uint32_t> peer_of_;
    std::vector<uint32_t> needs_;  // of the task that is being added
};

}  // namespace tulle::workload
