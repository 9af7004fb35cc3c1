// What the ranks of a partition remember of phases that are generated (workload/schedule.h): of
// each member that is in a phase, its open streams; of each message under way, where it belongs.
// Nothing is kept of what is over or has not begun.
//
// A stream lists its messages ahead as far as its window could let them go: all up to `window`
// behind the last one that is known to have arrived. Whatever could start is thus listed, so
// messages start exactly when they would if the whole graph were stored.
#pragma once

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "cluster/host.h"
#include "sim/network.h"
#include "workload/schedule.h"

namespace tulle::sim {

// Which of 0, 1, 2 and so on have been, mostly in this order.
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
};

// In the number that a message of a generated phase carries; the rest are the lower bits of its
// own.
inline constexpr uint32_t kGeneratedBit = 0x8000'0000;

// Of a generated message that is under way, as its sender or its receiver has to know it; or of a
// member that computes before it sends.
struct Flight {
    static constexpr uint64_t kComputing = UINT64_MAX;

    uint64_t number = 0;
    uint64_t bytes = 0;
    Instant posted{};
    uint32_t phase = 0;  // of Program::generated
    uint32_t member = 0;
    uint32_t place = 0;  // the sender's stream, or the receiver's inlet
    uint32_t peer = 0;   // a rank
    uint64_t message = 0;
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
    Instant at{};                // when the last thing that it waited for was seen
    bool awaits_window = false;  // and so many needs

    bool is_ready() const { return !awaits_window && message.need_count == 0; }
};

struct OpenStream {
    uint32_t index = 0;  // of the member's streams
    workload::Stream stream;
    uint64_t listed = 0;
    uint64_t top = 0;  // one more than the last that is known to have arrived
    Marks done;
    std::vector<PendingMessage> pending;
    OpenConnection* connection = nullptr;
};

// A member in a phase.
struct Playing {
    uint32_t phase = 0;  // of Program::generated
    uint32_t member = 0;
    uint32_t rank = 0;
    uint32_t phases_before = 0;  // that it has not ended
    bool may_send = false;
    uint64_t sends_left = 0;
    uint64_t arrivals_left = 0;
    std::vector<Marks> inlets;
    std::vector<OpenStream> streams;
};

// What one thread touches of all this.
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

    std::unordered_map<uint64_t, Playing> playing;  // by phase and member
    std::unordered_map<uint32_t, Flight> outgoing;  // by the number that packets carry
    std::unordered_map<uint32_t, Flight> incoming;
    std::vector<Flight> events;  // of Ranks' events, by index
    std::vector<uint32_t> free_events;
    std::unordered_map<ConnectionKey, OpenConnection, ConnectionHash> connections;
    std::vector<Opening> openings;
    std::deque<Idle> idle;
    std::vector<std::vector<Announcement>> announcements;  // by the partition that they are for
    std::vector<Ready> ready;
};

}  // namespace tulle::sim
