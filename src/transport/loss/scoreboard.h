// The sender's half of selective repeat: the state of packets beyond the cumulative
// acknowledgement. Which of them the receiver has, which are lost and wait for retransmission, and
// which were retransmitted.
//
// A packet is lost if a packet sent more than `tolerance` packets after it has arrived. First
// transmissions are in the order of their PSNs. A retransmitted packet remembers the new packet
// that follows it, and is lost again if that one arrives first. So each loss is detected once, also
// that of a retransmitted packet.
//
// The arrival of a packet that was sent twice proves little: it may be a late first copy. It proves
// that packets sent before the second copy are lost only if nothing overtakes, or if a timeout
// passed between the two copies; then the second copy is a probe.
//
// PSNs of READ responses are not packets of the sender. Each response received is noted as an
// answer, and missing ones are requested again. The receiver has carried out everything before
// `delivered_end`, so only answers can be missing there.
//
// It costs nothing while nothing is missing: the queue pair creates it with the first loss.
#pragma once

#include "base/ring.h"
#include "transport/loss/psn_bits.h"
#include "wire/packet.h"

namespace tulle::transport {

class Scoreboard {
public:
    explicit Scoreboard(uint32_t tolerance) : tolerance_(tolerance) {}

    // Starts with nothing missing; `first` is the oldest PSN without an answer.
    void start(wire::Psn first);
    // Whether it holds more than the cumulative acknowledgement says.
    bool is_needed() const {
        return received_count_ + lost_count_ + answers_ != 0 || !again_.empty() ||
               wire::psn_before(first_, delivered_end_);
    }

    // Reports may cover PSNs before this one.
    void reserve(wire::Psn end);
    // Everything before this PSN is acknowledged, or answered.
    void advance(wire::Psn first);
    // The receiver has carried out everything before this PSN.
    void note_delivered(wire::Psn end);
    wire::Psn delivered_end() const { return delivered_end_; }
    // The receiver has these packets; it cannot have those from `sent_end` on. True if any is new.
    bool note_received(const wire::SelectiveAck& ack, wire::Psn sent_end);
    // The answer with this PSN arrived. False if it is a duplicate.
    bool note_answer(wire::Psn psn);
    bool is_answered(wire::Psn psn) const { return answered_.test(psn); }

    // This packet, or this answer, is reported lost. False if it already waits for retransmission.
    bool mark_lost(wire::Psn psn);
    // The same after a timeout: its arrival proves that all missing packets before it are lost.
    void mark_probe(wire::Psn psn);
    // Marks all missing answers of [from, end); with `again` also those already requested again.
    void mark_missing_answers(wire::Psn from, wire::Psn end, bool again);

    // Marks as lost what the arrivals so far prove. packet_at(psn) returns the first PSN, not
    // before this one, that is a packet of the sender.
    template <class PacketAt>
    void judge(PacketAt&& packet_at) {
        const wire::Psn end = proven_end();
        if (wire::psn_before(judged_end_, delivered_end_)) judged_end_ = delivered_end_;
        while (wire::psn_before(judged_end_, end)) {
            judged_end_ = received_.find(judged_end_, end, false);
            if (judged_end_ == end) break;
            const wire::Psn packet = packet_at(judged_end_);
            if (packet == judged_end_) judge_first(packet);
            judged_end_ = packet == judged_end_ ? wire::psn_plus(packet, 1) : packet;
        }
        judge_again();
    }

    uint32_t lost() const { return lost_count_; }
    // Packets, and answers, that are known to have arrived.
    uint32_t received() const { return received_count_ + answers_; }
    // Packets behind the oldest without an answer that are not in flight.
    uint32_t settled() const { return lost_count_ + received(); }
    wire::Psn first_lost(wire::Psn end) const { return lost_.find(first_, end); }
    // Behind the last of consecutive lost PSNs that begin here.
    wire::Psn end_of_lost(wire::Psn psn, wire::Psn end) const {
        return lost_.find(psn, end, false);
    }
    bool is_under_way_again(wire::Psn psn) const {
        return sent_again_.test(psn) && !lost_.test(psn);
    }

    // Packets of [psn, end) are retransmitted, before the new packet `next`.
    void on_sent_again(wire::Psn psn, wire::Psn end, wire::Psn next);

private:
    struct Again {
        wire::Psn psn;
        wire::Psn next;       // the new packet that was to follow
        uint32_t number = 0;  // consecutive number of retransmissions
        bool proves = false;
    };

    bool is_here(wire::Psn psn) const {
        return wire::psn_before(psn, delivered_end_) || received_.test(psn);
    }
    void note_arrival(wire::Psn psn);
    void note_arrival_again(const Again& again);
    wire::Psn proven_end() const;
    bool is_proven_lost(const Again& again) const;
    void judge_first(wire::Psn psn);
    void judge_again();
    void forget_again(wire::Psn psn);

    uint32_t tolerance_;
    uint32_t received_count_ = 0;
    uint32_t lost_count_ = 0;
    uint32_t answers_ = 0;
    uint32_t reserved_ = 0;
    wire::Psn first_{};
    wire::Psn delivered_end_{};
    wire::Psn judged_end_{};  // first copies before it are judged
    wire::Psn furthest_{};    // behind the newest first copy that arrived
    wire::Psn proof_next_{};  // of the newest second copy that proves a loss
    uint32_t proof_number_ = 0;
    uint32_t sent_again_count_ = 0;
    wire::Psn probe_{};
    bool has_probe_ = false;
    PsnBits received_;
    PsnBits lost_;
    PsnBits sent_again_;
    PsnBits answered_;
    base::Ring<Again> again_{8};  // in the order of sending
};

}  // namespace tulle::transport
