// One queue pair, as plain data. The roles are functions in files of their own: requester.h,
// completer.h, retry.h, responder.h and responses.h. They communicate only through this data.
//
// An idle queue pair is only this structure. Its queues are created with the first posted request,
// answers to READs with the first READ, a reorder buffer with the first packet out of order, a
// scoreboard with the first lost packet.
#pragma once

#include <array>
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
#include "transport/room_budget.h"
#include "transport/short_ways.h"
#include "transport/work_queue.h"
#include "wire/telemetry.h"

namespace tulle::transport {

// The path to the peer, and the header fields of packets on it.
struct Address {
    EndpointIndex endpoint{};
    uint8_t service_level = 0;
    uint8_t traffic_class = 0;
    uint8_t hop_limit = 64;
    uint16_t entropy = 0;
    uint8_t ack_timeout = 0;  // 4.096 us times 2 to the power of this; 0: no timeout
};

struct QpSetup {
    QpType type = QpType::rc;
    PdId pd{};
    CqId send_cq{};
    CqId receive_cq{};
    SrqId srq{};               // none, or the shared queue to take receives from
    XrcDomainId xrc_domain{};  // of a target of XRC
    RdDomainId rd_domain{};    // of RD
    SendQueueSize send{.requests = 16, .sges = 1, .inline_bytes = 0};
    uint32_t receive_requests = 16;
    uint32_t receive_sges = 1;
    bool signal_all = false;
};

enum class Migration : uint8_t { migrated, rearm, armed };

// The arguments of a modify call; the mask says which are given.
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
    uint8_t rnr_retry = 7;  // 7: no limit
    Psn receive_psn{};
    Psn send_psn{};
    uint8_t max_reads = 1;           // own READs and atomics in progress at a time
    uint8_t max_incoming_reads = 1;  // of the peer's
    Address alternate{};
    uint8_t min_rnr_timer = 0;
    Migration migration = Migration::migrated;
    Qpn dest_qpn{};
    wire::EeContext dest_ee{};  // of an EE context: the peer's
};

inline constexpr uint8_t kRetryForEver = 7;

// Requests are numbered in the order of posting: [oldest, end) are in the queue, and [oldest,
// begun) of them have PSNs. The next packet belongs to `current`.
struct RequesterState {
    uint32_t oldest = 0;
    uint32_t begun = 0;
    uint32_t current = 0;
    uint32_t end = 0;
    Psn next_psn{};        // of the next request to begin
    Psn send_psn{};        // of the next packet; moves back while packets are retransmitted
    Psn unacknowledged{};  // the oldest PSN without an answer; each READ response answers one
    Psn sent_end{};        // behind the last PSN ever sent
    Psn asked_end{};       // behind the last packet that asked for an answer, or gets one
    // Selective repeat: the state of the scoreboard, if there is one (selective.h).
    bool repairing = false;      // something is missing
    uint32_t repairs_due = 0;    // lost packets, retransmitted before new ones are sent
    uint32_t settled_ahead = 0;  // packets from `unacknowledged` on that are not in flight
    Psn loss_told_end{};  // the end of what was in flight when congestion control was last told of
                          // a loss
    uint32_t awaiting_data = 0;   // READs and atomics begun and not done
    uint32_t messages_begun = 0;  // SSN, 24 bits
    uint32_t credit_limit = 0;    // LSN, 24 bits
    uint32_t peer_msn = 0;        // from the newest acknowledgement
    bool has_credits = false;     // the peer grants end-to-end credits
    bool asks_next = false;   // the next packet asks for an answer, wherever it is in the message
    bool recovering = false;  // lost packets are being retransmitted; until a new packet is
                              // acknowledged, all reports of loss are about the same one
    uint8_t retries_left = 0;
    uint8_t rnr_retries_left = 0;
    // Permission to read the one piece of memory that holds this request's data.
    bool is_granted = false;
    uint32_t granted_number = 0;
    Grant grant;
    // Middle packets still to send of the message in progress. Each is a copy of `stream`, the one
    // before it, with the next PSN and the next data (continue_message()).
    uint32_t middles_left = 0;
    Psn stream_psn{};
    wire::Packet stream;
    std::optional<Psn> trimmed{};  // the first answer known to be lost before its turn
    std::optional<Psn> cut_end{};  // behind the last part of a READ that was asked for by itself
    std::optional<Psn> timed{};    // the packet whose round trip is measured; sent at `timed_at`
    base::Instant timed_at{};
    base::Instant ack_deadline = base::Instant::never();
    base::Instant wait_until{};                              // the wait that an RNR NAK asked for
    base::Instant not_ready_since = base::Instant::never();  // the first RNR NAK without progress
    base::Instant next_allowed{};                            // pacing
    std::array<RoomShare, kRooms> shares;                    // of packets in flight
};

