// The tables of a node that a manager writes in blocks of 64 bytes (IBTA vol 1, 14.2.5): partition
// keys, SL to VL, arbitration, multicast and GUIDs. A request for a block that the node does not
// have is refused, so no request makes a table larger.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "wire/layout.h"
#include "wire/mad/smp_tables.h"

namespace tulle::control {

inline constexpr uint16_t kFirstMulticastLid = 0xc000;
inline constexpr uint16_t kMulticastCapacity = 0x1000;
inline constexpr uint16_t kPartitionBlocks = 4;  // of 32 keys, for each port
inline constexpr uint8_t kGuidBlocks = 4;        // of 8 GUIDs, for each port of an adapter
inline constexpr uint16_t kDefaultPartition = 0xffff;
// Bits in the modifier of SLtoVLMappingTable: the map applies to all output or all input ports.
inline constexpr uint32_t kAllOutputPorts = 0x1'0000;
inline constexpr uint32_t kAllInputPorts = 0x2'0000;

class NodeTables {
public:
    NodeTables(bool is_switch, uint8_t port_count, uint64_t guid)
        : is_switch_(is_switch), port_count_(port_count), guid_(guid) {}

    // Returns a status. `port` is the port that received the SMP.
    uint16_t serve(uint16_t attribute, uint32_t modifier, uint8_t port, bool is_set,
                   wire::MutableBytes data);

    uint8_t lane(uint8_t in_port, uint8_t out_port, uint8_t service_level) const;
    // By input and output port, port 0 included: four bits for each service level.
    std::vector<uint64_t> lane_maps() const {
        const size_t ports = port_count_ + 1u;
        return lanes_.empty() ? std::vector<uint64_t>(ports * ports) : lanes_;
    }
    // The nonzero keys of a port, in the order of the table.
    std::vector<uint16_t> partitions(uint8_t port) const;
    // By port: whether a packet to this group is sent through it.
    std::vector<bool> multicast_ports(uint16_t lid) const;

private:
    using Block = std::array<std::byte, 64>;

    uint16_t serve_lanes(uint32_t modifier, uint8_t port, bool is_set, wire::MutableBytes data);
    // Identifies a block. find_key() returns false if the node has no such block.
    struct Key {
        uint16_t attribute = 0;
        uint8_t port = 0;
        uint16_t block = 0;
        auto operator<=>(const Key&) const = default;
    };
    bool find_key(uint16_t attribute, uint32_t modifier, uint8_t port, Key& key) const;
    Block factory_block(const Key& key) const;
    Block block(const Key& key) const;
    size_t lane_index(uint8_t in, uint8_t out) const {
        return size_t{in} * (port_count_ + 1u) + out;
    }

    bool is_switch_;
    uint8_t port_count_;
    uint64_t guid_;
    std::map<Key, Block> blocks_;  // only those that were written
    std::vector<uint64_t> lanes_;  // by input and output port: four bits a service level
};

}  // namespace tulle::control
