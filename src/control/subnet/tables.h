// The result of routing: the port through which each switch forwards packets to each LID, and the
// lanes that prevent credit loops.
//
// The sender of a packet chooses its service level for the path that it takes. Each switch derives
// the next lane from the input port, the output port and the service level (IBTA vol 1, 7.6.6,
// SLtoVLMappingTable).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "control/subnet/subnet.h"

namespace tulle::control {

inline constexpr uint32_t kLidsOfBlock = 64;  // one SMP sets this many
inline constexpr uint32_t kServiceLevels = 16;
inline constexpr uint8_t kMostLanes = 15;  // for data; lane 15 is for management

// Stored by LID, then by switch, because engines work on one destination at a time. The agent of a
// switch asks for blocks of 64 LIDs.
class ForwardingTables {
public:
    ForwardingTables() = default;
    ForwardingTables(uint32_t switch_count, uint32_t lid_end)
        : switch_count_(switch_count), ports_(size_t{switch_count} * lid_end, kNoPort) {}

    uint32_t switch_count() const { return switch_count_; }
    uint32_t lid_end() const {
        return switch_count_ == 0 ? 0 : static_cast<uint32_t>(ports_.size() / switch_count_);
    }
    uint8_t port(uint32_t s, uint32_t lid) const { return ports_[size_t{lid} * switch_count_ + s]; }
    void set(uint32_t s, uint32_t lid, uint8_t port) {
        ports_[size_t{lid} * switch_count_ + s] = port;
    }
    // The ports of all switches towards one LID.
    std::span<uint8_t> row(uint32_t lid) {
        return std::span(ports_).subspan(size_t{lid} * switch_count_, switch_count_);
    }
    std::span<const uint8_t> row(uint32_t lid) const {
        return std::span(ports_).subspan(size_t{lid} * switch_count_, switch_count_);
    }
    // LIDs 64 n to 64 n + 63 of one switch, as the attribute LinearForwardingTable holds them.
    std::array<uint8_t, kLidsOfBlock> block(uint32_t s, uint32_t n) const {
        std::array<uint8_t, kLidsOfBlock> ports{};
        for (uint32_t i = 0; i < kLidsOfBlock; ++i) {
            const uint32_t lid = n * kLidsOfBlock + i;
            ports[i] = lid < lid_end() ? port(s, lid) : kNoPort;
        }
        return ports;
    }
    bool operator==(const ForwardingTables&) const = default;

private:
    uint32_t switch_count_ = 0;
    std::vector<uint8_t> ports_;  // by LID and switch
};

// How a switch chooses the lane: by the classes of both ports and the service level. Without
// classes the lane is the service level.
struct LaneRule {
    uint8_t class_count = 0;
    std::vector<uint8_t> port_class;  // by Subnet::port_index
    std::vector<uint8_t> lanes;       // by class in, class out and service level

    bool empty() const { return class_count == 0; }
    uint8_t lane(uint32_t in_port_index, uint32_t out_port_index, uint8_t service_level) const {
        if (empty()) return service_level;
        const uint32_t pair = port_class[in_port_index] * class_count + port_class[out_port_index];
        return lanes[pair * kServiceLevels + service_level];
    }
    bool operator==(const LaneRule&) const = default;
};

// A layer for each link, by Subnet::port_index of the port that sends on it.
using LinkLayers = std::vector<uint32_t>;

struct Lanes {
    uint8_t count = 1;                    // data lanes in use
    std::vector<uint8_t> service_levels;  // by LID and switch of the sender; empty: all are 0
    LaneRule rule;
    // By lane: every path of the lane takes links of rising layers, so they form no credit loop. A
    // repair keeps this true, and need not look at other paths. Empty: not known.
    std::vector<LinkLayers> layers;

    uint8_t service_level(uint32_t source, uint32_t lid, uint32_t switch_count) const {
        return service_levels.empty() ? 0 : service_levels[size_t{lid} * switch_count + source];
    }
    bool operator==(const Lanes&) const = default;
};

struct Routing {
    ForwardingTables tables;
    Lanes lanes;
    bool is_deadlock_free = false;  // by construction; check/credit_loops.h verifies it
    // For engines that go up and down: the switches, highest first. A repair keeps this order.
    std::vector<uint32_t> order;
    bool has_detours = false;  // some paths to or from a switch leave that order
    std::string note;          // why the engine did not route as its name says; empty: it did
};

}  // namespace tulle::control
