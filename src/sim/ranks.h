// The ranks of a program: what each of them waits for, and what it does next.
//
// Between two windows the ranks of a partition look at what their hosts have seen in the window
// that is over: messages that arrived, messages of their own that are done. A task that waits for
// nothing any more begins then: a message is posted `reaction`, or what its library takes instead,
// later than the last thing it waited for was seen. That lies in a window to come, since windows
// are no longer than any of these, so nothing depends on the order in which networks and partitions
// had their turn. A rank belongs to the partition of its adapter; its port inside the server is in
// the same one.
//
// A job may decide while it runs (workload/serving/run.h): it is told what a rank has seen, in the
// order in which that rank sees it, and begins tasks of the same rank.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/rank_part.h"
#include "sim/rank_streams.h"

namespace tulle::workload {
class ServingRun;
}

namespace tulle::sim {

class Ranks {
public:
    using Tier = workload::Tier;

    // The connections of each tier are to be made before anything begins.
    explicit Ranks(const Setup& setup);
    ~Ranks();
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    std::array<std::vector<Connection>, kTiers> connections;
    std::vector<SwitchGroup> groups;  // inside servers
    const std::vector<Connection>& opened_later(Tier tier) const {
        return streams_.opened_later[index_of(tier)];
    }

    // What waits for nothing is posted. A tier that is not there is null. The messages of `chain`
    // are followed.
    void begin(std::array<Network*, kTiers> networks, const std::vector<ChainLink>& chain);
    // The partition's part of a window, which ended at `until`.
    void advance(size_t partition, Instant until);
    // Takes what others have announced to the partition; once all have advanced.
    void exchange(size_t partition) { streams_.exchange(partition); }
    // Opens and closes connections, once all have exchanged. One thread does it, in an order that
    // does not depend on partitions.
    void settle() { streams_.settle(); }
    // When the next stretch of computing ends.
    Instant next_at() const;

    bool is_done() const;
    uint64_t tasks_done() const;
    void finish(Result& result, Result* scale_up) const;
    // The last task to end, before it what it waited for last, and so on; the first one first.
    std::vector<ChainLink> chain() const;
    // What was seen last to end, by whom.
    const RankEvent& last() const { return ground_.parts[part_of_last()].last; }
    // A task of the chain that is followed.
    ChainTask task_of(const ChainLink& link) const;
    // Why it will never be done, if that is known.
    std::string why_unfinished() const;

private:
    void find_dependants();
    void find_ranks();
    void find_connections();
    uint32_t device_of(const workload::Task& task);
    uint32_t group_of(uint32_t task);
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
    std::unordered_map<uint32_t, uint32_t> last_contributions() const;
    std::vector<ChainLink> chain_to(const RankEvent& last) const;
    void watch(const std::vector<ChainLink>& chain);
    void watch_message(uint32_t task);

    RankGround ground_;
    const Setup& setup_;
    const workload::Program& program_;
    std::vector<uint32_t> rank_inside_;      // by endpoint of the network inside servers
    std::vector<uint32_t> first_dependant_;  // of each task, and the end
    std::vector<uint32_t> dependants_;
    std::vector<uint32_t> connection_;  // of each message; of computing in turn, its device
    std::map<std::pair<uint32_t, uint16_t>, uint32_t> device_at_;  // by rank and channel
    std::vector<Instant> devices_;                                 // when each is free
    // By job, channel, kind and rank that a sum is for or copies are from; while it is made.
    std::map<std::tuple<uint32_t, uint16_t, workload::Task::Kind, uint32_t>, uint32_t> group_at_;
    // Of each task. `at_`: until it starts, when the last thing that it waited for was seen; then
    // when it was posted. A task is touched by the partition of its rank; that of the peer reads
    // the time in a later window.
    std::vector<uint32_t> waiting_;
    std::vector<uint32_t> last_need_;  // what it waited for last
    std::vector<Instant> at_;
    // By connection, of messages that take turns: when the software of the last one has ended.
    std::array<std::vector<Instant>, kTiers> turns_;
    std::unordered_map<uint64_t, Instant> ready_;  // of the chain that is followed
    // The same of those that take turns at a device: how long they waited for it.
    std::unordered_map<uint64_t, Duration> queued_;
    uint64_t task_count_ = 0;
    // Of jobs that decide while they run, by job; empty where there is none. Amounts are of gated
    // tasks, by task: picoseconds or bytes.
    std::vector<std::unique_ptr<workload::ServingRun>> deciding_;
    std::vector<uint64_t> amounts_;
    RankStreams streams_;
};

}  // namespace tulle::sim
