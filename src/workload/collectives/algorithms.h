// The algorithms, as lists of transfers. Members are indices into the placement. `both` passes are
// an all-reduce; the first pass alone is a reduce-scatter, the second alone an all-gather.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workload/collectives/exchange.h"

namespace tulle::workload {

enum class Passes : uint8_t { both, reduce, gather };
enum class Algorithm : uint8_t {
    ring,
    tree,
    halving_doubling,
    two_level,
    in_switch,
    direct,
    in_network,  // the switches between servers add up, as in InfiniBand's SHARP
    automatic,   // the choice of the library's cost model: tuning.h
};

// The order of a channel's ring: through all members of a server, then on to the next server. Where
// possible, the hop between servers stays on one rail, and each channel uses a different rail.
std::vector<uint32_t> ring_order(const Placement& placement, uint32_t channel);

// A ring. blocks[i] ends at order[i] when it is reduced, and begins there when it is gathered.
void ring(Exchange& exchange, std::span<const uint32_t> order, std::span<const Range> blocks,
          Passes passes, uint16_t channel);
void ring_all_reduce(Exchange& exchange, std::span<const uint32_t> order, Range range,
                     uint16_t channel);
// Sends from the first member of the order to all others, along a chain.
void chain_broadcast(Exchange& exchange, std::span<const uint32_t> order, Range range,
                     uint16_t channel);

// For each server its members in a chain; only the first one talks to other servers.
using Chains = std::vector<std::vector<uint32_t>>;
Chains tree_chains(const Placement& placement, uint32_t channel);
// NCCL's two binary trees over servers, each with half of the data. An inner node of one tree is a
// leaf of the other. Uses the channels 2 * channel and 2 * channel + 1.
void tree_all_reduce(Exchange& exchange, const Chains& chains, Range range, uint16_t channel);
// The root feeds two trees over the other servers.
void tree_broadcast(Exchange& exchange, uint32_t root, Range range, uint16_t channel);

// Parents in a binary tree over 0 .. count - 1; 0 is the root and its own parent. Odd numbers are
// leaves.
std::vector<uint32_t> binary_tree(uint32_t count);
// The same shape with leaves and inner nodes swapped, as far as possible.
std::vector<uint32_t> complementary_tree(uint32_t count);

// Recursive halving and doubling, nearest first, so that the large messages stay in the server.
// Members beyond a power of two give their data to a neighbour and receive the result from it.
void halving_doubling(Exchange& exchange, std::span<const uint32_t> members, Range range,
                      uint16_t channel);

// Two levels: inside servers, and along rails between them. Servers have equal numbers of members.
struct TwoLevel {
    Algorithm between = Algorithm::ring;  // servers: ring, tree, halving_doubling or in_network
    bool in_switch = false;               // the switches inside servers reduce and replicate
    uint16_t channels = 1;
    bool streams = false;  // between servers through streaming trees
};
// Trees of switches have their own channels: each channel has a tree for small messages and a
// streaming tree.
constexpr uint16_t tree_channel(uint16_t channel, bool streams) {
    return static_cast<uint16_t>(2 * channel + (streams ? 1 : 0));
}
void in_network_all_reduce(Exchange& exchange, std::span<const uint32_t> members, Range range,
                           uint16_t channel);
void two_level_all_reduce(Exchange& exchange, const TwoLevel& options, Range range);
void two_level_reduce_scatter(Exchange& exchange, const TwoLevel& options, Range range);
void two_level_all_gather(Exchange& exchange, const TwoLevel& options, Range range);

// Every member sends to every other. `peers` limits how many peers outside the server a member
// serves at once; 0: all.
struct Direct {
    uint16_t channels = 1;
    uint32_t peers = 8;
};
void direct_reduce_scatter(Exchange& exchange, const Direct& options, Range range);
void direct_all_gather(Exchange& exchange, const Direct& options, Range range);
// Each member sends `bytes` in total. The buffer has one row of `bytes` for each sender.
void all_to_all(Exchange& exchange, const Direct& options, uint64_t bytes);
// The same, forwarded by the member of the sender's server on the receiver's rail (PXN).
void all_to_all_by_rail(Exchange& exchange, const Direct& options, uint64_t bytes);

}  // namespace tulle::workload
