// Two levels: each member of a server owns a part of the data and reduces it for its server. The
// members at one place of all servers reduce it along their rail, and each gives the result to its
// server.
//
// The three stages overlap. Data of a rail are cut into turns, as in a ring, and a server begins
// with the pieces that its position in the ring sends first.
#include <algorithm>
#include <numeric>

#include "workload/collectives/algorithms.h"

namespace tulle::workload {
namespace {

class Levels {
public:
    Levels(Exchange& exchange, const TwoLevel& options)
        : exchange_(exchange),
          options_(options),
          servers_(exchange.placement().server_count()),
          places_(exchange.placement().count_of(0)) {}

    void all_reduce(Range range) {
        const Chunking& chunking = exchange_.chunking();
        for (uint16_t channel = 0; channel < options_.channels; ++channel) {
            const Range data = part(range, options_.channels, channel);
            const uint64_t share = (data.size() + places_ - 1) / places_;
            const uint64_t turns =
                chunking.window == 0 ? 1
                                     : parts_of(share, chunking.chunk * chunking.window * servers_);
            for (uint64_t turn = 0; turn < turns; ++turn) take_turn(data, turns, turn, channel);
        }
    }

    // Blocks of a rail are those of its members, anywhere in the buffer.
    void reduce_scatter(Range range, uint16_t channel) {
        for (uint32_t step = 0; step < servers_; ++step)
            for (uint32_t server = 0; server < servers_; ++server)
                each_place([&](uint32_t place, uint32_t distance) {
                    const uint32_t whose = (server + 2 * servers_ - 1 - step) % servers_;
                    reduce_inside(server, place, distance, block(range, whose, place, channel),
                                  channel);
                });
        for (uint32_t place = 0; place < places_; ++place)
            ring(exchange_, rail(place), rail_blocks(range, place, channel), Passes::reduce,
                 channel);
    }

    void all_gather(Range range, uint16_t channel) {
        for (uint32_t place = 0; place < places_; ++place)
            ring(exchange_, rail(place), rail_blocks(range, place, channel), Passes::gather,
                 channel);
        for (uint32_t step = 0; step < servers_; ++step)
            for (uint32_t server = 0; server < servers_; ++server)
                each_place([&](uint32_t place, uint32_t distance) {
                    const uint32_t whose = (server + servers_ - step) % servers_;
                    copy_inside(server, place, distance, block(range, whose, place, channel),
                                channel);
                });
    }

private:
    uint32_t member(uint32_t server, uint32_t place) const {
        return exchange_.placement().first_of(server) + place;
    }
    std::vector<uint32_t> rail(uint32_t place) const {
        std::vector<uint32_t> members;
        for (uint32_t server = 0; server < servers_; ++server)
            members.push_back(member(server, place));
        return members;
    }
    Range block(Range range, uint32_t server, uint32_t place, uint16_t channel) const {
        const Range whole = part(range, exchange_.placement().size(), member(server, place));
        return part(whole, options_.channels, channel);
    }
    std::vector<Range> rail_blocks(Range range, uint32_t place, uint16_t channel) const {
        std::vector<Range> blocks;
        for (uint32_t server = 0; server < servers_; ++server)
            blocks.push_back(block(range, server, place, channel));
        return blocks;
    }

    // Visits the owners of a server, at each distance from their senders. A switch that computes
    // takes all parts for an owner at once.
    template <class Visit>
    void each_place(Visit&& visit) const {
        const uint32_t distances = options_.in_switch ? std::min(2u, places_) : places_;
        for (uint32_t distance = 1; distance < distances; ++distance)
            for (uint32_t place = 0; place < places_; ++place) visit(place, distance);
    }

    void reduce_inside(uint32_t server, uint32_t owner, uint32_t distance, Range range,
                       uint16_t channel) {
        const uint32_t from = member(server, (owner + distance) % places_);
        const uint64_t pieces = exchange_.piece_count(range);
        for (uint64_t piece = 0; piece < pieces; ++piece) {
            const Range data = part(range, pieces, piece);
            if (options_.in_switch)
                exchange_.reduce_in_switch(member(server, owner), data, channel);
            else
                exchange_.reduce(from, member(server, owner), data, channel);
        }
    }

