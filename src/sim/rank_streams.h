// The state of generated phases (workload/schedule.h) in the ranks of a partition: the open streams
// of each member that is in a phase, and the place of each message under way. Nothing is kept of
// messages and members that have ended or have not begun.
//
// A stream lists its next messages as far as its window could let them go: all up to `window`
// behind the last one that is known to have arrived. So every message that could start is listed,
// and messages start exactly when they would if the whole graph were stored. Where messages arrive
// in order, all behind one that waits for an arrival wait for later ones: they are not listed yet.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "cluster/host.h"
#include "sim/pace.h"
#include "sim/rank_part.h"
#include "sim/rank_trails.h"
#include "workload/schedule.h"

namespace tulle::sim {

// A set of numbers that are added roughly in the order 0, 1, 2 and so on.
struct Marks {
    uint64_t below = 0;
    std::vector<uint64_t> beyond;

    bool has(uint64_t k) const { return k < below || std::ranges::find(beyond, k) != beyond.end(); }
    void add(uint64_t k) {
        beyond.push_back(k);
        for (auto next = std::ranges::find(beyond, below); next != beyond.end();
             next = std::ranges::find(beyond, below)) {
            *next = beyond.back();
            beyond.pop_back();
            ++below;
        }
    }
    // Moves all numbers up by `by`, as if that many more had been added first.
    void shift(uint64_t by) {
        below += by;
        for (uint64_t& k : beyond) k += by;
    }
};

// Set in the number that a message of a generated phase carries. The other bits are the lower bits
// of the task's number.
inline constexpr uint32_t kGeneratedBit = 0x8000'0000;

// What the sender or the receiver of a generated message under way must know about it. Also used
// for a member that computes before it sends.
struct Flight {
    uint64_t number = 0;
    uint64_t bytes = 0;
    Instant posted{};
    GeneratedTask task;   // its sender's
    uint32_t member = 0;  // who sees it
    uint32_t inlet = 0;   // of its receiver
    uint32_t peer = 0;    // a rank
    workload::Tier tier = workload::Tier::scale_out;
};

struct ConnectionKey {
    uint32_t source = 0;  // ranks
    uint32_t destination = 0;
    uint32_t job = 0;
    uint16_t channel = 0;
    workload::Tier tier = workload::Tier::scale_out;
    auto operator<=>(const ConnectionKey&) const = default;

    uint64_t hash() const {
        return base::Hash()
            .add(uint64_t{source} << 32 | destination)
            .add(uint64_t{job} << 32 | uint64_t{channel} << 8 | static_cast<uint64_t>(tier))
            .value();
    }
};
struct ConnectionHash {
    size_t operator()(const ConnectionKey& key) const { return key.hash(); }
};

// A connection that was opened when its first message was posted.
struct OpenConnection {
    Connection connection;
    bool is_connected = false;
    Instant turn{};  // when the software of the last message has ended
    uint32_t under_way = 0;
};

// A message that waits to be posted.
struct PendingMessage {
    uint64_t k = 0;
    workload::StreamMessage message;
    Instant at{};                      // when the last thing that it waited for was seen
    bool awaits_window = false;        // besides `message.need_count` needs
    uint32_t cause = Trail::kOpening;  // the last thing that it waited for

