// The requests of one sender to one queue pair, and their outcomes.
//
// Unacknowledged packets are kept by sequence number, so that gaps, retransmissions and reordered
// packets find their place. An acknowledgement removes them in order and adds them to operations.
// READs and atomics are kept separately: only their own response completes them. Sequence numbers
// are unwrapped to 64 bits on entry, so the code inside does not deal with the 24-bit circle.
//
// An RDMA READ takes as many sequence numbers as its response has packets, which depends on the
// path MTU. Until a first or middle packet shows the MTU, the next request may fit any MTU from 256
// to 4096.
//
// Memory is bounded: beyond kMostSent packets or kMostAwaited READs and atomics the oldest is given
// up as unanswered.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "decode/operation.h"
#include "wire/frame.h"

namespace tulle::decode {

// The message that a packet belongs to.
struct Message {
    wire::Psn first_psn;
    uint64_t first_packet = 0;  // number in the capture
};

// What the follower found out about one packet.
struct Noticed {
    bool retransmission = false;  // a request or an answer that was seen before
    bool out_of_order = false;    // fills a gap that no NAK has reported
    uint32_t psn_gap = 0;         // packets missing before this one
    bool new_sequence = false;    // the flow starts over: the QP was reconnected
    std::optional<Message> message;
    std::optional<FlowKey> answers;  // for a response: the flow of its requests
    std::vector<FollowedOperation> completed;
};

class RequestFlow {
public:
    static constexpr size_t kMostSent = 8192;
    static constexpr size_t kMostAwaited = 256;  // connections agree on at most 255

    explicit RequestFlow(const FlowKey& key) : key_(key) {}

    void on_request(const wire::Frame& frame, When when, Noticed& noticed);
    void on_response(const wire::Frame& frame, When when, Noticed& noticed);

    // Whether the response answers an open request of this flow, and whether it answers any request
    // that this flow has sent.
    bool awaits(const wire::Frame& response) const;
    bool knows(const wire::Frame& response) const;

    void learn_mtu(uint32_t payload_bytes);
    void learn_source_qp(wire::Qpn qp) { source_qp_ = qp; }

    // Gives up all open requests.
    void finish(std::vector<FollowedOperation>& operations);

    const FlowKey& key() const { return key_; }
    size_t pending() const { return sent_.size() + awaited_.size(); }

private:
    // An unacknowledged packet of a SEND or a WRITE.
    struct Sent {
        uint8_t opcode = 0;
        uint32_t payload_bytes = 0;
        uint32_t times_sent = 1;
        uint32_t rnr_naks = 0;
        When when;
        Message message;
        wire::Reth reth;
        uint32_t immediate_or_key = 0;
    };
    // A request that only its own response completes. `span` is the number of sequence numbers it
    // takes, 0 while the MTU that decides it is unknown.
    struct Awaited {
        FollowedOperation operation;
        uint32_t span = 1;
        uint64_t next_response = 0;
        uint64_t latest_response = 0;
    };
    using AwaitedMap = std::map<uint64_t, Awaited>;

    void on_reliable(const wire::Frame& frame, When when, Noticed& noticed);
    void on_unreliable(const wire::Frame& frame, When when, Noticed& noticed);
    void on_seen_before(uint64_t at, const wire::Frame& frame, When when, Noticed& noticed);
    void record(uint64_t at, const wire::Frame& frame, When when, uint32_t times_sent,
                Noticed& noticed);
    void await(uint64_t at, const wire::Frame& frame, When when, uint32_t times_sent,
               Noticed& noticed);

    void on_nak(uint64_t at, uint8_t syndrome, When when, Noticed& noticed);
    void on_rnr_nak(uint64_t at);
    void refuse(uint64_t at, uint8_t code, When when, Noticed& noticed);
    bool on_awaited_response(uint64_t at, const wire::Frame& frame, When when, Noticed& noticed);
    bool on_read_response(AwaitedMap::iterator it, uint64_t at, const wire::Frame& frame, When when,
                          Noticed& noticed);
    bool acknowledge(uint64_t up_to, When when, Noticed& noticed);

    void join(uint64_t at, const Sent& sent, Outcome outcome, When when,
              std::vector<FollowedOperation>& done);
    void close(Outcome outcome, When when, std::vector<FollowedOperation>& done);
    void complete(FollowedOperation operation, Outcome outcome, When when,
                  std::vector<FollowedOperation>& done);
    FollowedOperation begin_operation(uint8_t opcode, uint64_t at, When when) const;
    Message message_of(uint64_t at, uint8_t opcode, When when) const;

    bool is_plausible(wire::Psn psn) const;
    void restart(wire::Psn psn, Noticed& noticed);
    uint64_t unwrap(wire::Psn psn) const;
    bool settle_span(uint64_t next_request);
    void set_span(AwaitedMap::iterator it, uint32_t span);
    AwaitedMap::iterator covering(uint64_t at);
    AwaitedMap::const_iterator covering(uint64_t at) const;

    FlowKey key_;
    std::optional<wire::Qpn> source_qp_;
    uint32_t mtu_ = 0;  // 0: not known yet
    bool started_ = false;
    bool resending_ = false;  // the sender went back: packets below next_ are retransmissions
    uint64_t origin_ = 0;     // the first sequence number seen
    uint64_t next_ = 0;       // the next new one
    uint64_t answered_ = 0;   // the highest one acknowledged
    std::map<uint64_t, Sent> sent_;
    AwaitedMap awaited_;
    std::optional<FollowedOperation> open_;  // partly acknowledged
    uint64_t open_next_ = 0;
};

}  // namespace tulle::decode
