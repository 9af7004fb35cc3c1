// Send time and entropy value of each packet in flight: a ring by PSN. An answer names the packet
// that it answers and echoes its value; the log turns that into a round trip, once per packet.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "base/time.h"
#include "wire/ids.h"

namespace tulle::transport {

class FlightLog {
public:
    // A packet is sent; keeps all from `oldest` on.
    void note(wire::Psn psn, wire::Psn oldest, base::Instant now, uint16_t entropy) {
        make_room(oldest, wire::psn_distance(oldest, psn) + 1);
        Flight& flight = at(psn);
        flight = {now, psn.value, entropy, true, flight.psn == psn.value};
    }

    // The entropy value of this packet's last copy, if it is stored.
    std::optional<uint16_t> entropy_of(wire::Psn psn) const {
        if (flights_.empty() || at(psn).psn != psn.value) return std::nullopt;
        return at(psn).entropy;
    }

    // An answer with this value reports the packet: returns its round trip, or zero if it may be
    // that of an earlier copy. Nothing if the arrival was known, or the value is another copy's.
    std::optional<base::Duration> arrived(wire::Psn psn, uint16_t entropy, base::Instant now) {
        if (flights_.empty()) return std::nullopt;
        Flight& flight = at(psn);
        if (flight.psn != psn.value || !flight.is_under_way || flight.entropy != entropy)
            return std::nullopt;
        flight.is_under_way = false;
        if (flight.is_again) return base::Duration{};
        return now - flight.sent_at;
    }

    void clear() { flights_.clear(); }

private:
    struct Flight {
        base::Instant sent_at{};
        uint32_t psn = UINT32_MAX;
        uint16_t entropy = 0;
        bool is_under_way = false;
        // It is a retransmission. Its round trip may be that of the first copy, even if one answer
        // to that has arrived: another may repeat it.
        bool is_again = false;
    };

    Flight& at(wire::Psn psn) { return flights_[psn.value & (flights_.size() - 1)]; }
    const Flight& at(wire::Psn psn) const { return flights_[psn.value & (flights_.size() - 1)]; }

    void make_room(wire::Psn oldest, uint32_t packets) {
        if (packets <= flights_.size()) return;
        std::vector<Flight> larger(std::bit_ceil(std::max(packets, kFew)));
        larger.swap(flights_);
        for (const Flight& flight : larger)
            if (flight.psn != UINT32_MAX && !wire::psn_before(wire::Psn{flight.psn}, oldest))
                at(wire::Psn{flight.psn}) = flight;
    }

    static constexpr uint32_t kFew = 64;
    std::vector<Flight> flights_;
};

}  // namespace tulle::transport
