// Where the time of some of a host's queue pairs went, for a run that is explained.
//
// At every instant a queue pair that has something to send waits for one thing: its own bits on the
// line, packets of others before it, a pause, its pace, its window, an answer. What that is changes
// only when something happens at the host, so the host asks after each event and adds the time
// since the last one to what it was until then. A packet takes along how far that story has come;
// its journey is told on the way (fabric/journal.h). Whatever it completes ends with the sum of the
// two.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "fabric/cabling.h"
#include "transport/adapter.h"

namespace tulle::cluster {

using base::Duration;
using base::Instant;
using fabric::PacketAccount;
using fabric::ShareKind;
using fabric::Shares;

// A queue pair that is watched. `connection` is the same at both of its ends.
struct WatchedQp {
    transport::Qpn qpn{};
    uint32_t connection = 0;
    uint8_t lane = 0;
};

// When a message that is asked about is under way. A queue pair is looked at only then, and a while
// before (watched_before() in host_account.cc).
struct Span {
    Instant from{};
    Instant until = Instant::never();
};

// What is known of a message at one of its ends: of its posting, the story of its queue pair until
// then; of its end, the whole story.
struct MessageNote {
    enum class Kind : uint8_t { posted, completed, arrived };
    uint32_t id = 0;  // flow or task
    bool is_task = false;
    Kind kind = Kind::posted;
    transport::Qpn qpn{};
    Instant at{};
    Shares story;
};

class HostAccount {
public:
    // `pays_to_send`: memory is slower than the line.
    HostAccount(transport::Adapter& adapter, fabric::Cabling& cabling, uint32_t port,
                Duration receive_latency, const transport::MemoryAccess& memory, bool pays_to_send)
        : adapter_(adapter),
          cabling_(cabling),
          port_(port),
          receive_latency_(receive_latency),
          memory_(memory),
          pays_to_send_(pays_to_send) {}

    // Spans of the same queue pair come in order of time.
    void watch(const WatchedQp& qp, const Span& span);
    // The queue pair goes.
    void forget(transport::Qpn qpn);
    void want(uint32_t id, bool is_task) { wanted_.insert(key_of(id, is_task)); }

    // Nobody is in sight: packets go as if there were no account.
    bool is_blind(Instant now) { return now < blind_until_ || !looks_up(now); }
    void pass_over(Instant line_end) {
        line_end_ = line_end;
        retransmitted_ = adapter_.counters().retransmitted_packets;
    }
    // A packet is about to be sent: watched ones are given an account, and true is returned.
    bool begin_packet(Instant now, uint32_t index);
    // It was; the line is busy with it until `line_end`.
    void end_packet(Instant now, Instant line_end);

    // A packet has come through the adapter; what it completes is because of it.
    void receive(Instant now, uint32_t index);
    // A message was posted, is done, or has come.
    void note(MessageNote::Kind kind, Instant now, uint32_t id, bool is_task, transport::Qpn qpn);
    // The event is over: who waits for what now.
    void look(Instant now) {
        if (!awake_.empty() || trigger_ != nullptr) look_at_all(now);
    }
    // The run is over; messages that are not are as far as they came.
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
        size_t span = 0;  // the first that is not over
        bool is_in_sight = false;
        fabric::Story story{};
        Instant since{};  // told until here
        Reason reason = Reason::nothing;
        bool is_awake = false;  // it is looked at after each event
        bool was_resending = false;
        bool has_resent = false;  // since its window was open last
        fabric::Place marked_at = fabric::kNowhere;
        fabric::Place queued_at = fabric::kNowhere;  // where its packets waited longest, lately
        // What it answers: the account of the packet that asked, and since when that waits.
        bool is_asked = false;
        PacketAccount asked{};
        Instant asked_since{};
        Reason answer_reason = Reason::nothing;
    };

    static uint64_t key_of(uint32_t id, bool is_task) {
        return uint64_t{id} << 1 | (is_task ? 1 : 0);
    }
    // Null: nobody who is in sight.
    Watched* watched(Instant now, const wire::Packet& packet);
    Watched* watched(Instant now, transport::Qpn qpn);
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
    void close_round_trip(Watched& qp, Duration wait, ShareKind rest);
    template <class To>
    void add(To& to, const Watched& qp, Reason reason, Instant since, Instant until) const;
    template <class To>
    void add_line(To& to, Instant since, Instant until) const;
    fabric::Place here() const { return cabling_.place(port_); }

    transport::Adapter& adapter_;
    fabric::Cabling& cabling_;
    uint32_t port_;
    Duration receive_latency_;
    const transport::MemoryAccess& memory_;
    bool pays_to_send_;
    Watched* sending_ = nullptr;  // whose packet is about to be sent
    bool sends_answer_ = false;   // it is an answer
    bool sends_again_ = false;    // it was sent before
    std::vector<Watched> qps_;
    std::vector<uint32_t> awake_;  // of qps_
    std::unordered_set<uint64_t> wanted_;
    std::unique_ptr<PacketAccount> trigger_;  // of the packet that this event is about
    Watched* triggered_ = nullptr;            // whom it came to, if that is watched
    transport::Qpn trigger_qpn_{};
    bool trigger_is_answer_ = false;
    Instant line_end_{};
    Instant blind_until_{};  // when the next one comes into sight, if none is
    uint64_t retransmitted_ = 0;
};

}  // namespace tulle::cluster
