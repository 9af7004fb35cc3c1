#include "transport/credit/credit_pacer.h"

#include <algorithm>

namespace tulle::transport {

void CreditPacer::push(base::Ring<uint32_t>& ring, uint32_t place) {
    if (ring.full()) ring.grow();
    ring.push_back(place);
}

// A trimmed packet is retransmitted, which needs credit that nobody asked for yet. A sender that
// asks may have lost a grant: it is told its granted total again.
void CreditPacer::on_packet(CreditClient& client, uint32_t place, CreditDemand demand,
                            bool is_trimmed) {
    const bool is_more = credit_ahead(demand.target, client.target) > 0;
    if (is_more) client.target = demand.target;
    if (client.has_turn || !(is_more || demand.asks || is_trimmed)) return;
    client.has_turn = true;
    push(waiting_, place);
}

// Grants what was demanded, up to one grant. Never decreases: credit beyond the demand stays
// granted.
uint32_t CreditPacer::serve(CreditClient& client, uint32_t place) {
    const int32_t owed = std::max(client.owed(), 0);
    const uint32_t units = std::min(static_cast<uint32_t>(owed), grant_units());
    client.granted = (client.granted + units) & kCreditMask;
    client.has_turn = client.owed() > 0;
    if (client.has_turn) {
        push(waiting_, place);
    } else if (!client.is_idle) {
        client.is_idle = true;
        push(idle_, place);
    }
    return std::max(units, kLeastUnits);
}

uint32_t CreditPacer::serve_idle(CreditClient& client, uint32_t place) {
    const uint32_t units = grant_units();
    client.granted = (client.granted + units) & kCreditMask;
    const auto most = static_cast<int32_t>(settings_->most_bytes() / kCreditUnit);
    client.is_idle = client.owed() <= 0 && -client.owed() < most;
    if (client.is_idle) push(idle_, place);
    return units;
}

base::Duration CreditPacer::time_for(uint32_t units) const {
    const uint64_t share = uint64_t{settings_->pace} * marks_.part() / kRcccOne;
    const uint64_t rate_bps =
        std::max<uint64_t>(1, settings_->line_rate_bps / kRcccOne * std::max<uint64_t>(1, share));
    constexpr uint64_t kBitPicoseconds = 8'000'000'000'000;
    return {static_cast<int64_t>(uint64_t{units} * kCreditUnit * kBitPicoseconds / rate_bps)};
}

}  // namespace tulle::transport
