#include "transport/multicast.h"

#include <algorithm>

namespace tulle::transport {

Refusal Multicast::attach(Qpn qpn, MulticastGroup group) {
    const QueuePair* qp = core_.find(qpn);
    if (qp == nullptr || qp->type != QpType::ud) return Refusal::invalid_argument;
    const MulticastMember member{group, qpn};
    if (std::ranges::find(core_.members, member) == core_.members.end())
        core_.members.push_back(member);
    return Refusal::none;
}

Refusal Multicast::detach(Qpn qpn, MulticastGroup group) {
    const auto removed = std::erase(core_.members, MulticastMember{group, qpn});
    return removed == 0 ? Refusal::invalid_argument : Refusal::none;
}

bool Multicast::has(Qpn qpn) const {
    return std::ranges::any_of(core_.members,
                               [&](const MulticastMember& member) { return member.qpn == qpn; });
}

}  // namespace tulle::transport