    bool is_ready() const { return !awaits_window && message.need_count == 0; }
};

struct OpenStream {
    uint32_t index = 0;  // of the member's streams
    workload::Stream stream;
    uint64_t listed = 0;
    uint64_t top = 0;  // one more than the last message that is known to have arrived
    Marks done;
    std::deque<PendingMessage> pending;  // the first ones go first
    OpenConnection* connection = nullptr;
    // What skipping needs.
    struct Progress {
        workload::Repetition repetition;  // the current one
        uint64_t next = 0;                // a period ends when all messages below have ended
        PaceHistory history;
        uint32_t number = 0;  // among the streams whose pace is examined
        uint64_t leap = 0;    // messages to skip
        // Of a sample: the predicted time, and where the sample began.
        Duration predicted{};
        Instant sampled_at{};
        uint64_t sampled_periods = 0;
    };
    std::unique_ptr<Progress> progress{};
};

// A member in a phase.
struct Playing {
    uint32_t phase = 0;  // of Program::generated
    uint32_t member = 0;
    uint32_t rank = 0;
    uint32_t phases_before = 0;  // earlier phases that it has not ended
    bool may_send = false;
    uint32_t streams_left = 0;  // that have not ended
    uint64_t sends_left = 0;
    uint64_t arrivals_left = 0;
    std::vector<Marks> inlets;
    std::vector<OpenStream> streams;
    Trail* trail = nullptr;  // null: none is kept
};

inline uint64_t place_of(uint32_t phase, uint32_t member) {
    return uint64_t{phase} << 32 | member;
}

// Removes from a message the needs that have already arrived at its member, until it waits for one
// that has not.
void drop_what_has_come(const workload::Schedule& schedule, const Playing& playing, uint32_t stream,
                        PendingMessage& pending);

// The state of one partition; one thread uses it.
struct StreamPart {
    struct Announcement {
        uint32_t id = 0;
        Flight flight;
    };
    struct Opening {
        uint64_t number = 0;
        OpenConnection* connection = nullptr;
        ConnectionKey key;
        cluster::Posting posting;
    };
    struct Idle {
        Instant since{};
        ConnectionKey key;
    };
    struct Ready {
        uint64_t number = 0;
        OpenStream* stream = nullptr;
        PendingMessage message;
    };

    RankPart* ranks = nullptr;
    std::unordered_map<uint64_t, Playing> playing;  // by phase and member
    std::unordered_map<uint64_t, Trail> trails;     // likewise
    GeneratedTask last;                             // the last task that was seen to end
    std::unordered_map<uint32_t, Flight> outgoing;  // by the number that packets carry
    std::unordered_map<uint32_t, Flight> incoming;
    std::vector<Flight> events;  // of RankEvents, by index
    std::vector<uint32_t> free_events;
    std::unordered_map<ConnectionKey, OpenConnection, ConnectionHash> connections;
    std::vector<Opening> openings;
    std::deque<Idle> idle;
    std::vector<std::vector<Announcement>> announcements;  // by receiving partition
    std::vector<Ready> ready;
    uint64_t periods_ended = 0;
    std::vector<uint32_t> members_ended;  // of each generated phase

    uint32_t keep(const Flight& flight);
};

class RankStreams {
public:
    using Tier = workload::Tier;

    // Counters and events are kept in the parts of `ground`.
    explicit RankStreams(RankGround& ground);

    // One for each kind of connection that is opened on first use. Only its levels matter.
    std::array<std::vector<Connection>, kTiers> opened_later;

    // Begins all members that wait for nothing. Follows the generated tasks of `chain`.
    void begin(const std::vector<ChainLink>& chain);
    // Clears the announcements of the last window, which have been taken.
    void clear_announcements(size_t partition);
    // As in Ranks.
    void exchange(size_t partition);
    void settle();

    // Puts the event of a generated phase's message into the part.
    void take(size_t partition, const cluster::Sighting& sighting);
    void see(size_t partition, const RankEvent& event);
    const Flight& flight_of(size_t partition, const RankEvent& event) const {
        return parts_[partition].events[event.flight];
    }

    // What was skipped so far.
    const Skipping& skipping() const { return skipping_; }

    // The chain that ends with the last task, which is one of this partition. Empty if no trails
    // are kept.
    std::vector<ChainLink> chain(size_t partition, bool has_arrived) const;
    // A task of the chain that is followed.
    ChainTask task_of(const ChainLink& link) const;

private:
    using Span = cluster::Span;

    Playing& playing(StreamPart& part, uint32_t phase, uint32_t member);
    void enter(StreamPart& part, Playing& playing, Instant at);
    void start_sending(StreamPart& part, Playing& playing, Instant at);
    void open_stream(Playing& playing, uint32_t index, Instant at);
    void end_turn(StreamPart& part, Playing& playing, uint32_t turn, Instant at);
    void list_messages(const Playing& playing, OpenStream& stream, Instant at, uint32_t cause);
    bool is_held_up(const Playing& playing, const OpenStream& stream, uint64_t end) const;
    void see_arrival(StreamPart& part, Playing& playing, const Flight& flight, Instant at);
    void see_completion(StreamPart& part, Playing& playing, const Flight& flight, Instant at);
    void end_if_done(StreamPart& part, Playing& playing, Instant at);

