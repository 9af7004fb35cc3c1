// One phase of a job as a list of transfers between its members.
//
// An algorithm lists transfers in an order in which they could be done. Their dependencies follow
// from the data. A transfer waits for the messages that produced its bytes at the sender
// (holdings.h). It also waits until the message `window` places before it on the same connection is
// known to have arrived: NCCL's buffer of 8 steps.
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
    uint64_t chunk = 512 << 10;  // most bytes of a message
    uint32_t window = 8;         // most messages in flight on a connection; 0: no limit
    // The same for contributions to a sum in a switch; 0: as `window`.
    uint32_t sum_window = 0;
    // The same for sums in switches between servers; 0: as `window`.
    uint32_t tree_window = 0;
    // The same for messages inside a server; 0: as `window`. NCCL's threads store directly into the
    // neighbour's memory, so a channel copies one slice after the other.
    uint32_t inside_window = 0;
    // Pieces of a block that a ring has in flight at once; 0: as `window`.
    uint32_t slices = 0;
    // Most bytes that switches between servers add up at a time; 0: a chunk.
    uint64_t tree_piece = 0;

    uint32_t at_once() const { return slices != 0 ? slices : window; }
    bool operator==(const Chunking&) const = default;
};

class Exchange {
public:
    // For the phase that the job is in.
    Exchange(JobBuilder& job, const Chunking& chunking, const Software& software = {});

    const Placement& placement() const { return job_.placement(); }
    const Chunking& chunking() const { return chunking_; }

    // The sender sends its data of the range; an empty range sends nothing and returns kNoTask. The
    // task also waits for `after`, a task of the sender.
    uint32_t copy(uint32_t from, uint32_t to, Range range, uint16_t channel,
                  uint32_t after = kNoTask);
    uint32_t reduce(uint32_t from, uint32_t to, Range range, uint16_t channel,
                    uint32_t after = kNoTask);
    // Sets whether the next messages belong to the step of those before them, or to a new one.
    void continue_step(bool continues) { continues_ = continues; }
    // All members of the owner's server give their part to the switch, and the owner receives the
    // sum.
    void reduce_in_switch(uint32_t owner, Range range, uint16_t channel);
    // Those members give their part to the switches between servers, and each receives the sum.
    void sum_in_network(std::span<const uint32_t> members, Range range, uint16_t channel);
    // All members of the owner's server receive its data.
    void multicast(uint32_t owner, Range range, uint16_t channel);

    // The last message that the range waits for at a member. Ranges that are ready earlier have a
    // smaller one.
    uint32_t ready_after(uint32_t member, Range range);

    // The number of equal pieces of at most a chunk that the range is cut into.
    uint64_t piece_count(Range range) const { return parts_of(range.size(), chunking_.chunk); }
    // The same for the pieces that switches between servers add up.
    uint64_t tree_piece_count(Range range) const {
        const uint64_t most = chunking_.tree_piece != 0 ? chunking_.tree_piece : chunking_.chunk;
        return parts_of(range.size(), std::min(most, chunking_.chunk));
    }

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
    std::unordered_map<uint64_t, uint32_t> last_on_;  // by connection: its last message
    std::vector<uint32_t> before_on_its_connection_;  // of each task
    std::vector<uint32_t> needs_;                     // of the current transfer
};

}  // namespace tulle::workload
