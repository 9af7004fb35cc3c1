// When each packet in flight went, and with which entropy value: a ring by PSN. An answer names the
// packet that it answers and echoes its value; the log turns that into a round trip, once.
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
    // A packet goes; all from `oldest` on are remembered.
    void note(wire::Psn psn, wire::Psn oldest, base::Instant now, uint16_t entropy) {
        make_room(oldest, wire::psn_distance(oldest, psn) + 1);
        Flight& flight = at(psn);
        const bool is_again = flight.psn == psn.value && flight.is_under_way;
        flight = {now, psn.value, entropy, true, is_again};
    }

    // The value that this packet went with last, if it is remembered.
    std::optional<uint16_t> entropy_of(wire::Psn psn) const {
        if (flights_.empty() || at(psn).psn != psn.value) return std::nullopt;
        return at(psn).entropy;
    }

    // The packet arrived, as an answer with this value says. Nothing if that was told before, or if
    // the answer may be to an earlier copy.
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
        bool is_again = false;  // it went before: its round trip may be that of the first copy
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
