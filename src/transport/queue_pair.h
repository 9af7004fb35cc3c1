// One queue pair, as data: what the roles know of it. The roles are functions in files of their
// own, requester.h, completer.h, retry.h, responder.h and responses.h; none of them calls the next
// but through what is written here.
//
// An idle queue pair is this structure and nothing more. Queues come with the first request that is
// posted, answers to READs with the first READ, a reorder buffer with the first packet out of
// order, a scoreboard with the first that is lost.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "transport/congestion/congestion.h"
#include "transport/loss/loss.h"
#include "transport/loss/reorder_buffer.h"
#include "transport/loss/scoreboard.h"
#include "transport/memory.h"
#include "transport/paths/spread.h"
#include "transport/qp_state.h"
#include "transport/work_queue.h"

namespace tulle::transport {

// The way to the peer, and what packets on it carry.
struct Address {
    EndpointIndex endpoint{};
    uint8_t service_level = 0;
    uint8_t traffic_class = 0;
    uint8_t hop_limit = 64;
    uint16_t entropy = 0;
    uint8_t ack_timeout = 0;  // 4.096 us times 2 to the power of this; 0 waits for ever
};

struct QpSetup {
    QpType type = QpType::rc;
    PdId pd{};
    CqId send_cq{};
    CqId receive_cq{};
    SrqId srq{};               // none, or the queue that receives are taken from
    XrcDomainId xrc_domain{};  // of a target of XRC
    RdDomainId rd_domain{};    // of RD
    SendQueueSize send{.requests = 16, .sges = 1, .inline_bytes = 0};
    uint32_t receive_requests = 16;
    uint32_t receive_sges = 1;
    bool signal_all = false;
};

enum class Migration : uint8_t { migrated, rearm, armed };

// What a modify call may bring; the mask says which of it.
struct QpAttributes {
    QpState state = QpState::reset;
    QpState current_state = QpState::reset;
    bool drain_notify = false;
    uint32_t access = 0;
    wire::PKey pkey = wire::kDefaultPKey;
    QKey qkey{};
    Address address{};
    uint32_t path_mtu = 4096;
    uint8_t retry_count = 7;
    uint8_t rnr_retry = 7;  // 7 tries for ever
    Psn receive_psn{};
    Psn send_psn{};
    uint8_t max_reads = 1;           // READs and atomics of ours under way at a time
    uint8_t max_incoming_reads = 1;  // of the peer's
    Address alternate{};
    uint8_t min_rnr_timer = 0;
    Migration migration = Migration::migrated;
    Qpn dest_qpn{};
    wire::EeContext dest_ee{};  // of an EE context: the peer's
};

inline constexpr uint8_t kRetryForEver = 7;

// Of READs that wait until there is room for their answers (answer_budget.h).
enum class AnswerLine : uint8_t { none, waits, called };

// Requests are numbered as they are posted: [oldest, end) are in the queue, of which [oldest,
// begun) have PSNs. The next packet to go belongs to `current`.
struct RequesterState {
    uint32_t oldest = 0;
    uint32_t begun = 0;
    uint32_t current = 0;
    uint32_t end = 0;
    Psn next_psn{};        // of the next request to begin
    Psn send_psn{};        // of the next packet to go; lies back while packets are sent again
    Psn unacknowledged{};  // the oldest PSN without an answer; READ responses answer one each
    Psn sent_end{};        // behind the last PSN that ever went out
    // Selective repeat: what the scoreboard says, where there is one (selective.h).
    bool repairing = false;       // something is missing
    uint32_t repairs_due = 0;     // packets that are lost and go again before new ones
    uint32_t settled_ahead = 0;   // packets from `unacknowledged` on that are not in flight
    Psn loss_told_end{};          // what was in flight when congestion control was told of a loss
    uint32_t awaiting_data = 0;   // READs and atomics begun and not done
    uint32_t answers_asked = 0;   // packets of answers, by READs begun and not done
    uint32_t answers_share = 0;   // how many of them the adapter counts as due
    uint32_t messages_begun = 0;  // SSN, 24 bits
    uint32_t credit_limit = 0;    // LSN, 24 bits
    uint32_t peer_msn = 0;        // as the newest acknowledgement said
    bool has_credits = false;     // the peer grants end-to-end credits
    bool asks_next = false;       // the next packet asks for an answer, wherever in the message
    bool recovering = false;      // what was lost goes again; until something new is acknowledged,
                                  // all that comes speaks of the same loss
    uint8_t retries_left = 0;
    uint8_t rnr_retries_left = 0;
    // Leave to read the one piece of memory that this request's data lies in.
    bool is_granted = false;
    uint32_t granted_number = 0;
    Grant grant;
    // The message under way goes on with middle packets, so many: each is `stream`, the one before
    // it, with the next PSN and the next data (continue_message()).
    uint32_t middles_left = 0;
    Psn stream_psn{};
    wire::Packet stream;
    std::optional<Psn> trimmed{};  // the first answer that is known to be lost before its turn
    std::optional<Psn> timed{};    // the packet whose round trip is measured, and when it went
    base::Instant timed_at{};
    base::Instant ack_deadline = base::Instant::never();
    base::Instant wait_until{};                              // an RNR NAK asked for patience
    base::Instant not_ready_since = base::Instant::never();  // the first RNR NAK without progress
    base::Instant next_allowed{};                            // pacing
    base::Instant answers_at{};                              // the newest change of answers due
};

// What a queue pair waits for before its next request packet.
enum class Standing : uint8_t {
    idle,               // there is nothing to send, and no answer is missing
    ready,              // it could send right now
    paced,              // congestion control, or a rate limit, allows the next packet later
    window,             // as many packets are in flight as the adapter allows, or as many READs
    congestion_window,  // ... as congestion control allows
    answers,            // everything was sent
    not_ready,          // the receiver asked for patience
};

// The answer to a READ or an atomic; kept after it was given, for the requester may ask again.
struct Answer {
    Psn first_psn{};
    Psn end_psn{};
    Psn next_psn{};   // of the next response packet; end_psn once all are out
    Psn sent_end{};   // what comes before it went already, once at least
    Psn burst_psn{};  // where the present burst of responses began: its first packet says so
    bool is_atomic = false;
    bool is_empty = false;     // FLUSH and ATOMIC WRITE: a response without data
    bool was_given = false;    // whole, once at least
    bool is_fetched = false;   // or is being fetched: its first packet is here ...
    base::Instant ready_at{};  // ... at this time
    uint32_t rkey = 0;
    uint32_t length = 0;
    uint64_t address = 0;
    uint64_t original = 0;
    uint32_t msn = 0;
    Grant grant;
};

struct ResponderState {
    // The message under way: its kind tells which packets may follow.
    enum class Message : uint8_t { none, send, write };

