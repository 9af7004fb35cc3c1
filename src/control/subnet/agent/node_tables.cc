#include "control/subnet/agent/node_tables.h"

#include <algorithm>

#include "wire/mad/smp.h"
#include "wire/mad/smp_attributes.h"
#include "wire/partition_keys.h"

namespace tulle::control {
namespace {

uint64_t packed_lanes(const wire::SlToVlMappingTable& map) {
    uint64_t packed = 0;
    for (size_t level = 0; level < map.vl_of_sl.size(); ++level)
        packed |= uint64_t{map.vl_of_sl[level]} << (4 * level);
    return packed;
}

}  // namespace

uint16_t NodeTables::serve(uint16_t attribute, uint32_t modifier, uint8_t port, bool is_set,
                           wire::MutableBytes data) {
    if (attribute == wire::kSmpSlToVlMappingTable) return serve_lanes(modifier, port, is_set, data);
    const bool is_for_switches = attribute == wire::kSmpMulticastForwardingTable;
    const bool is_for_adapters = attribute == wire::kSmpGuidInfo;
    if ((is_for_switches && !is_switch_) || (is_for_adapters && is_switch_ && is_set))
        return wire::kStatusMethodAttributeUnsupported;
    Key key;
    if (!find_key(attribute, modifier, port, key)) return wire::kStatusInvalidValue;
    if (is_set) {
        Block& kept = blocks_[key];
        std::copy_n(data.begin(), kept.size(), kept.begin());
        // The first GUID of a port is fixed at the factory.
        if (is_for_adapters && key.block == 0) {
            const Block factory = factory_block(key);
            std::copy_n(factory.begin(), sizeof(uint64_t), kept.begin());
        }
    }
    const Block now = block(key);
    std::copy(now.begin(), now.end(), data.begin());
    return wire::kStatusOk;
}

bool NodeTables::find_key(uint16_t attribute, uint32_t modifier, uint8_t port, Key& key) const {
    const uint8_t own = is_switch_ ? uint8_t{0} : std::max<uint8_t>(port, 1);
    key = {attribute, own, static_cast<uint16_t>(modifier)};
    switch (attribute) {
        case wire::kSmpPKeyTable:  // only switches use the port
            if (is_switch_ && modifier >> 16 > port_count_) return false;
            if (is_switch_) key.port = static_cast<uint8_t>(modifier >> 16);
            return key.block < kPartitionBlocks;
        case wire::kSmpGuidInfo: return modifier < kGuidBlocks;
        case wire::kSmpVlArbitrationTable: {
            const uint32_t meant = modifier & 0xffff;
            if (is_switch_ && meant > port_count_) return false;
            if (is_switch_) key.port = static_cast<uint8_t>(meant);
            key.block = static_cast<uint16_t>(modifier >> 16);
            return key.block >= 1 && key.block <= 4;
        }
        case wire::kSmpMulticastForwardingTable:
            key.port = static_cast<uint8_t>(modifier >> 28);  // one of the groups of 16 ports
            key.block = static_cast<uint16_t>(modifier & 0x1ff);
            return key.port <= port_count_ / 16 && key.block < kMulticastCapacity / 32;
        default: return false;
    }
}

NodeTables::Block NodeTables::factory_block(const Key& key) const {
    Block block{};
    if (key.block != 0) return block;
    if (key.attribute == wire::kSmpPKeyTable) {
        block[0] = block[1] = std::byte{0xff};
    } else if (key.attribute == wire::kSmpGuidInfo) {
        wire::GuidInfo info;
        info.guids[0].value = guid_ + key.port;
        wire::write(info, block);
    }
    return block;
}

NodeTables::Block NodeTables::block(const Key& key) const {
    const auto found = blocks_.find(key);
    return found == blocks_.end() ? factory_block(key) : found->second;
}

// An adapter has one map for each port and ignores the modifier.
uint16_t NodeTables::serve_lanes(uint32_t modifier, uint8_t port, bool is_set,
                                 wire::MutableBytes data) {
    uint32_t in = modifier >> 8 & 0xff;
    uint32_t out = modifier & 0xff;
    if (!is_switch_) in = out = std::max<uint8_t>(port, 1);
    const bool is_for_all = is_switch_ && (modifier & (kAllInputPorts | kAllOutputPorts)) != 0;
    if ((is_for_all && !is_set) || in > port_count_ || out > port_count_)
        return wire::kStatusInvalidValue;
    if (is_set) {
        lanes_.resize((port_count_ + 1u) * (port_count_ + 1u));
        const uint64_t packed = packed_lanes(*wire::parse<wire::SlToVlMappingTable>(data));
        const bool all_in = is_for_all && (modifier & kAllInputPorts) != 0;
        const bool all_out = is_for_all && (modifier & kAllOutputPorts) != 0;
        for (uint32_t i = all_in ? 0 : in; i <= (all_in ? port_count_ : in); ++i)
            for (uint32_t o = all_out ? 0 : out; o <= (all_out ? port_count_ : out); ++o)
                lanes_[lane_index(static_cast<uint8_t>(i), static_cast<uint8_t>(o))] = packed;
    }
    wire::SlToVlMappingTable map;
    for (uint8_t level = 0; level < map.vl_of_sl.size(); ++level)
        map.vl_of_sl[level] = lane(static_cast<uint8_t>(in), static_cast<uint8_t>(out), level);
    std::fill(data.begin(), data.end(), std::byte{0});
    wire::write(map, data);
    return wire::kStatusOk;
}

uint8_t NodeTables::lane(uint8_t in_port, uint8_t out_port, uint8_t service_level) const {
    if (lanes_.empty() || in_port > port_count_ || out_port > port_count_) return 0;
    return lanes_[lane_index(in_port, out_port)] >> (4 * (service_level & 15)) & 15;
}

std::vector<uint16_t> NodeTables::partitions(uint8_t port) const {
    std::vector<uint16_t> keys;
    for (uint16_t n = 0; n < kPartitionBlocks; ++n) {
        const auto table = *wire::parse<wire::PKeyTable>(block({wire::kSmpPKeyTable, port, n}));
        for (const wire::PKey key : table.entries)
            if ((key.value & wire::kPartitionNumber) != 0) keys.push_back(key.value);
    }
    return keys;
}

std::vector<bool> NodeTables::multicast_ports(uint16_t lid) const {
    std::vector<bool> ports(port_count_ + 1u);
    const uint32_t group = uint32_t{lid} - kFirstMulticastLid;
    if (lid < kFirstMulticastLid || group >= kMulticastCapacity) return ports;
    for (uint8_t position = 0; position <= port_count_ / 16; ++position) {
        const auto found = blocks_.find(
            {wire::kSmpMulticastForwardingTable, position, static_cast<uint16_t>(group / 32)});
        if (found == blocks_.end()) continue;
        const uint16_t mask = wire::parse<wire::MulticastForwardingTable>(found->second)
                                  ->port_masks[group % 32]
                                  .value;
        for (uint32_t i = 0; i < 16 && position * 16u + i <= port_count_; ++i)
            ports[position * 16u + i] = (mask >> i & 1) != 0;
    }
    return ports;
}

}  // namespace tulle::control
