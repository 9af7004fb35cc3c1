#include "control/subnet/sa/groups.h"

#include "control/subnet/agent/node_tables.h"
#include "control/subnet/sa/paths.h"

namespace tulle::control {
namespace {

// Components of MCMemberRecord.
constexpr uint64_t kMgid = 1u << 0;
constexpr uint64_t kPortGid = 1u << 1;
constexpr uint64_t kQueueKey = 1u << 2;
constexpr uint64_t kMtuSelector = 1u << 4;
constexpr uint64_t kMtu = 1u << 5;
constexpr uint64_t kTrafficClass = 1u << 6;
constexpr uint64_t kPartition = 1u << 7;
constexpr uint64_t kRateSelector = 1u << 8;
constexpr uint64_t kRate = 1u << 9;
constexpr uint64_t kServiceLevel = 1u << 12;
constexpr uint64_t kFlowLabel = 1u << 13;
constexpr uint64_t kJoinState = 1u << 16;
// C15-0.1.24: a request that creates a group must have all of these.
constexpr uint64_t kToMake = kQueueKey | kTrafficClass | kPartition | kServiceLevel | kFlowLabel;
constexpr uint8_t kUsualMtu = wire::kMtu2048;
constexpr uint8_t kUsualRate = wire::kRate10;  // as OpenSM's

bool is_multicast(const wire::Gid& gid) {
    return gid.bytes[0] == 0xff;
}

// The broadcast group of IPoIB in a partition (RFC 4391, 4): ff12:401b:P_Key::ffff:ffff.
wire::Gid broadcast_gid(uint16_t key) {
    wire::Gid gid;
    gid.bytes = {0xff,
                 0x12,
                 0x40,
                 0x1b,
                 static_cast<uint8_t>((key | wire::kFullMember) >> 8),
                 static_cast<uint8_t>(key)};
    for (size_t i = 12; i < 16; ++i) gid.bytes[i] = 0xff;
    return gid;
}

// Whether a group's value satisfies a request.
bool suits(uint64_t mask, uint64_t selector_bit, uint64_t value_bit, uint8_t selector,
           uint32_t wanted, uint32_t is) {
    if ((mask & selector_bit) == 0 || (mask & value_bit) == 0) return true;
    switch (selector) {
        case wire::kSelectGreater: return is > wanted;
        case wire::kSelectLess: return is < wanted;
        case wire::kSelectExactly: return is == wanted;
        default: return true;
    }
}

}  // namespace

GroupBook::GroupBook(const Manager& manager) : manager_(manager) {
    if (manager.settings().partitions == nullptr) return;
    for (const Partition& partition : manager.settings().partitions->partitions) {
        if (!partition.has_ipoib) continue;
        Group group;
        group.is_kept = true;
        group.record.mgid = broadcast_gid(partition.key);
        group.record.qkey.value = partition.queue_key;
        group.record.mlid.value = free_lid();
        group.record.mtu_selector = group.record.rate_selector = wire::kSelectExactly;
        group.record.mtu = partition.mtu;
        group.record.rate = partition.rate;
        group.record.pkey.value = static_cast<uint16_t>(partition.key | wire::kFullMember);
        group.record.service_level = partition.service_level;
        group.record.scope.value = 2;
        groups_[group.record.mgid] = group;
    }
}

uint16_t GroupBook::free_lid() const {
    std::vector<bool> taken(kMulticastCapacity);
    for (const auto& [mgid, group] : groups_)
        taken[group.record.mlid.value - kFirstMulticastLid] = true;
    for (uint16_t i = 0; i < kMulticastCapacity; ++i)
        if (!taken[i]) return static_cast<uint16_t>(kFirstMulticastLid + i);
    return 0;
}

bool GroupBook::may_join(uint64_t port_guid, uint16_t key) const {
    const uint32_t node = manager_.fabric().node_of(port_guid);
    return node != kNone &&
           admits(manager_.plan().keys(node), static_cast<uint16_t>(key | wire::kFullMember));
}

uint16_t GroupBook::make(uint64_t mask, wire::McMemberRecord& record) {
    if ((mask & kToMake) != kToMake) return wire::kStatusSaInsufficientComponents;
    if (!may_join(guid_in(record.port_gid), record.pkey.value))
        return wire::kStatusSaRequestInvalid;
    if ((mask & kMgid) == 0 || record.mgid == wire::Gid{}) {  // the group gets a new one
        record.mgid.bytes = {0xff, 0x12, 0xa0, 0x1b};
        ++given_mgids_;
        for (size_t i = 0; i < 8; ++i)
            record.mgid.bytes[8 + i] = static_cast<uint8_t>(given_mgids_ >> (56 - 8 * i));
    }
    if (!is_multicast(record.mgid)) return wire::kStatusSaInvalidGid;
    Group group;
    group.record = record;
    group.record.port_gid = {};
    group.record.join_state.value = 0;
    group.record.scope.value = record.mgid.bytes[1] & 15;
    group.record.mlid.value = free_lid();
    if (group.record.mlid.value == 0) return wire::kStatusSaNoResources;
    group.record.mtu = (mask & kMtu) != 0 ? record.mtu : kUsualMtu;
    group.record.rate = (mask & kRate) != 0 ? record.rate : kUsualRate;
    group.record.mtu_selector = group.record.rate_selector = group.record.life_time_selector =
        wire::kSelectExactly;
    group.record.life_time = 18;
    groups_[record.mgid] = group;
    return wire::kStatusOk;
}

uint16_t GroupBook::join(uint64_t mask, wire::McMemberRecord& record, bool& made) {
    made = false;
    const uint64_t guid = guid_in(record.port_gid);
    if ((mask & kPortGid) == 0 || (mask & kJoinState) == 0 || record.join_state.value == 0)
        return wire::kStatusSaInsufficientComponents;
    if (manager_.fabric().node_of(guid) == kNone) return wire::kStatusSaInvalidGid;
    auto found = (mask & kMgid) != 0 ? groups_.find(record.mgid) : groups_.end();
    if (found == groups_.end()) {
        // A member that is not full cannot create a group.
        if ((record.join_state.value & wire::kJoinFullMember) == 0)
            return wire::kStatusSaRequestInvalid;
        if (const uint16_t status = make(mask, record); status != wire::kStatusOk) return status;
        found = groups_.find(record.mgid);
        made = true;
    }
    Group& group = found->second;
    const wire::McMemberRecord& is = group.record;
    const bool fits = ((mask & kPartition) == 0 ||
                       ((is.pkey.value ^ record.pkey.value) & wire::kPartitionNumber) == 0) &&
                      ((mask & kQueueKey) == 0 || is.qkey == record.qkey) &&
                      suits(mask, kMtuSelector, kMtu, record.mtu_selector, record.mtu, is.mtu) &&
                      suits(mask, kRateSelector, kRate, record.rate_selector,
                            rate_mbps(record.rate), rate_mbps(is.rate));
    if (!fits || !may_join(guid, is.pkey.value)) return wire::kStatusSaRequestInvalid;
    uint8_t& state = group.join_states[guid];
    state = static_cast<uint8_t>(state | record.join_state.value);
    const wire::Gid port = record.port_gid;
    record = is;
    record.port_gid = port;
    record.join_state.value = state;
    return wire::kStatusOk;
}

uint16_t GroupBook::leave(uint64_t mask, wire::McMemberRecord& record, bool& ended) {
    ended = false;
    if ((mask & kMgid) == 0 || (mask & kPortGid) == 0 || (mask & kJoinState) == 0)
        return wire::kStatusSaInsufficientComponents;
    const auto found = groups_.find(record.mgid);
    if (found == groups_.end()) return wire::kStatusSaRequestInvalid;
    Group& group = found->second;
    const auto member = group.join_states.find(guid_in(record.port_gid));
    if (member == group.join_states.end() || (member->second & record.join_state.value) == 0)
        return wire::kStatusSaRequestInvalid;
    member->second = static_cast<uint8_t>(member->second & ~record.join_state.value);
    const wire::Gid port = record.port_gid;
    record = group.record;
    record.port_gid = port;
    record.join_state.value = member->second;
    if (member->second == 0) group.join_states.erase(member);
    bool has_full = false;
    for (const auto& [guid, state] : group.join_states)
        has_full |= (state & wire::kJoinFullMember) != 0;
    if (has_full || group.is_kept) return wire::kStatusOk;
    groups_.erase(found);  // a group needs a full member
    ended = true;
    return wire::kStatusOk;
}

std::vector<wire::McMemberRecord> GroupBook::members() const {
    std::vector<wire::McMemberRecord> records;
    for (const auto& [mgid, group] : groups_) {
        if (group.join_states.empty()) records.push_back(group.record);
        for (const auto& [guid, state] : group.join_states) {
            records.push_back(group.record);
            records.back().port_gid = port_gid(guid);
            records.back().join_state.value = state;
        }
    }
    return records;
}

std::vector<MulticastGroup> GroupBook::groups() const {
    constexpr uint8_t kReceivers = wire::kJoinFullMember | wire::kJoinNonMember;
    std::vector<MulticastGroup> list;
    for (const auto& [mgid, group] : groups_) {
        MulticastGroup entry{group.record.mlid.value, {}};
        for (const auto& [guid, state] : group.join_states)
            entry.members.push_back({guid, (state & kReceivers) != 0});
        list.push_back(std::move(entry));
    }
    return list;
}

}  // namespace tulle::control
