// Where packets were lost, and why.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "report/causes/investigation.h"
#include "transport/retry.h"

namespace tulle::report::causes {

using fabric::Drop;

namespace {

// The timeout of a sender, if the time lost has room for one.
std::optional<Duration> timeout_within(Duration lost, const sim::HostSettings& host) {
    Duration timeout = host.timeouts.high;
    if (timeout.ps == 0 && host.ack_timeout != 0)
        timeout = transport::ack_timeout(host.ack_timeout);
    if (timeout.ps == 0 || lost < timeout) return std::nullopt;
    return timeout;
}

bool is_cut(const sim::Setup& setup, const sim::TimeAccount::Loss& loss) {
    return loss.cause == Drop::buffer_full && setup.fabric.overflow == fabric::Overflow::trim;
}

// The loss that took most time. Nobody reports the last packet of a message that is lost: its
// sender waits for a timeout, which may be far longer than all else. The receiver of a packet that
// was cut reports it at once.
const sim::TimeAccount::Loss* gravest(const sim::Setup& setup,
                                      const std::vector<sim::TimeAccount::Loss>& losses,
                                      bool has_timeout) {
    const auto weight = [&](const sim::TimeAccount::Loss& loss) {
        return std::pair(!has_timeout || !is_cut(setup, loss), loss.packets);
    };
    const auto most = std::ranges::max_element(losses, {}, weight);
    return most == losses.end() ? nullptr : &*most;
}

}  // namespace

void Investigation::explain_loss() {
    Duration time = nowhere_[ShareKind::loss];
    if (time.ps == 0) return;
    const auto has_timeout = timeout_within(time, facts_.setup.host).has_value();
    const auto* most = gravest(facts_.setup, account_.losses, has_timeout);
    if (most == nullptr) return explain_resending(time);
    const Duration needless = time * lost_.needless_permille() / 1000;
    if (needless.ps != 0) explain_resending(needless);
    time -= needless;
    const topology::CableEnd end = end_at(facts_.setup, most->place);
    if (most->cause == Drop::buffer_full && facts_.setup.graph.nodes[end.node].is_host())
        return explain_not_taken(most->place, end.node, time);
    time -= explain_crowding(*most, time);
    uint64_t elsewhere = 0;
    for (const auto& loss : account_.losses) elsewhere += loss.packets;
    elsewhere -= most->packets;
    const auto timeout = timeout_within(time, facts_.setup.host);
    add(lost_.kind_of(*most), lost_.place_of(*most), time,
        fmt::format("{} of its packets were {} at {} ({}){}{}", most->packets,
                    is_cut(facts_.setup, *most) ? "cut" : "lost", links_.name(end),
                    drop_name(most->cause),
                    elsewhere == 0 ? "" : fmt::format(", {} elsewhere", elsewhere),
                    timeout ? fmt::format("; a timeout takes {}", base::to_string(*timeout)) : ""),
        most->place);
}

// While a packet was lost for lack of room, the line carried those of others: a larger buffer would
// not have made it faster. Only the time in which the line was idle, or carried what nobody needed,
// is the buffer's fault. Returns the rest.
Duration Investigation::explain_crowding(const sim::TimeAccount::Loss& loss, Duration time) {
    if (lost_.kind_of(loss) != CauseKind::buffer_overflow) return {};
    const topology::CableEnd end = end_at(facts_.setup, loss.place);
    const Duration useful = links_.busy_time(end) * lost_.useful_permille() / 1000;
    const Duration crowded = time - std::clamp(idle_time(useful), Duration{}, time);
    explain_full(loss.place, end, crowded, links_.busy_permille(end));
    return crowded;
}

void Investigation::explain_resending(Duration time) {
    if (lost_.minds_order())
        return add(CauseKind::reordering, "", time,
                   "packets took several paths, and what came out of order was taken for lost");
    add(CauseKind::early_timeout, "", time,
        "packets were sent again although none was lost: answers came after the timeout");
}

// If nothing was lost, what was sent again is in the way of everybody else.
void Investigation::separate_needless() {
    const sim::Totals& totals = facts_.result.totals;
    if (facts_.drops() != 0 || totals.trimmed != 0 || totals.retransmitted == 0) return;
    const auto permille = static_cast<int64_t>(totals.retransmitted * 1000 / totals.data_packets);
    const auto part = [&](Duration time) { return time * permille / 1000; };
    Duration needless{};
    for (auto& [place, trouble] : troubles_)
        for (Duration* time : {&trouble.held, &trouble.queue, &trouble.congestion}) {
            const Duration of_this = part(*time);
            needless += of_this;
            *time -= of_this;
        }
    nowhere_[ShareKind::loss] += needless;
}

}  // namespace tulle::report::causes
