// The costs that a collective library adds to the messages of an algorithm, and its view of the
// machine.
//
// A library such as NCCL starts a kernel, polls flags and copies. The time depends on the protocol.
// LL puts a flag of 4 bytes beside each 4 bytes of data, and LL128 one of 8 beside each 120. Simple
// puts one beside a whole chunk, after a fence.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "workload/program.h"

namespace tulle::workload {

// `bare`: no library. A message is posted `hosts.reaction` after its dependencies are met.
enum class Protocol : uint8_t { bare, automatic, simple, ll, ll128 };

enum class Generation : uint8_t { volta, ampere, hopper, blackwell };

std::string_view name_of(Protocol protocol);
std::string_view name_of(Generation generation);

// The properties that all collectives of a cluster share.
struct Machine {
    struct NetworkSpeed {
        uint64_t mbps = 0;  // of a GPU's port, or of an adapter: 10^6 bytes a second
        // The latency of the smallest message between neighbours on an idle network, without
        // software.
        base::Duration latency{};
        // The least time from the dependencies of a message to its post.
        base::Duration reaction{};
    };
    Generation generation = Generation::hopper;
    std::array<NetworkSpeed, 2> networks;  // by Tier
    uint32_t adapters = 1;                 // of a server
    uint32_t gpus = 0;                     // of a server; 0: servers differ
    bool reduces = false;                  // the switches inside servers add up

    const NetworkSpeed& network(Tier tier) const { return networks[static_cast<size_t>(tier)]; }
    NetworkSpeed& network(Tier tier) { return networks[static_cast<size_t>(tier)]; }
};

// The time that a library spends on one collective, by Tier where the network matters.
struct Software {
    base::Duration launch{};                // once, before a rank's first message
    std::array<base::Duration, 2> step{};   // before each message; zero: hosts.reaction
    std::array<base::Duration, 2> least{};  // the least time before any message
    std::array<uint64_t, 2> copy_fs{};      // added for each byte, in femtoseconds
    // A channel copies one message after the other. So this is a delay of each message and also the
    // least distance between two messages.
    std::array<bool, 2> is_in_turn{};
    bool passes_on_lines = false;  // messages are pieces of one step, not steps of their own
    uint32_t payload = 1;          // this many bytes of data ...
    uint32_t line = 1;             // ... take this many bytes of a message
    bool operator==(const Software&) const = default;

    uint64_t wire_bytes(uint64_t bytes) const { return (bytes * line + payload - 1) / payload; }
    // A message that `continues` belongs to the same step as the one before it.
    base::Duration before(Tier tier, uint64_t bytes, bool continues = false) const {
        const auto i = static_cast<size_t>(tier);
        const base::Duration copy{static_cast<int64_t>(copy_fs[i] * bytes / 1000)};
        return continues ? std::max(least[i], copy) : step[i] + copy;
    }
};

}  // namespace tulle::workload
