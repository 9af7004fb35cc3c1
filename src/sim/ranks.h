// The ranks of a program: what each of them waits for, and what it does next.
//
// Between two windows the ranks of a partition look at what their hosts have seen in the window
// that is over: messages that arrived, messages of their own that are done. A task that waits for
// nothing any more begins then: a message is posted `reaction`, or what its library takes instead,
// later than the last thing it waited for was seen. That lies in a window to come, since windows
// are no longer than any of these, so nothing depends on the order in which networks and partitions
// had their turn. A rank belongs to the partition of its adapter; its port inside the server is in
// the same one.
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/network.h"
#include "sim/rank_streams.h"

namespace tulle::sim {

class Ranks {
public:
    using Tier = workload::Tier;
    static constexpr size_t kTiers = 2;  // as workload::Tier has them

    // The connections of each tier are to be made before anything begins.
    explicit Ranks(const Setup& setup);
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    std::array<std::vector<Connection>, kTiers> connections;
    std::vector<SwitchGroup> groups;  // inside servers
    // One for each kind of connection that will be opened on use: only its levels count.
    std::array<std::vector<Connection>, kTiers> opened_later;

    // What waits for nothing is posted. A tier that is not there is null. The messages of `chain`
    // are followed.
    void begin(std::array<Network*, kTiers> networks, const std::vector<ChainLink>& chain);
    // The partition's part of a window, which ended at `until`.
    void advance(size_t partition, Instant until);
    // Takes what others have announced to the partition; once all have advanced.
    void exchange(size_t partition);
    // Opens and closes connections, once all have exchanged. One thread does it, in an order that
    // does not depend on partitions.
    void settle();
    // When the next stretch of computing ends.
    Instant next_at() const;

    bool is_done() const;
    uint64_t tasks_done() const;
    void finish(Result& result, Result* scale_up) const;
    // The last task to end, before it what it waited for last, and so on; the first one first.
    std::vector<ChainLink> chain() const;
    // When a task of the chain that is followed waited for nothing any more.
    Instant ready_at(uint32_t task) const { return ready_.at(task); }
    // How long a stretch of computing takes the rank that does it.
    Duration computing_of(const workload::Task& task) const;
    // Why it will never be done, if that is known.
    std::string why_unfinished() const;

private:
    // Something that a rank sees at a time.
    struct Event {
        Instant at{};
        uint64_t task = 0;  // that is stored, or the number of one that is generated
        uint32_t rank = 0;
        uint32_t flight = 0;       // of StreamPart::events, if it is generated
        bool has_arrived = false;  // a message; otherwise one's own task is done

        bool is_generated() const { return task >= workload::Program::kFirstGenerated; }
        uint32_t stored() const { return static_cast<uint32_t>(task); }
    };
    struct Failure {
        uint64_t task = 0;
        uint32_t rank = 0;
        uint32_t peer = 0;
        uint32_t phase = 0;
    };
    // What one thread touches.
    struct Part {
        std::vector<Event> events;  // of this window
        std::vector<Event> later;   // a heap, the next one first
        std::vector<PhaseResult> phases;
        std::vector<uint64_t> done;  // tasks of each phase
        base::Histogram latency[kTiers];
        Duration cpu{};
        std::vector<Failure> failed;
        Event last{};  // that was seen
        Instant until{};
        StreamPart streams;
    };
    // Engines that copy between a GPU and its host, one a direction.
    struct Copies {
        Instant out_free{};
        Instant in_free{};
    };

