#include "control/subnet/sa/records.h"

#include <algorithm>

#include "control/subnet/sa/paths.h"

namespace tulle::control {
namespace {

// Components of PathRecord; ServiceID counts as two.
constexpr uint64_t kPathDgid = 1u << 2;
constexpr uint64_t kPathSgid = 1u << 3;
constexpr uint64_t kPathDlid = 1u << 4;
constexpr uint64_t kPathSlid = 1u << 5;
constexpr uint64_t kPathCount = 1u << 12;
constexpr uint64_t kPathPartition = 1u << 13;
constexpr uint64_t kPathServiceLevel = 1u << 15;
constexpr uint64_t kPathMtuSelector = 1u << 16;
constexpr uint64_t kPathMtu = 1u << 17;
constexpr uint64_t kPathRateSelector = 1u << 18;
constexpr uint64_t kPathRate = 1u << 19;
// A component of MultiPathRecord.
constexpr uint64_t kMultiPartition = 1u << 7;

template <wire::Header H>
std::vector<Component> components_of() {
    std::vector<Component> list;
    add_components<H>(list);
    return list;
}

// The port that a GID and a LID select; kNone in the node: every port.
struct EndFilter {
    uint32_t node = kNone;
    bool is_wrong = false;  // no port has both
    uint16_t lid = 0;

