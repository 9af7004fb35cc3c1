// The sender's half of selective repeat: what it knows of packets that are not acknowledged by the
// count. Which of them the receiver has, which are lost and wait to be sent again, and which were.
//
// A packet is lost if one that was sent after it has arrived, and more than `tolerance` packets of
// those that were sent in between. Packets that go for the first time are sent in the order of
// their PSNs. A packet that is sent again remembers which new packet follows it; it is lost again
// if that one arrives without it. So each loss is seen once, and the resent packet's own loss too.
//
// That a packet arrived that was sent twice says little, for it may have been the first copy that
// was late. It proves that what was sent before the second copy is lost only where nothing
// overtakes, or where a timeout passed between the two: that second copy is a probe.
//
// PSNs of READ responses are not packets of the sender. Each that came is noted as an answer, and
// those that are missing are asked for again. What lies before `delivered_end` the receiver has
// carried out, so only answers can be missing there.
//
// It costs nothing while nothing is missing: the queue pair makes it with the first loss.
#pragma once

#include "base/ring.h"
#include "transport/loss/psn_bits.h"
#include "wire/packet.h"

namespace tulle::transport {

class Scoreboard {
public:
    explicit Scoreboard(uint32_t tolerance) : tolerance_(tolerance) {}

    // Nothing is missing; the oldest PSN without an answer is this one.
    void start(wire::Psn first);
    // Whether it says more than the count of acknowledged packets does.
    bool is_needed() const {
        return received_count_ + lost_count_ + answers_ != 0 || !again_.empty() ||
               wire::psn_before(first_, delivered_end_);
    }

    // PSNs may be told of up to this one.
    void reserve(wire::Psn end);
    // Everything before this PSN is acknowledged, or answered.
    void advance(wire::Psn first);
    // The receiver has carried out everything before this PSN.
    void note_delivered(wire::Psn end);
    wire::Psn delivered_end() const { return delivered_end_; }
    // The receiver has these packets; those from `sent_end` on it cannot have. True if that is new.
    bool note_received(const wire::SelectiveAck& ack, wire::Psn sent_end);
    // The answer with this PSN is here. False if it was.
    bool note_answer(wire::Psn psn);
    bool is_answered(wire::Psn psn) const { return answered_.test(psn); }

    // This packet is lost, or this answer: somebody says so. False if it waits to be sent again.
    bool mark_lost(wire::Psn psn);
    // The same after a timeout: its arrival proves that all before it which is missing is lost.
    void mark_probe(wire::Psn psn);
    // All answers of [from, end) that are missing; those that were asked for again, if `again`.
    void mark_missing_answers(wire::Psn from, wire::Psn end, bool again);

    // Marks what the arrivals so far prove to be lost. packet_at(psn) gives the first PSN not
    // before this one that is a packet of the sender's.
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
    uint32_t received() const { return received_count_; }
    // Packets that are neither in flight nor before the oldest without an answer.
    uint32_t settled() const { return lost_count_ + received_count_; }
    wire::Psn first_lost(wire::Psn end) const { return lost_.find(first_, end); }
    // Behind the last PSN of a row of lost ones that begins here.
    wire::Psn end_of_lost(wire::Psn psn, wire::Psn end) const {
        return lost_.find(psn, end, false);
    }
    bool is_under_way_again(wire::Psn psn) const {
        return sent_again_.test(psn) && !lost_.test(psn);
    }

    // Packets of [psn, end) go again, before the new packet `next`.
    void on_sent_again(wire::Psn psn, wire::Psn end, wire::Psn next);

private:
    struct Again {
        wire::Psn psn;
        wire::Psn next;       // the new packet that was to follow
        uint32_t number = 0;  // of those that were sent again
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
    wire::Psn judged_end_{};  // first copies before it were judged
    wire::Psn furthest_{};    // behind the newest first copy that arrived
    wire::Psn proof_next_{};  // of the newest second copy that proves anything
    uint32_t proof_number_ = 0;
    uint32_t sent_again_count_ = 0;
    wire::Psn probe_{};
    bool has_probe_ = false;
    PsnBits received_;
    PsnBits lost_;
    PsnBits sent_again_;
    PsnBits answered_;
    base::Ring<Again> again_{8};  // in the order in which they went
};

}  // namespace tulle::transport
