// Multicast groups and their members (IBTA vol 1, 15.2.5.17). A port joins by Set(MCMemberRecord),
// which creates the group if there is none, and leaves by Delete.
#pragma once

#include <map>
#include <vector>

#include "control/subnet/manager/manager.h"
#include "wire/mad/sa_records.h"

namespace tulle::control {

class GroupBook {
public:
    explicit GroupBook(const Manager& manager);

    // Returns a status, and in `record` what the port has joined. `made`: the group is new.
    uint16_t join(uint64_t mask, wire::McMemberRecord& record, bool& made);
    // Returns a status. `ended`: the last member left, and the group is gone.
    uint16_t leave(uint64_t mask, wire::McMemberRecord& record, bool& ended);
    std::vector<wire::McMemberRecord> members() const;
    // For the manager's tables. Ports that are gone stay members, because they may come back.
    std::vector<MulticastGroup> groups() const;

private:
    struct Group {
        wire::McMemberRecord record;                // without a member
        std::map<uint64_t, uint8_t> join_states{};  // by port GUID
        bool is_kept = false;                       // even without members
    };

    uint16_t make(uint64_t mask, wire::McMemberRecord& record);
    bool may_join(uint64_t port_guid, uint16_t key) const;
    uint16_t free_lid() const;

    const Manager& manager_;
    std::map<wire::Gid, Group> groups_;  // by MGID
    uint64_t given_mgids_ = 0;
};

}  // namespace tulle::control
