#include "live/groups.h"

#include <algorithm>

namespace tulle::live {

uint32_t Groups::find(const wire::Gid& gid) const {
    const auto known = std::ranges::find(groups_, gid, &Group::gid);
    return known == groups_.end() ? kNone : static_cast<uint32_t>(known - groups_.begin() + 1);
}

transport::MulticastGroup Groups::number_of(const wire::Gid& gid) {
    if (const uint32_t known = find(gid); known != kNone) return {known};
    groups_.push_back({gid, {}});
    return {static_cast<uint32_t>(groups_.size())};
}

}  // namespace tulle::live
