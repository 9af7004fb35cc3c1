#include "control/subnet/gmps.h"

#include <algorithm>

namespace tulle::control {

Gmps::Matter Gmps::take(base::Instant now, uint32_t node, uint16_t from, MadBytes mad) {
    const bool is_answer = (mad.method() & wire::kMethodResponse) != 0;
    const uint8_t of_class = mad.management_class();
    if (of_class == wire::kClassSubnetAdministration)
        return take_administration(now, node, from, mad);
    if (is_answer && mad.transaction() == expected_) {
        answer_ = mad;
        return Matter::none;
    }
    if (is_answer) return Matter::for_manager;
    const bool is_served =
        (of_class == wire::kClassPerformance && performance_[node].answer(mad)) ||
        (of_class == wire::kClassCongestionControl && congestion_[node].answer(now, mad));
    if (is_served) answers_[node].push_back({from, mad});
    return Matter::none;
}

// Both ends may be at one node: an ACK goes to the sender of data, anything else to its receiver.
Gmps::Matter Gmps::take_administration(base::Instant now, uint32_t node, uint16_t from,
                                       const MadBytes& mad) {
    const bool is_answer = (mad.method() & wire::kMethodResponse) != 0;
    const bool is_ack = is_rmpp(mad) && rmpp_of(mad).type != wire::kRmppData;
    const bool is_report_answer = mad.method() == wire::kMethodReportResp;
    const bool is_for_client =
        mad.method() == wire::kMethodReport || (is_answer != is_ack && !is_report_answer);
    if (is_for_client) {
        if (SaClient* const client = client_at(node)) client->on_mad(now, from, mad);
        return Matter::none;
    }
    Administration* const asked = administration(node);
    if (asked == nullptr) return Matter::none;
    asked->on_mad(now, from, mad);
    return mad.attribute() == wire::kSaMcMemberRecord ? Matter::groups : Matter::none;
}

void Gmps::on_timer(base::Instant now, uint32_t node) {
    if (SaClient* const client = client_at(node)) client->on_timer(now);
    if (Administration* const asked = administration(node)) asked->on_timer(now);
}

std::optional<GmpOut> Gmps::poll_transmit(base::Instant now, uint32_t node) {
    if (const auto found = answers_.find(node); found != answers_.end()) {
        const GmpOut out = found->second.back();
        found->second.pop_back();
        if (found->second.empty()) answers_.erase(found);
        return out;
    }
    if (SaClient* const client = client_at(node))
        if (auto out = client->poll_transmit(now)) return out;
    if (Administration* const asked = administration(node)) return asked->poll_transmit(now);
    return std::nullopt;
}

base::Instant Gmps::next_deadline(uint32_t node) {
    base::Instant next = base::Instant::never();
    if (SaClient* const client = client_at(node)) next = client->next_deadline();
    if (Administration* const asked = administration(node))
        next = std::min(next, asked->next_deadline());
    return next;
}

}  // namespace tulle::control
