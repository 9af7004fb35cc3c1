// What a collective library adds to the messages of an algorithm, and what it knows of the machine.
//
// A library such as NCCL starts a kernel, then polls flags and copies. How long that takes depends
// on the protocol: LL puts a flag of 4 bytes beside each 4 bytes of data, LL128 one of 8 beside
// each 120, and Simple one beside a whole chunk, after a fence.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "workload/program.h"

namespace tulle::workload {

// `bare`: no library. A message is posted `hosts.reaction` after what it waits for.
enum class Protocol : uint8_t { bare, automatic, simple, ll, ll128 };

enum class Generation : uint8_t { volta, ampere, hopper, blackwell };

std::string_view name_of(Protocol protocol);
std::string_view name_of(Generation generation);

// What is the same for all collectives of a cluster.
struct Machine {
    struct Network {
        uint64_t mbps = 0;  // of a GPU's port, or of an adapter: 10^6 bytes a second
        // Of the smallest message between neighbours on an idle network, without software.
        base::Duration latency{};
        // No message is posted sooner after what it waits for.
        base::Duration reaction{};
    };
    Generation generation = Generation::hopper;
    std::array<Network, 2> networks;  // by Tier
    uint32_t adapters = 1;            // of a server
    uint32_t gpus = 0;                // of a server; 0: servers differ
    bool reduces = false;             // the switches inside servers add up

    const Network& network(Tier tier) const { return networks[static_cast<size_t>(tier)]; }
    Network& network(Tier tier) { return networks[static_cast<size_t>(tier)]; }
};

// What a library spends on one collective, by Tier where the network matters.
struct Software {
    base::Duration launch{};                // once, before a rank's first message
    std::array<base::Duration, 2> step{};   // before each message; zero: hosts.reaction
    std::array<base::Duration, 2> least{};  // of what is before any message
    std::array<uint64_t, 2> copy_fs{};      // and for each of its bytes, femtoseconds
    // A channel copies one message after the other: this is not only how long a message is
    // delayed, but how far apart two of them are at least.
    std::array<bool, 2> is_in_turn{};
    bool passes_on_lines = false;  // messages of a step are pieces of it, not steps of their own
    uint32_t payload = 1;          // bytes of data ...
    uint32_t line = 1;             // ... in so many bytes of a message

    uint64_t wire_bytes(uint64_t bytes) const { return (bytes * line + payload - 1) / payload; }
    // A message that continues the one before it is of the same step.
    base::Duration before(Tier tier, uint64_t bytes, bool continues = false) const {
        const auto i = static_cast<size_t>(tier);
        const base::Duration copy{static_cast<int64_t>(copy_fs[i] * bytes / 1000)};
        return continues ? std::max(least[i], copy) : step[i] + copy;
    }
};

}  // namespace tulle::workload
