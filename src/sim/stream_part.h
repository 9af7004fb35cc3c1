// The state of generated phases (workload/schedule.h) in the ranks of a partition: the open streams
// of each member that is in a phase, and the place of each message under way. Nothing is kept of
// messages and members that have ended or have not begun.
#pragma once

#include <algorithm>
#include <deque>
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
    // Whether there is a larger number than `k`, which is none of them.
    bool has_beyond(uint64_t k) const {
        return std::ranges::any_of(beyond, [k](uint64_t other) { return other > k; });
    }
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

}  // namespace tulle::sim
