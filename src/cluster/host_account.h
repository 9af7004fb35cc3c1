// Where the time of some of a host's queue pairs went, for an explained run.
//
// At every instant a queue pair with something to send waits for one thing: its own bits on the
// line, packets of others before it, a pause, its pace, its window, or an answer. This reason
// changes only when something happens at the host. After each event the host therefore adds the
// time since the last one to the old reason, and asks for the new one. A packet carries a mark of
// how far that story was. Its journey is recorded on the way (fabric/journal.h). What the packet
// completes ends with the sum of the two.
//
// Few packets can matter so. The last packets of a message may complete it. What was sent again may
// be what others waited for. Where a window limits the packets in flight, each answer opens it; one
// of several tells how the others fared. All others pass as if there were no account. What slows a
// sender beyond that are marks, and their places are noted without following anything.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <vector>

#include "cluster/toll.h"
#include "fabric/cabling.h"
#include "transport/adapter.h"

namespace tulle::cluster {

using base::Duration;
using base::Instant;
using fabric::PacketAccount;
using fabric::ShareKind;
using fabric::Shares;

// A queue pair that is watched.
struct WatchedQp {
    transport::Qpn qpn{};
    uint8_t lane = 0;
};

// When a wanted message is under way. A queue pair is examined only then, and a while before
// (watched_before() in host_account.cc).
struct Span {
    Instant from{};
    Instant until = Instant::never();
};

// A record of a message at one of its ends. For a posting, `story` is that of its queue pair until
// then; for an end, it is the whole story.
struct MessageNote {
    enum class Kind : uint8_t { posted, completed, arrived };
    uint32_t id = 0;  // flow or task
    bool is_task = false;
    Kind kind = Kind::posted;
    transport::Qpn qpn{};
    uint32_t endpoint = 0;  // of the host; filled in by whoever collects notes
    Instant at{};
    Shares story;
};

class HostAccount {
public:
    struct Ground {
        uint32_t port = 0;
        Duration receive_latency{};
        const Toll* send_toll = nullptr;  // if memory is slower than the line
        bool has_window = false;          // besides that of congestion control
        bool keeps_order = true;          // switches send all packets of a flow one way
    };

    HostAccount(transport::Adapter& adapter, fabric::Cabling& cabling,
                const transport::MemoryAccess& memory, const Ground& ground)
        : adapter_(adapter), cabling_(cabling), memory_(memory), ground_(ground) {}

    // Spans of one queue pair must come in order of time.
    void watch(const WatchedQp& qp, const Span& span);
    // The queue pair is removed.
    void forget(transport::Qpn qpn);
    // So it is now, or was before it was removed.
    bool has_watched(transport::Qpn qpn) const {
        const auto is_same = [&](const Watched& qp) { return qp.id.qpn == qpn; };
        return std::ranges::any_of(qps_, is_same);
    }
    void want(uint32_t id, bool is_task) { wanted_.insert(key_of(id, is_task)); }

    // True if no queue pair is in sight: packets then go as if there were no account.
    bool is_blind(Instant now) { return now < blind_until_ || !looks_up(now); }
    void pass_over(Instant line_end) {
        line_end_ = line_end;
        retransmitted_ = adapter_.counters().retransmitted_packets;
    }
    // An answer is about to be sent.
    void carry_mark(uint32_t index);
    // A packet is about to be sent. If it is followed, it gets an account, and the result is true.
    bool begin_packet(Instant now, uint32_t index);
    // The packet was sent; the line is busy with it until `line_end`, for `repeats` of that time
    // because of bit errors.
    void end_packet(Instant now, Instant line_end, Duration repeats);

    // A packet has passed the adapter. What it completes is attributed to it, if it is followed.
    void receive(Instant now, uint32_t index);
    // A message was posted, has completed, or has arrived.
    void note(MessageNote::Kind kind, Instant now, uint32_t id, bool is_task, transport::Qpn qpn);
    // The event is over: updates what each queue pair waits for now.
    void look(Instant now) {
        if (trigger_ == nullptr && (awake_.empty() || now < quiet_until_))
            triggered_ = nullptr;
        else
            look_at_all(now);
    }
    // The run is over. Unfinished messages are noted as far as they came.
    void finish(Instant now);

