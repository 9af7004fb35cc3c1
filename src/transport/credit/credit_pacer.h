// The pacer of a receiving adapter (RCCC): it decides who gets credit next, how much, and when the
// next grant is due. There is one for all queue pairs, because they share the line.
//
// Senders with demand take turns. When all demand is met, senders without demand take turns, each
// up to a window of credit beyond its demand. A sender uses that credit when it has something to
// send again, or for trimmed packets, whose demand a receiver does not know.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ring.h"
#include "base/time.h"
#include "transport/credit/mark_watch.h"
#include "transport/credit/sender_credit.h"

namespace tulle::transport {

// The receiver's state for one sender.
struct CreditClient {
    uint32_t granted = 0;  // grants and targets are counts as in SenderCredit
    uint32_t target = 0;
    bool has_turn = false;  // in the list of those with demand
    bool is_idle = false;   // in the list of those without
    int32_t owed() const { return credit_ahead(target, granted); }
};

class CreditPacer {
public:
    explicit CreditPacer(const RcccSettings& settings) : settings_(&settings) {}

    // A packet with this demand arrived, whole or trimmed. `place` names its queue pair.
    void on_packet(CreditClient& client, uint32_t place, CreditDemand demand, bool is_trimmed);
    // The marks and trims of arriving packets: grants less if there are too many.
    void watch(base::Instant now, bool is_marked, bool is_trimmed) {
        if (settings_->heeds_marks) marks_.count(now, settings_->base_rtt, is_marked, is_trimmed);
    }

    // Time of the next grant, if any sender may get one.
    bool has_clients() const { return !waiting_.empty() || !idle_.empty(); }
    base::Instant next_at() const { return next_at_; }
    bool is_armed = false;  // the adapter has a timer for next_at()

    // The place of the next sender; counts its grant, and sets the time of the next one. find()
    // returns the client of a place, or nullptr if it no longer exists.
    template <class Find>
    std::optional<uint32_t> next(base::Instant now, Find&& find) {
        while (has_clients()) {
            const bool has_demand = !waiting_.empty();
            const uint32_t place = (has_demand ? waiting_ : idle_).pop_front();
            CreditClient* client = find(place);
            if (client == nullptr || !(has_demand ? client->has_turn : client->is_idle)) continue;
            const uint32_t units = has_demand ? serve(*client, place) : serve_idle(*client, place);
            next_at_ = now + time_for(units);
            return place;
        }
        return std::nullopt;
    }

private:
    // The least wait for the next grant, in units; also after a grant that adds nothing.
    static constexpr uint32_t kLeastUnits = 1024 / kCreditUnit;  // uet-htsim

    uint32_t grant_units() const {
        return settings_->packet_bytes * settings_->grant_packets / kCreditUnit;
    }
    uint32_t serve(CreditClient& client, uint32_t place);
    uint32_t serve_idle(CreditClient& client, uint32_t place);
    base::Duration time_for(uint32_t units) const;
    static void push(base::Ring<uint32_t>& ring, uint32_t place);

    const RcccSettings* settings_;
    base::Ring<uint32_t> waiting_{4};
    base::Ring<uint32_t> idle_{4};
    base::Instant next_at_{};
    MarkWatch marks_;
};

}  // namespace tulle::transport
