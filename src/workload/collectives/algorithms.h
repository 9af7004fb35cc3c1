// The algorithms, as lists of transfers. Members are indices into the placement. `both` passes are
// an all-reduce; the first alone is a reduce-scatter, the second an all-gather.
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
    automatic,  // what the library's cost model says: tuning.h
};

// The order of a channel's ring: through all members of a server, then on to the next. Where that
// can be, the hop from server to server stays on one rail, and each channel takes another one.
std::vector<uint32_t> ring_order(const Placement& placement, uint32_t channel);

// A ring. blocks[i] is the block that ends at order[i] when reduced, and begins there when
// gathered.
void ring(Exchange& exchange, std::span<const uint32_t> order, std::span<const Range> blocks,
          Passes passes, uint16_t channel);
void ring_all_reduce(Exchange& exchange, std::span<const uint32_t> order, Range range,
                     uint16_t channel);
// From the first of the order to all others, one after the other.
void chain_broadcast(Exchange& exchange, std::span<const uint32_t> order, Range range,
                     uint16_t channel);

// Members of a server in a row; only the first talks to other servers.
using Chains = std::vector<std::vector<uint32_t>>;
Chains tree_chains(const Placement& placement, uint32_t channel);
// NCCL's two binary trees over servers, each with half of the data: who is inside one is a leaf of
// the other. Takes the channels 2 * channel and 2 * channel + 1.
void tree_all_reduce(Exchange& exchange, const Chains& chains, Range range, uint16_t channel);
// The root feeds two trees over the other servers.
void tree_broadcast(Exchange& exchange, uint32_t root, Range range, uint16_t channel);

// Parents in a binary tree over 0 .. count - 1; 0 is the root and its own parent. Odd numbers are
// leaves.
std::vector<uint32_t> binary_tree(uint32_t count);
// The same shape, with the leaves inside and the inner ones as leaves as far as that goes.
std::vector<uint32_t> complementary_tree(uint32_t count);

// Recursive halving and doubling, nearest first, so that the large messages stay in the server.
// The members beyond a power of two hand their data to a neighbour and get the result back.
void halving_doubling(Exchange& exchange, std::span<const uint32_t> members, Range range,
                      uint16_t channel);

// Inside servers and along rails. Servers have equal numbers of members.
struct TwoLevel {
    Algorithm between = Algorithm::ring;  // servers: ring, tree or halving_doubling
    bool in_switch = false;               // the switches of the servers reduce and replicate
    uint16_t channels = 1;
};
void two_level_all_reduce(Exchange& exchange, const TwoLevel& options, Range range);
void two_level_reduce_scatter(Exchange& exchange, const TwoLevel& options, Range range);
void two_level_all_gather(Exchange& exchange, const TwoLevel& options, Range range);

// Everybody to everybody. Outside the server a member serves so many others at once; 0: all.
struct Direct {
    uint16_t channels = 1;
    uint32_t peers = 8;
};
void direct_reduce_scatter(Exchange& exchange, const Direct& options, Range range);
void direct_all_gather(Exchange& exchange, const Direct& options, Range range);
// Each member has `bytes` for all together. The buffer has a row of them for each sender.
void all_to_all(Exchange& exchange, const Direct& options, uint64_t bytes);
// The same by way of the own server's member on the receiver's rail.
void all_to_all_by_rail(Exchange& exchange, const Direct& options, uint64_t bytes);

}  // namespace tulle::workload
