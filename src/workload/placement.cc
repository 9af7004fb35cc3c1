#include "workload/placement.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tulle::workload {

Placement::Placement(std::vector<Member> members, bool scale_up)
    : members_(std::move(members)), scale_up_(scale_up) {
    std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
        return std::pair(a.server, a.local) < std::pair(b.server, b.local);
    });
    for (uint32_t i = 0; i < size(); ++i) {
        const bool is_first = i == 0 || members_[i - 1].server != members_[i].server;
        TULLE_CHECK(is_first || members_[i - 1].local < members_[i].local);
        if (is_first) first_.push_back(i);
        server_.push_back(static_cast<uint32_t>(first_.size()) - 1);
    }
    first_.push_back(size());
}

uint32_t Placement::largest_server() const {
    uint32_t most = 0;
    for (uint32_t server = 0; server < server_count(); ++server)
        most = std::max(most, count_of(server));
    return most;
}

bool Placement::is_regular() const {
    for (uint32_t server = 0; server < server_count(); ++server) {
        if (count_of(server) != count_of(0)) return false;
        for (uint32_t i = 0; i < count_of(server); ++i)
            if (members_[first_of(server) + i].local != members_[i].local) return false;
    }
    return true;
}

}  // namespace tulle::workload
