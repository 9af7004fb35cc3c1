// The receiver's half of selective repeat: which packets arrived before their turn, and what is
// reported to the sender. It stores no payloads: an ordered service keeps them until their turn
// (reorder_buffer.h); a service that places data on arrival needs only this.
//
// A selective acknowledgement reports 64 PSNs. Usually these are the last ones up to the furthest
// that arrived, so each packet is reported many times, and a lost answer does no harm. If an
// unreported packet is before them, the 64 PSNs begin with that packet. Delayed answers may have
// several such reports.
#pragma once

#include <vector>

#include "transport/loss/psn_bits.h"
#include "wire/packet.h"

namespace tulle::transport {

enum class Arrival : uint8_t { early, known, too_far };

class ReceiveBitmap {
public:
    // Covers this many PSNs from the expected one on.
    explicit ReceiveBitmap(uint32_t psns) : psns_(psns) {}

    // Records a packet that arrived before its turn.
    Arrival note(wire::Psn expected, wire::Psn psn);
    // For a PSN not before the expected one. The bits are a ring: behind the furthest PSN they
    // belong to other PSNs.
    bool has(wire::Psn psn) const {
        return count_ != 0 && !wire::psn_before(furthest_, psn) && received_.test(psn);
    }
    // The turn of the packet has come, or it is given up.
    void forget(wire::Psn psn);
    void clear();

    bool empty() const { return count_ == 0; }
    wire::Psn furthest() const { return furthest_; }  // of those received

    // Only the headers of this packet arrived. It is reported once.
    void note_trimmed(wire::Psn psn);
    bool has_trimmed() const { return !trimmed_.empty(); }

    // The content of the next answer; trimmed packets first.
    wire::SelectiveAck tell(wire::Psn expected);
    // Whether something has not been reported yet.
    bool has_more() const { return has_untold_ || has_trimmed(); }

private:
    void note_untold(wire::Psn psn);
    wire::Psn first_to_tell(wire::Psn expected) const;
    wire::SelectiveAck tell_trimmed(wire::Psn expected);

    uint32_t psns_;
    uint32_t count_ = 0;
    wire::Psn furthest_{};
    bool has_untold_ = false;  // if so, the unreported ones are in [untold_first_, untold_last_]
    wire::Psn untold_first_{};
    wire::Psn untold_last_{};
    PsnBits received_;
    std::vector<wire::Psn> trimmed_;  // not yet reported
};

}  // namespace tulle::transport