    void post_ready(StreamPart& part, const Playing& playing);
    void post(StreamPart& part, const Playing& playing, const StreamPart::Ready& ready);
    Instant time_to_post(StreamPart& part, const Playing& playing, const StreamPart::Ready& ready);
    void post_on(const OpenConnection& open, Tier tier, cluster::Posting posting);
    void announce(StreamPart& part, uint32_t id, const Flight& sent, const workload::Stream& on);
    OpenConnection& connection_of(StreamPart& part, const Playing& playing, OpenStream& stream);
    void open_connections(std::vector<StreamPart::Opening*>& openings);
    void close_idle();

    // Skipping, in stream_skipping.cc.
    void prepare_skipping();
    void note_progress(StreamPart& part, const Playing& playing, OpenStream& stream, Instant at);
    void look_for_settled_pace();
    bool find_phase(uint32_t& phase) const;
    struct Settling {
        Playing* playing = nullptr;
        OpenStream* stream = nullptr;
    };
    bool find_streams(uint32_t phase, std::vector<Settling>& streams);
    // A stream that another stream waits for and that has another pace.
    struct Backlog {
        uint32_t source = 0;  // numbers of streams
        uint32_t user = 0;
        uint64_t messages = 0;  // that have arrived and are not used yet
    };
    PaceGroups find_groups(const std::vector<Settling>& streams, std::vector<Backlog>& backlogs);
    void look_at_needs(const Settling& user, PaceGroups& groups, std::vector<Backlog>& backlogs);
    struct Leap {
        Duration time{};
        Duration doubt{};
    };
    bool plan_leap(const std::vector<Settling>& streams, const PaceGroups& groups,
                   const std::vector<Backlog>& backlogs, Leap& leap) const;
    bool is_checked(const std::vector<Settling>& streams, const PaceGroups& groups);
    void jump(const std::vector<Settling>& streams, const Leap& leap);
    uint64_t jump_member(Playing& playing);
    const OpenStream* stream_at(uint32_t phase, uint32_t member, uint32_t index) const;

    void watch(const ChainLink& link, Instant until);
    void follow(const ConnectionKey& key, const Connection& connection);
    void note_ready(uint64_t number, Instant at);

    const workload::GeneratedPhase& generated(const Playing& playing) const {
        return program_.generated[playing.phase];
    }
    ConnectionKey key_of(uint32_t phase, uint32_t rank, const workload::Stream& stream) const;
    Duration computing_of(const workload::GeneratedPhase& phase, uint32_t rank) const;
    Connection connection_at(const ConnectionKey& key) const;

    RankGround& ground_;
    const Setup& setup_;
    const workload::Program& program_;
    std::vector<std::vector<uint32_t>> followers_;  // of each generated phase
    // Members by rank, for each placement of a generated phase.
    std::map<const workload::Placement*, std::unordered_map<uint32_t, uint32_t>> member_of_;
    std::vector<uint32_t> queue_depth_;  // by job: messages of a connection under way at most
    bool arrives_in_order_ = true;
    bool keeps_trails_ = false;
    bool skips_ = false;
    uint64_t next_look_ = 0;  // when this many periods have ended
    Skipping skipping_;
    // Found in the last look.
    uint32_t settling_phase_ = 0;
    size_t settling_streams_ = 0;
    // A settled pace may be sampled for longer: until this many periods of all streams have ended.
    uint64_t sample_until_ = 0;
    std::vector<StreamPart> parts_;
    // Of the chain that is followed: when the last wait of each task ended, and when each
    // connection is watched.
    std::unordered_map<uint64_t, Instant> ready_;
    std::map<ConnectionKey, std::vector<Span>> watches_;
};

}  // namespace tulle::sim