    std::vector<MessageNote> notes;

private:
    enum class Reason : uint8_t {
        nothing,
        line,  // busy with others, or memory is not ready
        held,  // a pause, or no credits
        paced,
        window,
        congestion_window,
        answers,
        not_ready,
    };
    struct Watched {
        WatchedQp id;
        const transport::QueuePair* qp = nullptr;
        std::vector<Span> spans{};
        size_t span = 0;  // the first span that is not over
        bool is_in_sight = false;
        fabric::Story story{};
        Instant since{};  // the story is told until here
        Reason reason = Reason::nothing;
        bool is_awake = false;  // it is looked at after each event
        bool was_resending = false;
        bool has_resent = false;  // since its window was last open
        uint32_t passed = 0;      // packets since the last one that was followed
        Shares way{};             // of the last followed one and its answer
        fabric::Place marked_at = fabric::kNowhere;
        fabric::Place marked_here = fabric::kNowhere;  // of packets from its peer
        fabric::Place queued_at = fabric::kNowhere;    // where its packets last waited longest
        // The answer that it owes: the account of the packet that asked, and since when the answer
        // waits.
        bool is_asked = false;
        PacketAccount asked{};
        Instant asked_since{};
        Reason answer_reason = Reason::nothing;
    };

    static uint64_t key_of(uint32_t id, bool is_task) {
        return uint64_t{id} << 1 | (is_task ? 1 : 0);
    }
    // Null: it is not known.
    Watched* sender_of(const wire::Packet& packet);
    Watched* find(transport::Qpn qpn);
    // Null: no queue pair that is in sight.
    static Watched* if_in_sight(Watched* qp, Instant now) {
        return qp != nullptr && is_in_sight(*qp, now) ? qp : nullptr;
    }
    bool needs_ways(const Watched& qp) const;
    bool is_followed(Watched& qp, const wire::Packet& packet);
    bool begin_answer(Instant now, uint32_t index, Watched& qp);
    void receive_followed(Instant now, uint32_t index, Watched* qp);
    static bool is_in_sight(Watched& qp, Instant now);
    bool looks_up(Instant now);
    static bool is_at_rest(const Watched& qp);
    void wake(Watched& qp);
    void look_at_all(Instant now);
    void look_at(Watched& qp, Instant now);
    void look_at_answer(Watched& qp, Instant now);
    Reason reason_of(const Watched& qp, Instant now) const;
    Reason reason_on_line(const Watched& qp, Instant now) const;
    void close(Watched& qp, Instant now);
    void close_answer(Watched& qp, Instant now);
    void close_lines(Instant now);
    bool waited_for_lost(const Watched& qp, Duration wait) const;
    void close_round_trip(Watched& qp, Duration wait, ShareKind rest);
    template <class To>
    void add(To& to, const Watched& qp, Reason reason, Instant since, Instant until) const;
    template <class To>
    void add_line(To& to, Instant since, Instant until) const;
    fabric::Place here() const { return cabling_.place(ground_.port); }

    transport::Adapter& adapter_;
    fabric::Cabling& cabling_;
    const transport::MemoryAccess& memory_;
    const Ground ground_;
    Watched* sending_ = nullptr;  // the sender of the packet that is about to go
    bool sends_answer_ = false;   // that packet is an answer
    bool sends_again_ = false;    // that packet was sent before
    std::vector<Watched> qps_;
    bool has_marks_ = false;       // some packet that came was marked
    std::vector<uint32_t> awake_;  // of qps_
    std::unordered_set<uint64_t> wanted_;
    std::unique_ptr<PacketAccount> trigger_;  // account of the packet that this event is about
    Watched* triggered_ = nullptr;            // the queue pair that it came to, if watched
    transport::Qpn trigger_qpn_{};
    bool trigger_is_answer_ = false;
    Instant line_end_{};
    Instant blind_until_{};  // if none is in sight: when the next one comes
    Instant quiet_until_{};  // the packets of all that are awake are on the line
    uint64_t retransmitted_ = 0;
};

}  // namespace tulle::cluster