    Psn expected{};
    uint32_t msn = 0;  // 24 bits
    Message message = Message::none;
    bool nak_sent = false;     // of this gap; the next one waits until the gap is closed
    bool established = false;  // the event was given
    bool echoes_mark = false;  // the next answer says that the network is congested
    uint32_t receive_place = ReceiveQueue::kNone;
    uint32_t received = 0;  // bytes of the message
    uint64_t write_address = 0;
    uint32_t write_length = 0;  // of the whole message
    uint32_t write_rkey = 0;
    Grant write_grant;
    // The one ACK or NAK that waits to go. A later ACK replaces it, or, where ACKs are not
    // coalesced, follows it: so many, for the PSNs right before, go first.
    bool ack_pending = false;
    uint32_t acks_before = 0;
    uint8_t ack_syndrome = 0;
    Psn ack_psn{};
    base::Instant next_notification{};  // of congestion, to the peer
    std::vector<Answer> answers;        // the newest max_incoming_reads, oldest first
    std::vector<Answer> again;          // parts of them that selective repeat asks for again
    std::vector<Psn> trimmed;  // lost, and known before their turn; in the order of their PSNs
};

struct QueuePair {
    Qpn number{};
    Qpn owner{};  // whose work it does: its own, but for the halves of an EE context
    QpType type = QpType::rc;
    // What the short ways of packets take it for: its type, or one that has none.
    QpType short_type = QpType::rc;
    QpState state = QpState::reset;
    bool signal_all = false;
    bool drain_notify = false;
    bool in_ready_list = false;
    bool in_answer_list = false;
    bool waits_for_pace = false;
    bool counts_answers = false;  // answers to its READs come through a buffer that may overflow
    AnswerLine answer_line = AnswerLine::none;
    LossPolicy loss = LossPolicy::go_back_n;
    uint8_t lane = 0;         // of the ready list that it is in
    uint8_t answer_lane = 0;  // of the list of answers that it is in
    uint8_t retry_count = 7;
    uint8_t rnr_retry = 7;
    uint8_t max_reads = 1;
    uint8_t max_incoming_reads = 1;
    uint8_t min_rnr_timer = 0;
    Migration migration = Migration::migrated;
    bool migration_refused = false;  // and the user was told
    PdId pd{};
    CqId send_cq{};
    CqId receive_cq{};
    SrqId srq{};  // of a target of XRC: that of the latest message
    XrcDomainId xrc_domain{};
    RdDomainId rd_domain{};
    wire::EeContext ee{};  // of RD: which one has its oldest request; of a half: its EE context
    wire::EeContext dest_ee{};
    uint32_t access = 0;
    uint32_t mtu = 4096;
    wire::PKey pkey = wire::kDefaultPKey;
    QKey qkey{};
    Qpn dest_qpn{};
    Address address{};
    Address alternate{};
    RequesterState requester;
    ResponderState responder;
    CongestionControl congestion;
    wire::Packet prototype;                           // what all packets to the peer have in common
    base::Instant timer_at = base::Instant::never();  // when the adapter's timer list looks here
    uint32_t next_ready = 0;                          // link of the ready list
    uint32_t next_answer = 0;                         // and of the list of answers
    SendQueueSize send_size;
    uint32_t receive_requests = 0;
    uint32_t receive_sges = 0;
    std::unique_ptr<SendQueue> send_queue;
    std::unique_ptr<ReceiveQueue> receive_queue;
    std::unique_ptr<ReorderBuffer> early;
    std::unique_ptr<Scoreboard> scoreboard;
    std::unique_ptr<Spread> spread;           // none where packets are delivered in order
    std::unique_ptr<PluginFlow> plugin_flow;  // with a congestion control that is a plug-in

    Service service() const { return service_of(type); }
    bool is_reliable() const { return type != QpType::uc && type != QpType::ud; }
    Asker asker() const { return {pd, owner}; }
    // A sender that heeds ECN says so, that switches mark its packets and do not drop them: ECT(0).
    uint8_t class_for(uint8_t traffic_class) const {
        const bool heeds = is_ecn_capable(congestion.algorithm);
        return heeds && (traffic_class & 3) == 0 ? traffic_class | 2 : traffic_class;
    }
    bool may_answer() const { return responder.ack_pending || !responder.answers.empty(); }
    bool receives() const {
        return state == QpState::rtr || state == QpState::rts || state == QpState::sqd ||
               state == QpState::sqe;
    }
};

}  // namespace tulle::transport
