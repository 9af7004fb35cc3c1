// BGP on one switch, as data centres run it (RFC 4271, RFC 7938): external sessions with the
// switches at the other ends of its cables, shortest AS paths, all equally short ones in one set
// (SONiC: bestpath as-path multipath-relax).
//
//   in :  on_link(now, port, is_up), on_message(now, port, message), on_timer(now)
//   out:  poll_transmit(), poll_table(), poll_reset(), next_deadline()
//
// A prefix is that of the hosts of one leaf. TCP is below: what a session sends arrives in order,
// or the session ends.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "control/distributed/as_paths.h"
#include "control/settings.h"

namespace tulle::control {

using Prefix = uint32_t;
inline constexpr Prefix kNoPrefix = 0xffff'ffff;

struct BgpMessage {
    enum class Kind : uint8_t { open, keepalive, update, notification, bfd };
    Kind kind = Kind::keepalive;
    uint32_t system = 0;            // of an OPEN
    std::vector<Prefix> withdrawn;  // of an UPDATE, ...
    std::vector<Prefix> announced;  // ... all with one path
    PathId path = kNoPath;

    size_t routes() const { return withdrawn.size() + announced.size(); }
};

struct BgpOut {
    uint16_t port = 0;
    BgpMessage message;
};

// An entry of the forwarding table: the ports that are equally good.
struct TableEntry {
    Prefix prefix = 0;
    std::vector<uint16_t> ports;
};

struct SpeakerCounters {
    uint64_t opens = 0;  // sent, as are all
    uint64_t keepalives = 0;
    uint64_t updates = 0;
    uint64_t notifications = 0;
    uint64_t bfd = 0;
    uint64_t looped = 0;  // routes that came with the own system in their path
};

class Speaker {
public:
    // `own`: the prefix of its hosts, or kNoPrefix.
    Speaker(const SpeakerSettings& settings, uint32_t system, uint16_t port_count,
            Prefix prefix_count, Prefix own, AsPaths& paths);

    void on_link(base::Instant now, uint16_t port, bool is_up);
    void on_message(base::Instant now, uint16_t port, const BgpMessage& message);
    void on_timer(base::Instant now);

    std::optional<BgpOut> poll_transmit();
    std::optional<TableEntry> poll_table();
    std::optional<uint16_t> poll_reset();  // the port of a session that ended: its TCP is gone
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
        std::vector<PathId> heard;  // by prefix; empty: nothing was
        std::vector<PathId> told;
    };
    struct Best {
        PathId path = kNoPath;
        uint16_t port = 0;
        bool operator==(const Best&) const = default;
    };
    struct News {
        uint16_t port = 0;
        PathId path = kNoPath;  // as the neighbour is to hear it
        Prefix prefix = 0;
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
    void settle();
    bool decide(Prefix prefix);
    void note_news(uint16_t port, Prefix prefix);
    void send_news();

    const SpeakerSettings& settings_;
    uint32_t system_;
    Prefix own_;
    AsPaths& paths_;
    std::vector<Session> sessions_;  // by port
    std::vector<Best> best_;         // by prefix
    std::vector<std::vector<uint16_t>> table_;
    std::vector<Prefix> touched_;
    std::vector<bool> is_touched_;
    std::vector<News> news_;
    std::deque<BgpOut> out_;
    std::deque<TableEntry> entries_;
    std::deque<uint16_t> resets_;
    base::Instant deadline_ = base::Instant::never();
    SpeakerCounters counters_;
};

}  // namespace tulle::control
