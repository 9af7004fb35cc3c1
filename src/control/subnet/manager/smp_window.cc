#include "control/subnet/manager/smp_window.h"

namespace tulle::control {

void SmpWindow::clear() {
    queue_.clear();
    pending_.clear();
    deadlines_.clear();
    resend_.clear();
}

void SmpWindow::put(base::Instant now, uint32_t transaction, const SmpRequest& request,
                    uint8_t tries) {
    const base::Instant deadline = now + settings_.timeout;
    pending_[transaction] = {request, deadline, tries};
    deadlines_[{deadline, transaction}] = transaction;
}

std::optional<SmpWindow::Outgoing> SmpWindow::poll(base::Instant now) {
    while (!resend_.empty()) {
        const uint32_t transaction = resend_.front();
        resend_.pop_front();
        const auto found = pending_.find(transaction);
        if (found != pending_.end()) return Outgoing{found->second.request, transaction};
    }
    if (queue_.empty() || pending_.size() >= settings_.size) return std::nullopt;
    const Outgoing out{queue_.front(), ++transaction_};
    queue_.pop_front();
    put(now, out.transaction, out.request, 0);
    return out;
}

std::optional<SmpRequest> SmpWindow::take_answered(uint32_t transaction) {
    const auto found = pending_.find(transaction);
    if (found == pending_.end()) return std::nullopt;
    const SmpRequest request = found->second.request;
    deadlines_.erase({found->second.deadline, transaction});
    pending_.erase(found);
    return request;
}

std::vector<SmpRequest> SmpWindow::on_timer(base::Instant now) {
    std::vector<SmpRequest> given_up;
    while (!deadlines_.empty() && deadlines_.begin()->first.first <= now) {
        const uint32_t transaction = deadlines_.begin()->second;
        deadlines_.erase(deadlines_.begin());
        const Pending pending = pending_.at(transaction);
        pending_.erase(transaction);
        if (pending.tries >= settings_.retries) {
            given_up.push_back(pending.request);
            continue;
        }
        // Under a new number, so a late answer to the old one is ignored.
        ++repeated_;
        put(now, ++transaction_, pending.request, static_cast<uint8_t>(pending.tries + 1));
        resend_.push_back(transaction_);
    }
    return given_up;
}

}  // namespace tulle::control