// What a queue pair waits for before its next request packet.
enum class Standing : uint8_t {
    idle,    // nothing to send, and no answer is missing
    ready,   // it can send now
    paced,   // congestion control, or a rate limit, allows the next packet later
    window,  // the adapter's limit of packets in flight, or the limit of READs, is reached
    congestion_window,  // congestion control's limit of packets in flight is reached
    answers,            // everything is sent; answers are missing
    not_ready,          // the receiver sent an RNR NAK
};

// The answer to a READ or an atomic. It is kept after it was sent, because the requester may ask
// again.
struct Answer {
    Psn first_psn{};
    Psn end_psn{};
    Psn next_psn{};   // of the next response packet; end_psn once all are out
    Psn sent_end{};   // behind the last response packet sent at least once
    Psn burst_psn{};  // where the current burst of responses began: its first packet is marked as
                      // such
    bool is_atomic = false;
    bool is_empty = false;     // FLUSH and ATOMIC WRITE: a response without data
    bool was_given = false;    // sent completely, at least once
    bool is_fetched = false;   // its fetch has begun: its first packet is here ...
    base::Instant ready_at{};  // ... at this time
    uint32_t rkey = 0;
    uint32_t length = 0;
    uint64_t address = 0;
    uint64_t original = 0;
    uint32_t msn = 0;
    Grant grant;
};

struct ResponderState {
    // The kind of the message in progress; it determines which packets may follow.
    enum class Message : uint8_t { none, send, write };

    Psn expected{};
    uint32_t msn = 0;  // 24 bits
    Message message = Message::none;
    bool nak_sent = false;     // for this gap; the next NAK waits until the gap is closed
    bool established = false;  // the event was raised
    bool echoes_mark = false;  // the next answer reports congestion
    uint32_t receive_place = ReceiveQueue::kNone;
    uint32_t received = 0;      // bytes of the message so far
    uint32_t write_length = 0;  // of the whole message
    Grant write_grant;
    // The one ACK or NAK that waits to be sent. A later ACK replaces it. If ACKs are not coalesced,
    // it follows it: `acks_before` ACKs, for the PSNs right before, go first.
    bool ack_pending = false;
    uint32_t acks_before = 0;
    uint8_t ack_syndrome = 0;
    Psn ack_psn{};
    base::Instant next_notification{};  // of congestion, to the peer: not before
    std::vector<Answer> answers;        // the newest max_incoming_reads, oldest first
    std::vector<Answer> again;          // parts of them that selective repeat asks for again
    std::vector<Psn> trimmed;           // lost, and known before their turn; ordered by PSN
};

struct QueuePair {
    Qpn number{};
    Qpn owner{};  // whose work it does: its own, except for the halves of an EE context
    QpType type = QpType::rc;
    // The type for the fast paths of packets: its own, or one that has no fast path.
    std::array<QpType, kShortWays> short_types{};
    QpState state = QpState::reset;
    bool signal_all = false;
    bool drain_notify = false;
    bool in_ready_list = false;
    bool in_answer_list = false;
    bool waits_for_pace = false;
    bool shares_rooms = false;  // its packets go through buffers that may overflow
    std::array<RoomLine, kRooms> room_lines{};
    LossPolicy loss = LossPolicy::go_back_n;
    uint8_t lane = 0;          // of its ready list
    uint8_t answer_lane = 0;   // of its answer list
    uint8_t answer_level = 0;  // service level of acknowledgements
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
    SrqId srq{};  // of an XRC target: the SRQ of the latest message
    XrcDomainId xrc_domain{};
    RdDomainId rd_domain{};
    wire::EeContext ee{};  // of RD: the one with its oldest request; of a half: its EE context
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
    base::Instant timer_at = base::Instant::never();  // its entry in the adapter's timer list
    uint32_t next_ready = 0;                          // link of the ready list
    uint32_t next_answer = 0;                         // link of the answer list
    SendQueueSize send_size;
    uint32_t receive_requests = 0;
    uint32_t receive_sges = 0;
    std::unique_ptr<SendQueue> send_queue;
    std::unique_ptr<ReceiveQueue> receive_queue;
    std::unique_ptr<ReorderBuffer> early;
    std::unique_ptr<Scoreboard> scoreboard;
    std::unique_ptr<Spread> spread;           // none if packets are delivered in order
    std::unique_ptr<PluginFlow> plugin_flow;  // if congestion control is a plug-in
    std::unique_ptr<wire::Telemetry> told;    // the latest telemetry that an answer brought

    Service service() const { return service_of(type); }
    QpType type_for(ShortWay way) const { return short_types[static_cast<size_t>(way)]; }
    bool is_reliable() const { return type != QpType::uc && type != QpType::ud; }
    Asker asker() const { return {pd, owner}; }
    // A sender that reacts to ECN sets ECT(0), so that switches mark its packets and do not drop
    // them.
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
