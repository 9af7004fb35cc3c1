// Partitions say which ports may talk to each other. They are written in the language of OpenSM's
// partitions.conf.
//
//   Default=0x7fff, ipoib, defmember=full : ALL;
//   red=0x10, sl=1 : h0=full, h1=full, 0x0002c90300000001=limited;   # a comment
//
// Members are port GUIDs, the words ALL, ALL_CAS, ALL_SWITCHES and SELF, and, unlike in OpenSM,
// names of nodes. Two ports may talk if they share a partition and at least one is a full member.
// Without a rule for it, the default partition has all ports as limited members and the manager's
// port as a full one, as in OpenSM.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/partition_keys.h"

namespace tulle::control {

inline constexpr uint16_t kDefaultPartitionKey = 0x7fff;  // without the membership bit

// The properties by which a rule selects a port.
struct PortIdentity {
    uint64_t guid = 0;
    std::string_view name;
    bool is_switch = false;
    bool is_manager = false;
};

struct Partition {
    enum class Who : uint8_t { guid, name, all, all_adapters, all_switches, self };
    enum class Membership : uint8_t { limited, full, both };
    struct Member {
        Who who = Who::guid;
        uint64_t guid = 0;
        std::string name;
        Membership membership = Membership::limited;
        size_t line = 0;

        bool is(const PortIdentity& port) const;
    };

    std::string name;
    uint16_t key = 0;  // 15 bits
    bool is_first = false;
    bool has_ipoib = false;     // a broadcast group exists from the start
    uint8_t service_level = 0;  // of paths and of that group
    uint8_t mtu = 4;            // of that group: wire::MtuCode, OpenSM's default
    uint8_t rate = 3;           // of that group: wire::RateCode, OpenSM's default
    uint32_t queue_key = 0x0b1b;
    std::vector<Member> members;
};

struct PartitionPolicy {
    std::vector<Partition> partitions;

    // The partition table of a port, in order.
    std::vector<uint16_t> keys_of(const PortIdentity& port) const;
    // The partition with this key; nullptr: there is none.
    const Partition* partition_of(uint16_t key) const;
};

// `file` is the file's name, for error messages.
base::Result<PartitionPolicy> parse_partitions(std::string_view text, std::string_view file);

// The key that two ports share, as in the table of `one`; 0: they may not talk.
uint16_t shared_key(const std::vector<uint16_t>& one, const std::vector<uint16_t>& other);
// Whether a port with these keys accepts a packet with that key (IBTA vol 1, 10.9.3).
bool admits(const std::vector<uint16_t>& keys, uint16_t key);

}  // namespace tulle::control
