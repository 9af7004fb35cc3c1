// The ranks of a program: what each of them waits for, and what it does next.
//
// After each window the ranks of a partition look at what their hosts saw in it: messages that
// arrived, and completions of their own messages. A task begins once it waits for nothing. Its
// message is posted `reaction` after the last thing that it waited for; a library may set another
// delay. Windows are no longer than any such delay, so the message is posted in a later window, and
// the order of networks and partitions does not matter. A rank belongs to the partition of its
// adapter; its port inside the server is in the same partition.
//
// A job may decide while it runs (workload/serving/run.h). It is told what a rank sees, in the
// order in which the rank sees it, and begins tasks of the same rank.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/rank_part.h"
#include "sim/rank_streams.h"
#include "sim/stored_connections.h"
#include "sim/sum_order.h"

namespace tulle::workload {
class ServingRun;
}

namespace tulle::sim {

class Ranks {
public:
    using Tier = workload::Tier;

    // The caller makes the connections of each tier before it calls begin().
    explicit Ranks(const Setup& setup);
    ~Ranks();
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    StoredConnections stored;
    const std::vector<Connection>& opened_later(Tier tier) const {
        return streams_.opened_later[index_of(tier)];
    }

    // Begins all tasks that wait for nothing. A tier without a network is null. Follows the
    // messages of `chain`.
    void begin(std::array<Network*, kTiers> networks, const std::vector<ChainLink>& chain);
    // Handles what the ranks of a partition saw in a window that ended at `until`.
    void advance(size_t partition, Instant until);
    // Takes the announcements of other partitions. Call it once all have advanced.
    void exchange(size_t partition) { streams_.exchange(partition); }
    // Opens and closes connections, once all partitions have exchanged. One thread calls it, and
    // its order does not depend on partitions.
    void settle() { streams_.settle(); }
    // When the next stretch of computing ends.
    Instant next_at() const;

    bool is_done() const;
    uint64_t tasks_done() const;
    void finish(Result& result, Result* scale_up) const;
    // The chain of waits that ends with the last task: each link waited last for the one before it.
    std::vector<ChainLink> chain() const;
    // The last end of a task that a rank saw.
    const RankEvent& last() const { return ground_.parts[part_of_last()].last; }
    // A task of the chain that is followed.
    ChainTask task_of(const ChainLink& link) const;
    // Why the program will never be done, if that is known.
    std::string why_unfinished() const;

private:
    void find_dependants();
    void find_ranks();
    void order_sums();
    void take_sightings(size_t partition);
    void take_sighting(size_t partition, size_t tier, const cluster::Sighting& sighting);
    uint32_t rank_seeing(size_t tier, const cluster::Sighting& sighting) const;
    bool is_copied(size_t partition, const RankEvent& event, uint64_t& bytes) const;
    void see(RankPart& part, const RankEvent& event);
    void start(RankPart& part, uint32_t task, Instant at);
    Duration software_of(const workload::Task& task) const;
    Duration computing_of(uint32_t number) const;
    void post(RankPart& part, uint32_t task, Instant at);
    void decide(RankPart& part, const RankEvent& event);
    uint64_t bytes_of(uint32_t task) const {
        return program_[task].is_gated() ? amounts_[task] : program_[task].bytes;
    }
    bool comes_back(uint32_t task) const;
    bool is_end(const RankEvent& event) const;
    void note_end(RankPart& part, const RankEvent& event);

    size_t part_of_last() const;
    std::vector<ChainLink> chain_to(const RankEvent& last) const;
    void watch(const std::vector<ChainLink>& chain);
    void watch_message(uint32_t task);

    RankGround ground_;
    const Setup& setup_;
    const workload::Program& program_;
    std::vector<uint32_t> rank_inside_;      // by endpoint of the network inside servers
    std::vector<uint32_t> first_dependant_;  // of each task, in `dependants_`; then the end
    std::vector<uint32_t> dependants_;
    std::vector<Instant> devices_;  // of ranks: when each is free
    // By task. `at_`: until the task starts, when the last thing that it waited for was seen; then
    // when it was posted. The partition of the task's rank writes these; that of the peer reads the
    // time in a later window.
    std::vector<uint32_t> waiting_;
    std::vector<uint32_t> last_need_;  // what it waited for last
    // If that was a sum of a switch: the contribution that completed it. Empty: there are no sums.
    std::vector<uint32_t> completed_by_;
    std::vector<Instant> at_;
    // By connection whose messages take turns: when the software of the last message has ended.
    std::array<std::vector<Instant>, kTiers> turns_;
    std::array<std::vector<SumOrder>, kTiers> sums_;  // by connection
    std::unordered_map<uint64_t, Instant> ready_;     // by task of the chain that is followed
    // By task of that chain that takes turns at a device: how long it waited for the device.
    std::unordered_map<uint64_t, Duration> queued_;
    uint64_t task_count_ = 0;
    // By job that decides while it runs; empty if there is none. Amounts are those of gated tasks,
    // by task: picoseconds or bytes.
    std::vector<std::unique_ptr<workload::ServingRun>> deciding_;
    std::vector<uint64_t> amounts_;
    RankStreams streams_;
};

}  // namespace tulle::sim
