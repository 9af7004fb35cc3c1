// Builds a job: phases one after the other, each on the same ranks.
//
// A rank begins a phase when it has ended the one before: when all that it sent is known to have
// arrived and all that it is to receive is here. Ranks do not wait for each other otherwise, so a
// fast one may be a phase ahead, as in a real job.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workload/placement.h"
#include "workload/program.h"
#include "workload/range.h"

namespace tulle::workload {

// What a message carries: which bytes of the phase's buffer, and what the receiver does with them.
// A simulation needs only the sizes; whoever wants to know who holds what asks for a ledger.
struct Content {
    enum class Effect : uint8_t { none, copy, reduce };
    Effect effect = Effect::none;
    Range range;
};
using Ledger = std::vector<Content>;  // by task

class JobBuilder {
public:
    // Channels of jobs that run at once must differ: see end_channel().
    JobBuilder(Program& program, const Job& job, Placement placement, uint16_t first_channel = 0,
               Ledger* ledger = nullptr);

    // Of a job that is in the program already.
    JobBuilder(Program& program, Placement placement, uint32_t job, uint16_t first_channel);

    const Placement& placement() const { return placement_; }
    const Program& program() const { return program_; }

    // A phase begins, and the one before is over. Its job and ranks are filled in.
    void begin(Phase phase);
    // All ranks compute for so long.
    void compute(const std::string& name, base::Duration duration);
    // A kernel starts on all ranks: what they do in this phase waits for it.
    void launch(base::Duration duration);
    // The phase is over: what follows in any rank waits for it.
    void end();

    // Adds a task of a member, and what it waits for by being of this phase. `peer` is a member
    // too; of both, the ranks are filled in, and the phase.
    uint32_t add(Task task, uint32_t member, uint32_t peer, std::span<const uint32_t> needs,
                 const Content& content = {});

    // Between phases: what a member waits for before it does anything in the next one.
    void enter_after(uint32_t member, uint32_t task) { entry_[member] = task; }
    // What a member waits for before it does anything in this phase; kNoTask: nothing.
    uint32_t entry(uint32_t member) const { return entry_[member]; }
    // The first channel that no task has used.
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
    std::vector<uint32_t> member_of_;  // of each task of the phase: who does it
    std::vector<uint32_t> peer_of_;
    std::vector<uint32_t> needs_;  // of the task that is being added
};

}  // namespace tulle::workload