    // Uses separate channels, so that copies do not wait behind reductions of later turns.
    void copy_inside(uint32_t server, uint32_t owner, uint32_t distance, Range range,
                     uint16_t channel) {
        const auto its_channel = static_cast<uint16_t>(options_.channels + channel);
        const uint32_t to = member(server, (owner + places_ - distance) % places_);
        const uint64_t pieces = exchange_.piece_count(range);
        for (uint64_t piece = 0; piece < pieces; ++piece) {
            const Range data = part(range, pieces, piece);
            if (options_.in_switch)
                exchange_.multicast(member(server, owner), data, its_channel);
            else
                exchange_.copy(member(server, owner), to, data, its_channel);
        }
    }

    void take_turn(Range range, uint64_t turns, uint64_t turn, uint16_t channel) {
        const auto share = [&](uint32_t place) {
            return part(part(range, places_, place), turns, turn);
        };
        const uint64_t pieces = exchange_.piece_count(share(places_ - 1));
        for (uint64_t i = 0; i < pieces; ++i)
            for (uint32_t server = 0; server < servers_; ++server) {
                const uint64_t piece = (first_piece(server, pieces) + i) % pieces;
                each_place([&](uint32_t place, uint32_t distance) {
                    reduce_inside(server, place, distance, part(share(place), pieces, piece),
                                  channel);
                });
            }
        for (uint32_t place = 0; place < places_; ++place)
            reduce_between(place, share(place), pieces, channel);
        for (uint32_t server = 0; server < servers_; ++server) {
            const std::vector<uint64_t> order = order_of_arrival(server, share(0), pieces);
            for (const uint64_t piece : order)
                each_place([&](uint32_t place, uint32_t distance) {
                    copy_inside(server, place, distance, part(share(place), pieces, piece),
                                channel);
                });
        }
    }

    // The piece with the first block of a ring over the servers.
    uint64_t first_piece(uint32_t server, uint64_t pieces) const {
        if (options_.between != Algorithm::ring) return 0;
        return (servers_ - server) % servers_ * pieces / servers_;
    }

    std::vector<uint64_t> order_of_arrival(uint32_t server, Range share, uint64_t pieces) {
        std::vector<uint64_t> order(pieces);
        std::iota(order.begin(), order.end(), 0);
        std::vector<uint32_t> ready(pieces);
        for (uint64_t piece = 0; piece < pieces; ++piece)
            ready[piece] = exchange_.ready_after(member(server, 0), part(share, pieces, piece));
        std::stable_sort(order.begin(), order.end(),
                         [&](uint64_t a, uint64_t b) { return ready[a] < ready[b]; });
        return order;
    }

    // For trees, each piece that a server has summed is halved between the two trees.
    void reduce_between(uint32_t place, Range range, uint64_t pieces, uint16_t channel) {
        const std::vector<uint32_t> members = rail(place);
        switch (options_.between) {
            case Algorithm::tree: {
                Chains chains;
                for (const uint32_t m : members) chains.push_back({m});
                for (uint64_t piece = 0; piece < pieces; ++piece)
                    tree_all_reduce(exchange_, chains, part(range, pieces, piece), channel);
                return;
            }
            case Algorithm::halving_doubling:
                return halving_doubling(exchange_, members, range, channel);
            case Algorithm::in_network:
                return in_network_all_reduce(exchange_, members, range,
                                             tree_channel(channel, options_.streams));
            default: return ring_all_reduce(exchange_, members, range, channel);
        }
    }

    Exchange& exchange_;
    TwoLevel options_;
    uint32_t servers_;
    uint32_t places_;
};

}  // namespace

void in_network_all_reduce(Exchange& exchange, std::span<const uint32_t> members, Range range,
                           uint16_t channel) {
    const uint64_t pieces = exchange.tree_piece_count(range);
    for (uint64_t piece = 0; piece < pieces; ++piece)
        exchange.sum_in_network(members, part(range, pieces, piece), channel);
}

void two_level_all_reduce(Exchange& exchange, const TwoLevel& options, Range range) {
    Levels(exchange, options).all_reduce(range);
}

void two_level_reduce_scatter(Exchange& exchange, const TwoLevel& options, Range range) {
    for (uint16_t channel = 0; channel < options.channels; ++channel)
        Levels(exchange, options).reduce_scatter(range, channel);
}

void two_level_all_gather(Exchange& exchange, const TwoLevel& options, Range range) {
    for (uint16_t channel = 0; channel < options.channels; ++channel)
        Levels(exchange, options).all_gather(range, channel);
}

}  // namespace tulle::workload
