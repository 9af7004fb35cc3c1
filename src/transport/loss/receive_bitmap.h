// The receiver's half of selective repeat: which packets came before their turn, and what the
// sender is told of them. Of payloads it knows nothing: an ordered service keeps them until their
// turn (reorder_buffer.h), one that places data as it comes needs only this.
//
// A selective acknowledgement tells of 64 PSNs: of those up to the furthest that came, so that each
// packet is told of many times, and an answer may get lost; or from the first packet on that none
// has told of, if that one lies before them. Answers that had to wait may have several to tell.
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
    // Of one that is not before the expected PSN. Bits are a ring: behind the furthest they are
    // those of others.
    bool has(wire::Psn psn) const {
        return count_ != 0 && !wire::psn_before(furthest_, psn) && received_.test(psn);
    }
    // Its turn has come, or it is given up.
    void forget(wire::Psn psn);
    void clear();

    bool empty() const { return count_ == 0; }
    wire::Psn furthest() const { return furthest_; }  // of those that are here

    // Only the headers of this packet came. It is told of once.
    void note_trimmed(wire::Psn psn);
    bool has_trimmed() const { return !trimmed_.empty(); }

    // What the next answer tells: first of packets that were trimmed.
    wire::SelectiveAck tell(wire::Psn expected);
    // Whether there is something that no answer has told of.
    bool has_more() const { return has_untold_ || has_trimmed(); }

private:
    void note_untold(wire::Psn psn);
    wire::Psn first_to_tell(wire::Psn expected) const;
    wire::SelectiveAck tell_trimmed(wire::Psn expected);

    uint32_t psns_;
    uint32_t count_ = 0;
    wire::Psn furthest_{};
    bool has_untold_ = false;  // and then they lie from the first to the last of these
    wire::Psn untold_first_{};
    wire::Psn untold_last_{};
    PsnBits received_;
    std::vector<wire::Psn> trimmed_;  // not told of
};

}  // namespace tulle::transport