    static bool is_later(const Event& a, const Event& b);
    void find_dependants();
    void find_ranks();
    void find_connections();
    uint32_t group_of(uint32_t task);
    void take_sightings(Part& part, size_t partition);
    void take_sighting(Part& part, size_t tier, const cluster::Sighting& sighting);
    uint32_t rank_seeing(size_t tier, const cluster::Sighting& sighting) const;
    void see(Part& part, const Event& event);
    void start(Part& part, uint32_t task, Instant at);
    Duration software_of(const workload::Task& task) const;
    void post(Part& part, uint32_t task, Instant at);
    Instant copy(Part& part, Instant& free, Instant at, uint64_t bytes) const;
    bool comes_back(uint32_t task) const;
    std::unordered_map<uint32_t, uint32_t> last_contributions() const;
    // Of phases that are generated: rank_streams.cc.
    void prepare_streams();
    void begin_streams();
    Part& part_of(uint32_t rank);
    Playing& playing(Part& part, uint32_t phase, uint32_t member);
    void enter(Part& part, Playing& playing, Instant at);
    static void begin_phase(Part& part, uint32_t phase, Instant at);
    void start_sending(Part& part, Playing& playing, Instant at);
    void open_stream(Playing& playing, uint32_t index, Instant at);
    void end_turn(Part& part, Playing& playing, uint32_t turn, Instant at);
    void list_messages(const Playing& playing, OpenStream& stream, Instant at);
    void post_ready(Part& part, const Playing& playing);
    void take_flight(Part& part, const cluster::Sighting& sighting);
    uint64_t bytes_of(const Part& part, const Event& event) const;
    Tier tier_of(const Part& part, const Event& event) const;
    void see_generated(Part& part, const Event& event);
    void see_arrival(Part& part, Playing& playing, const Flight& flight, Instant at);
    void see_completion(Part& part, Playing& playing, const Flight& flight, Instant at);
    void end_if_done(Part& part, Playing& playing, Instant at);
    void post(Part& part, const Playing& playing, const StreamPart::Ready& ready);
    void post_on(const OpenConnection& open, Tier tier, cluster::Posting posting);
    OpenConnection& connection_of(Part& part, const Playing& playing, OpenStream& stream);
    ConnectionKey key_of(const Playing& playing, const workload::Stream& stream) const;
    void announce(Part& part, uint32_t id, const Flight& flight);
    void push(Part& part, const Flight& flight, const Event& event);
    const workload::GeneratedPhase& generated(const Playing& playing) const;
    void open_connections(std::vector<StreamPart::Opening*>& openings);
    void close_idle();

    void watch(const std::vector<ChainLink>& chain);
    void watch_message(uint32_t task);
    bool is_end(const Event& event) const;
    void note_end(Part& part, const Event& event);
    const HostSettings& host_settings(workload::Tier tier) const;

    const Setup& setup_;
    const workload::Program& program_;
    std::array<Network*, kTiers> networks_{};
    std::vector<uint32_t> rank_inside_;      // by endpoint of the network inside servers
    std::vector<uint32_t> first_dependant_;  // of each task, and the end
    std::vector<uint32_t> dependants_;
    std::vector<uint32_t> connection_;  // of each message
    // By job, channel, kind and rank that a sum is for or copies are from; while it is made.
    std::map<std::tuple<uint32_t, uint16_t, workload::Task::Kind, uint32_t>, uint32_t> group_at_;
    // Of each task. `at_`: until it starts, when the last thing that it waited for was seen; then
    // when it was posted. A task is touched by the partition of its rank; that of the peer reads
    // the time in a later window.
    std::vector<uint32_t> waiting_;
    std::vector<uint32_t> last_need_;  // what it waited for last
    std::vector<Instant> at_;
    std::vector<Copies> copies_;  // by rank
    // By connection, of messages that take turns: when the software of the last one has ended.
    std::array<std::vector<Instant>, kTiers> turns_;
    std::unordered_map<uint32_t, Instant> ready_;   // of the chain that is followed
    std::vector<std::vector<uint32_t>> followers_;  // of each generated phase
    // Members by rank, of each placement that a generated phase has.
    std::map<const workload::Placement*, std::unordered_map<uint32_t, uint32_t>> member_of_;
    uint64_t task_count_ = 0;
    std::vector<uint32_t> queue_depth_;  // by job: messages of a connection under way at most
    std::vector<Part> parts_;
};

}  // namespace tulle::sim