    EndFilter(const Manager& manager, bool has_gid, const wire::Gid& gid, bool has_lid,
              uint16_t wanted) {
        if (has_gid) {
            node = manager.fabric().node_of(guid_in(gid));
            is_wrong = node == kNone;
        }
        if (!has_lid) return;
        lid = wanted;
        const uint32_t owner = owner_of(manager, wanted);
        is_wrong |= owner == kNone || (has_gid && owner != node);
        node = owner;
    }

private:
    static uint32_t owner_of(const Manager& manager, uint16_t lid) {
        const FoundFabric& fabric = manager.fabric();
        for (uint32_t node = 0; node < fabric.size(); ++node) {
            const uint32_t first = lid_of(fabric[node], manager.lids());
            const uint32_t width = fabric[node].is_switch ? 1u : 1u << manager.settings().lmc;
            if (first != 0 && lid >= first && lid < first + width) return node;
        }
        return kNone;
    }
};

bool selector_admits(uint8_t selector, uint32_t wanted, uint32_t is) {
    switch (selector) {
        case wire::kSelectGreater: return is > wanted;
        case wire::kSelectLess: return is < wanted;
        case wire::kSelectExactly: return is == wanted;
        default: return true;
    }
}

bool is_asked_for(uint64_t mask, const wire::PathRecord& query, const wire::PathRecord& path) {
    if ((mask & kPathServiceLevel) != 0 && query.service_level != path.service_level) return false;
    constexpr uint64_t kBothMtu = kPathMtuSelector | kPathMtu;
    if ((mask & kBothMtu) == kBothMtu && !selector_admits(query.mtu_selector, query.mtu, path.mtu))
        return false;
    constexpr uint64_t kBothRate = kPathRateSelector | kPathRate;
    return (mask & kBothRate) != kBothRate ||
           selector_admits(query.rate_selector, rate_mbps(query.rate), rate_mbps(path.rate));
}

}  // namespace

RecordList node_records(const Manager& manager, uint64_t mask, wire::Bytes query) {
    RecordList list(wire::NodeRecord::kSize);
    const auto components = components_of<wire::NodeRecord>();
    for (const FoundNode& found : manager.fabric().nodes()) {
        wire::NodeRecord record;
        record.lid.value = lid_of(found, manager.lids());
        record.node_info = found.info;
        std::copy_n(found.description.begin(),
                    std::min(found.description.size(), record.node_description.text.size()),
                    record.node_description.text.begin());
        list.add_if(components, mask, query, record);
    }
    return list;
}

// C15-0.1.19: only a trusted requester may see the M_Key, and none is trusted here.
RecordList port_records(const Manager& manager, uint64_t mask, wire::Bytes query) {
    RecordList list(wire::PortInfoRecord::kSize);
    const auto components = components_of<wire::PortInfoRecord>();
    for (const FoundNode& found : manager.fabric().nodes())
        for (uint32_t number = 0; number < found.ports.size(); ++number) {
            if (!found.ports[number].is_known) continue;
            wire::PortInfoRecord record;
            record.lid.value = lid_of(found, manager.lids());
            record.port = static_cast<uint8_t>(number);
            record.port_info = found.ports[number].info;
            record.port_info.m_key = {};
            list.add_if(components, mask, query, record);
        }
    return list;
}

RecordList link_records(const Manager& manager, uint64_t mask, wire::Bytes query) {
    RecordList list(wire::LinkRecord::kSize);
    const auto components = components_of<wire::LinkRecord>();
    const FoundFabric& fabric = manager.fabric();
    for (uint32_t node = 0; node < fabric.size(); ++node)
        for (uint32_t number = 1; number < fabric[node].ports.size(); ++number) {
            if (fabric.peer_of(node, static_cast<uint8_t>(number)) == nullptr) continue;
            const FoundPort& port = fabric[node].ports[number];
            wire::LinkRecord record;
            record.from_lid.value = lid_of(fabric[node], manager.lids());
            record.from_port = static_cast<uint8_t>(number);
            record.to_port = port.peer_port;
            record.to_lid.value = lid_of(fabric[port.peer], manager.lids());
            list.add_if(components, mask, query, record);
        }
    return list;
}

// One path for each LID of the destination; NumbPath limits their number.
RecordList path_records(const Manager& manager, uint64_t mask, wire::Bytes query) {
    RecordList list(wire::PathRecord::kSize);
    const auto wanted = *wire::parse<wire::PathRecord>(query);
    const FoundFabric& fabric = manager.fabric();
    const EndFilter source(manager, (mask & kPathSgid) != 0, wanted.sgid, (mask & kPathSlid) != 0,
                           wanted.slid.value);
    const EndFilter destination(manager, (mask & kPathDgid) != 0, wanted.dgid,
                                (mask & kPathDlid) != 0, wanted.dlid.value);
    if (source.is_wrong || destination.is_wrong || source.node == kNone) return list;
    const uint32_t most = (mask & kPathCount) != 0 ? std::max<uint8_t>(wanted.path_count, 1) : 127;
    for (uint32_t node = 0; node < fabric.size(); ++node) {
        if (destination.node != kNone && node != destination.node) continue;
        const uint16_t first = lid_of(fabric[node], manager.lids());
        const uint32_t lids =
            fabric[node].is_switch || destination.lid != 0 ? 1u : 1u << manager.settings().lmc;
        for (uint32_t i = 0; i < std::min(lids, most); ++i) {
            const auto path = find_path(
                manager,
                {.source = source.node,
                 .destination = node,
                 .slid = source.lid,
                 .dlid = destination.lid != 0 ? destination.lid : static_cast<uint16_t>(first + i),
                 .key = (mask & kPathPartition) != 0 ? wanted.pkey.value : uint16_t{0}});
            if (path && is_asked_for(mask, wanted, *path)) list.add(*path);
        }
    }
    return list;
}

RecordList multi_path_records(const Manager& manager, uint64_t mask, wire::Bytes query) {
    RecordList list(wire::PathRecord::kSize);
    const auto wanted = wire::parse<wire::MultiPathRecord>(query);
    if (!wanted) return list;
    std::vector<uint32_t> nodes;
    wire::Bytes gids = query.subspan(wire::MultiPathRecord::kSize);
    for (; gids.size() >= sizeof(wire::Gid); gids = gids.subspan(sizeof(wire::Gid))) {
        wire::Gid gid;
        for (size_t i = 0; i < gid.bytes.size(); ++i)
            gid.bytes[i] = std::to_integer<uint8_t>(gids[i]);
        nodes.push_back(manager.fabric().node_of(guid_in(gid)));
    }
    const size_t sources = wanted->sgid_count;
    const size_t all = sources + wanted->dgid_count;
    for (size_t s = 0; s < std::min(sources, nodes.size()); ++s)
        for (size_t d = sources; d < std::min(all, nodes.size()); ++d) {
            if (nodes[s] == kNone || nodes[d] == kNone) continue;
            const uint16_t key = (mask & kMultiPartition) != 0 ? wanted->pkey.value : uint16_t{0};
            if (const auto path =
                    find_path(manager, {.source = nodes[s], .destination = nodes[d], .key = key}))
                list.add(*path);
        }
    return list;
}

}  // namespace tulle::control
