// One phase of a job as a list of transfers between members of it.
//
// An algorithm says who sends which bytes to whom, in an order in which that could be done. What
// each transfer waits for follows from the data: the messages that made those bytes what they are
// at the sender (holdings.h), and the one `window` messages before it on the same connection, which
// has to be known to have arrived: NCCL's buffer of 8 steps.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "workload/collectives/library.h"
#include "workload/holdings.h"
#include "workload/job.h"
#include "workload/range.h"

namespace tulle::workload {

struct Chunking {
    uint64_t chunk = 512 << 10;  // bytes of a message at most
    uint32_t window = 8;         // messages of a connection on their way at most; 0: any number
    // The same of contributions to a sum in a switch; 0: as the window.
    uint32_t sum_window = 0;
    // The same of messages inside a server; 0: as the window. NCCL's threads store into the memory
    // of the neighbour themselves: a channel copies one slice after the other.
    uint32_t inside_window = 0;
    // Pieces of a block that a ring has on its way at once; 0: as the window.
    uint32_t slices = 0;

    uint32_t at_once() const { return slices != 0 ? slices : window; }
};

class Exchange {
public:
    // Of the phase that the job is in.
    Exchange(JobBuilder& job, const Chunking& chunking, const Software& software = {});

    const Placement& placement() const { return job_.placement(); }
    const Chunking& chunking() const { return chunking_; }

    // Members send what they hold of the range. Nothing is sent of an empty one: kNoTask then.
    // The task also waits for `after`, which is one of the sender's own.
    uint32_t copy(uint32_t from, uint32_t to, Range range, uint16_t channel,
                  uint32_t after = kNoTask);
    uint32_t reduce(uint32_t from, uint32_t to, Range range, uint16_t channel,
                    uint32_t after = kNoTask);
    // The messages to come are of the same step as those before them, or of a new one.
    void continue_step(bool continues) { continues_ = continues; }
    // All of the owner's server give their part to the switch, and the owner gets the sum.
    void reduce_in_switch(uint32_t owner, Range range, uint16_t channel);
    // All of the owner's server get what it holds.
    void multicast(uint32_t owner, Range range, uint16_t channel);

    // The last message that the range waits for at a member: what is ready earlier has less.
    uint32_t ready_after(uint32_t member, Range range);

    // The range in equal pieces of a chunk at most.
    uint64_t piece_count(Range range) const { return parts_of(range.size(), chunking_.chunk); }

private:
    struct Transfer {
        Task::Kind kind = Task::Kind::send;
        Content::Effect effect = Content::Effect::copy;
        uint32_t from = 0;
        uint32_t to = 0;
        Range range;
        uint16_t channel = 0;
        uint32_t after = kNoTask;
        uint32_t reduction = kNoTask;
    };
    uint32_t send(Content::Effect effect, uint32_t from, uint32_t to, Range range, uint16_t channel,
                  uint32_t after);
    uint32_t add(const Transfer& transfer);
    uint32_t window_of(const Transfer& transfer) const;
    uint32_t task_in_the_way(const Transfer& transfer) const;
    void remember(const Transfer& transfer, uint32_t task);

    JobBuilder& job_;
    Chunking chunking_;
    Software software_;
    bool continues_ = false;
    uint32_t begin_;
    Holdings::Lists lists_;
    std::vector<Holdings> holdings_;                  // of each member
    std::unordered_map<uint64_t, uint32_t> last_on_;  // connection: its last message
    std::vector<uint32_t> before_on_its_connection_;  // of each task
    std::vector<uint32_t> needs_;                     // of the transfer at hand
};

}  // namespace tulle::workload
