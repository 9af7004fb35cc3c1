#include "control/subnet/agent/traps.h"

#include <algorithm>

namespace tulle::control {
namespace {

// How long until an unrepressed trap is sent again. Chosen: the specification leaves it open.
constexpr base::Duration kTrapInterval{100'000'000'000};  // 100 ms
constexpr size_t kMostNotices = 8;                        // chosen

}  // namespace

void Traps::raise(base::Instant now, const wire::Notice& notice) {
    std::erase_if(traps_,
                  [&](const Trap& trap) { return trap.notice.trap_number == notice.trap_number; });
    traps_.push_back({notice, ++transaction_, now});
    if (notices_.size() == kMostNotices) notices_.pop_front();
    notices_.push_back(notice);
}

void Traps::repress(uint64_t transaction) {
    std::erase_if(traps_, [&](const Trap& trap) { return trap.transaction == transaction; });
}

std::optional<Traps::Trap> Traps::take(base::Instant now) {
    const auto due = std::ranges::find_if(traps_, [&](const Trap& trap) { return trap.at <= now; });
    if (due == traps_.end()) return std::nullopt;
    due->at = now + kTrapInterval;
    return *due;
}

base::Instant Traps::next_deadline() const {
    base::Instant next = base::Instant::never();
    for (const Trap& trap : traps_) next = std::min(next, trap.at);
    return next;
}

wire::Notice Traps::notice() const {
    if (!notices_.empty()) {
        wire::Notice oldest = notices_.front();
        oldest.count = static_cast<uint16_t>(notices_.size());
        return oldest;
    }
    wire::Notice empty;
    empty.type = wire::kNoticeEmpty;
    return empty;
}

}  // namespace tulle::control
