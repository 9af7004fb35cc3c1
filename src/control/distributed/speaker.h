// BGP on one switch, as data centres run it (RFC 4271, RFC 7938): external sessions with the
// neighbours on its cables, shortest AS paths, and ECMP over all equally short ones (SONiC:
// bestpath as-path multipath-relax).
//
//   in :  on_link(now, port, is_up), on_message(now, port, message), on_timer(now), settle()
//   out:  poll_transmit(), poll_table(), poll_reset(), next_deadline()
//
// A prefix stands for the hosts of one leaf. TCP is below: messages of a session arrive in order,
// or the session ends.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "control/distributed/as_paths.h"
#include "control/settings.h"

namespace tulle::control {

using Prefix = uint32_t;
inline constexpr Prefix kNoPrefix = 0xffff'ffff;

struct BgpRoute {
    Prefix prefix = 0;
    PathId path = kNoPath;  // kNoPath: the route is withdrawn
};

// The UPDATEs that leave together to one neighbour, as TCP packs them, form one BgpMessage.
struct BgpMessage {
    enum class Kind : uint8_t { open, keepalive, update, notification, bfd };
    Kind kind = Kind::keepalive;
    uint32_t updates = 0;  // number of UPDATEs: one for each path
    uint32_t bytes = 0;    // of BGP or BFD, without the headers below
    std::vector<BgpRoute> routes{};
};

struct BgpOut {
    uint16_t port = 0;
    BgpMessage message;
};

// An entry of the forwarding table: the equally good ports.
struct TableEntry {
    Prefix prefix = 0;
    std::vector<uint16_t> ports;
};

// The bytes that a message takes from the line of its sender, with all headers and gaps, and those
// of the acknowledgements by which TCP answers it.
uint32_t wire_bytes(const BgpMessage& message);
uint32_t acknowledgement_bytes(const BgpMessage& message);

struct SpeakerCounters {
    uint64_t opens = 0;  // sent, as are the next four
    uint64_t keepalives = 0;
    uint64_t updates = 0;
    uint64_t notifications = 0;
    uint64_t bfd = 0;
    uint64_t looped = 0;  // received routes with the own system in their path
};

class Speaker {
public:
    // `own`: the prefix of the switch's own hosts, or kNoPrefix.
    Speaker(const SpeakerSettings& settings, uint32_t system, uint16_t port_count,
            Prefix prefix_count, Prefix own, AsPaths& paths);

    void on_link(base::Instant now, uint16_t port, bool is_up);
    void on_message(base::Instant now, uint16_t port, const BgpMessage& message);
    void on_timer(base::Instant now);
    // Call it after one or more messages: decides again, and sends the changes to neighbours.
    void settle();

    std::optional<BgpOut> poll_transmit();
    std::optional<TableEntry> poll_table();
    std::optional<uint16_t> poll_reset();  // the port of a session that ended with its TCP
    base::Instant next_deadline() const { return deadline_; }

    bool is_established(uint16_t port) const { return sessions_[port].state == State::established; }
    const SpeakerCounters& counters() const { return counters_; }
    const std::vector<uint16_t>& table(Prefix prefix) const { return table_[prefix]; }

private:
    enum class State : uint8_t { idle, open_sent, open_confirm, established };
    struct Session {
        State state = State::idle;
        bool has_light = false;
        base::Instant start_at = base::Instant::never();
        base::Instant keepalive_at = base::Instant::never();
        base::Instant hold_until = base::Instant::never();
        base::Instant bfd_at = base::Instant::never();
        base::Instant bfd_until = base::Instant::never();
        std::vector<BgpRoute> news;  // not yet sent to the neighbour
    };
    struct Best {
        PathId path = kNoPath;
        PathId told = kNoPath;  // the same path as announced to neighbours
        uint16_t port = 0;
        bool operator==(const Best&) const = default;
    };

    void begin(base::Instant now, uint16_t port);
    void reset(base::Instant now, uint16_t port);
    void on_open(base::Instant now, uint16_t port);
    void on_keepalive(base::Instant now, uint16_t port);
    void on_update(uint16_t port, const BgpMessage& update);
    void run_timers(base::Instant now, uint16_t port);
    void set_deadline(base::Instant at) { deadline_ = std::min(deadline_, at); }
    void send(uint16_t port, BgpMessage message);

    void touch(Prefix prefix);
    bool decide(Prefix prefix);
    void note_news(uint16_t port, Prefix prefix);
    void send_news();
    void send_news(uint16_t port);
    PathId& heard(uint16_t port, Prefix prefix) { return heard_[prefix * sessions_.size() + port]; }
    PathId& told(uint16_t port, Prefix prefix) { return told_[prefix * sessions_.size() + port]; }

    const SpeakerSettings& settings_;
    uint32_t system_;
    Prefix own_;
    AsPaths& paths_;
    std::vector<Session> sessions_;  // by port
    std::vector<PathId> heard_;      // by prefix and port
    std::vector<PathId> told_;
    std::vector<Best> best_;  // by prefix
    std::vector<std::vector<uint16_t>> table_;
    std::vector<Prefix> touched_;
    std::vector<bool> is_touched_;
    std::vector<uint16_t> equal_;  // ports that decide() found equally good
    std::deque<BgpOut> out_;
    std::deque<TableEntry> entries_;
    std::deque<uint16_t> resets_;
    base::Instant deadline_ = base::Instant::never();
    SpeakerCounters counters_;
};

}  // namespace tulle::control
