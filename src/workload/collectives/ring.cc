// Rings. In step s, position p sends the block that ends at position p - 1 - s. A reduction takes n
// - 1 steps. Passing the results around takes as many, and the same formula holds.
#include <algorithm>

#include "workload/collectives/algorithms.h"

namespace tulle::workload {
namespace {

// The place at which a ring enters each server: that at which it left the server before. Two rails
// suffice to go back and forth; around an odd number of servers it takes a third.
std::vector<uint32_t> entry_places(const Placement& placement, uint32_t channel) {
    const uint32_t servers = placement.server_count();
    std::vector<uint32_t> places;
    for (uint32_t server = 0; server < servers; ++server) {
        const uint32_t count = placement.count_of(server);
        const bool is_odd_one = servers % 2 == 1 && servers > 1 && server + 1 == servers;
        const uint32_t offset = is_odd_one ? 1 : server % 2 == 1 ? count - 1 : 0;
        places.push_back((channel + offset) % count);
    }
    return places;
}

}  // namespace

std::vector<uint32_t> ring_order(const Placement& placement, uint32_t channel) {
    const std::vector<uint32_t> entries = entry_places(placement, channel);
    std::vector<uint32_t> order;
    for (uint32_t server = 0; server < placement.server_count(); ++server) {
        const uint32_t first = placement.first_of(server);
        const uint32_t count = placement.count_of(server);
        const uint32_t entry = entries[server];
        const uint32_t next = entries[(server + 1) % placement.server_count()] % count;
        const uint32_t exit = next != entry ? next : (entry + count - 1) % count;
        order.push_back(first + entry);
        for (uint32_t i = 1; i < count; ++i)
            if ((entry + i) % count != exit) order.push_back(first + (entry + i) % count);
        if (exit != entry) order.push_back(first + exit);
    }
    return order;
}

// Several pieces of a block are in flight at the same time, as many as fit into the window, so that
// the ring is busy while a message travels.
void ring(Exchange& exchange, std::span<const uint32_t> order, std::span<const Range> blocks,
          Passes passes, uint16_t channel) {
    const auto n = static_cast<uint32_t>(order.size());
    if (n < 2) return;
    uint64_t pieces = 1;
    for (const Range& block : blocks) pieces = std::max(pieces, exchange.piece_count(block));
    const uint64_t slices = exchange.chunking().at_once();
    const uint64_t batch = slices == 0 ? pieces : slices;
    const uint32_t first_step = passes == Passes::gather ? n - 1 : 0;
    const uint32_t end_step = passes == Passes::reduce ? n - 1 : 2 * (n - 1);
    for (uint64_t begin = 0; begin < pieces; begin += batch)
        for (uint32_t step = first_step; step < end_step; ++step)
            for (uint64_t piece = begin; piece < std::min(pieces, begin + batch); ++piece) {
                exchange.continue_step(piece > begin);
                for (uint32_t p = 0; p < n; ++p) {
                    const Range block = blocks[(p + 2 * n - 1 - step) % n];
                    const Range range = part(block, pieces, piece);
                    const uint32_t next = order[(p + 1) % n];
                    if (step < n - 1)
                        exchange.reduce(order[p], next, range, channel);
                    else
                        exchange.copy(order[p], next, range, channel);
                }
            }
    exchange.continue_step(false);
}

// Blocks are numbered against the direction of the ring, so that each member receives them in
// order.
void ring_all_reduce(Exchange& exchange, std::span<const uint32_t> order, Range range,
                     uint16_t channel) {
    const auto n = static_cast<uint32_t>(order.size());
    if (n < 2) return;
    const Chunking& chunking = exchange.chunking();
    const uint64_t slices = chunking.at_once();
    const uint64_t turns = slices == 0 ? 1 : parts_of(range.size(), chunking.chunk * slices * n);
    std::vector<Range> blocks(n);
    for (uint64_t turn = 0; turn < turns; ++turn) {
        const Range data = part(range, turns, turn);
        for (uint32_t i = 0; i < n; ++i) blocks[i] = part(data, n, n - 1 - i);
        ring(exchange, order, blocks, Passes::both, channel);
    }
}

void chain_broadcast(Exchange& exchange, std::span<const uint32_t> order, Range range,
                     uint16_t channel) {
    const uint64_t pieces = exchange.piece_count(range);
    for (uint64_t piece = 0; piece < pieces; ++piece)
        for (size_t p = 0; p + 1 < order.size(); ++p)
            exchange.copy(order[p], order[p + 1], part(range, pieces, piece), channel);
}

}  // namespace tulle::workload
