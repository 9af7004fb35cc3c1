// The multicast groups that this process has named.
#pragma once

#include <vector>

#include "transport/adapter.h"
#include "wire/ids.h"

namespace tulle::live {

// The indices of multicast groups, from 1; the same for sending and receiving.
class Groups {
public:
    static constexpr uint32_t kNone = 0;
    transport::MulticastGroup number_of(const wire::Gid& gid);  // a new one if it has none
    uint32_t find(const wire::Gid& gid) const;
    // nullptr if there is none.
    const wire::Gid* at(uint32_t number) const {
        return number != kNone && number <= groups_.size() ? &groups_[number - 1].gid : nullptr;
    }
    // The address of ours that the program last named for a group: on its interface the group is
    // joined and sent to. Zeros if it has named none.
    void speak_from(const wire::Gid& gid, const wire::Gid& own) {
        groups_[number_of(gid).value - 1].own = own;
    }
    wire::Gid source_for(const wire::Gid& gid) const {
        const uint32_t number = find(gid);
        return number != kNone ? groups_[number - 1].own : wire::Gid{};
    }

private:
    struct Group {
        wire::Gid gid;
        wire::Gid own;
    };
    std::vector<Group> groups_;
};

}  // namespace tulle::live
