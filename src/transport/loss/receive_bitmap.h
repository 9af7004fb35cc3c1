// The receiver's half of selective repeat: which packets came before their turn, and what the
// sender is told of them. Of payloads it knows nothing: an ordered service keeps them until their
// turn (reorder_buffer.h), one that places data as it comes needs only this.
//
// A selective acknowledgement tells of 64 PSNs: of those up to the furthest that came, for the
// newest packets have not been told of; or from the packet on that the answer is for, if that one
// lies before them. Each packet is thus told of many times, and an answer may get lost.
#pragma once

#include <vector>

#include "transport/loss/psn_bits.h"
#include "wire/packet.h"

namespace tulle::transport {

enum class Arrival : uint8_t { early, known, too_far };

class ReceiveBitmap {
public:
    // So many PSNs from the expected one on.
    explicit ReceiveBitmap(uint32_t psns) : psns_(psns) {}

    // A packet came before its turn.
    Arrival note(wire::Psn expected, wire::Psn psn);
    bool has(wire::Psn psn) const { return count_ != 0 && received_.test(psn); }
    // Its turn has come, or it is given up.
    void forget(wire::Psn psn);
    void clear();

    bool empty() const { return count_ == 0; }
    wire::Psn furthest() const { return furthest_; }  // of those that are here

    // Only the headers of this packet came. It is told of once.
    void note_trimmed(wire::Psn psn);
    bool has_trimmed() const { return !trimmed_.empty(); }

    // What the next answer tells: first of packets that were trimmed. `newest` is the one that it
    // answers.
    wire::SelectiveAck tell(wire::Psn expected, wire::Psn newest);

private:
    wire::SelectiveAck tell_trimmed(wire::Psn expected);

    uint32_t psns_;
    uint32_t count_ = 0;
    wire::Psn furthest_{};
    PsnBits received_;
    std::vector<wire::Psn> trimmed_;  // not told of
};

}  // namespace tulle::transport
