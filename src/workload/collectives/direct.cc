// All-to-all patterns. Each member begins with the member before it, so that at any time all
// members receive about the same amount.

#include "workload/collectives/algorithms.h"

namespace tulle::workload {
namespace {

// Delays the start of a member's next peer until one of its earlier peers is served.
class Turns {
public:
    Turns(uint32_t members, uint32_t peers) : peers_(peers), served_(members) {}

    // The task that the `turn`-th peer waits for.
    uint32_t before(uint32_t member, size_t turn) const {
        if (peers_ == 0 || turn < peers_) return kNoTask;
        return served_[member][turn - peers_];
    }
    size_t count(uint32_t member) const { return served_[member].size(); }
    void serve(uint32_t member, uint32_t last_task) { served_[member].push_back(last_task); }

private:
    uint32_t peers_;
    std::vector<std::vector<uint32_t>> served_;  // the last message to each peer, in order
};

Range in_channel(Range range, const Direct& options, uint16_t channel) {
    return part(range, options.channels, channel);
}

// Sends a whole range from one member to another with send(piece, channel); returns the last task.
template <class Send>
uint32_t send_all(const Exchange& exchange, const Direct& options, Range range, Send&& send) {
    uint32_t last = kNoTask;
    const uint64_t pieces = exchange.piece_count(in_channel(range, options, 0));
    for (uint64_t piece = 0; piece < pieces; ++piece)
        for (uint16_t channel = 0; channel < options.channels; ++channel) {
            const Range data = part(in_channel(range, options, channel), pieces, piece);
            const uint32_t task = send(data, channel);
            if (task != kNoTask) last = task;
        }
    return last;
}

// range_of(from, to) is the range to send.
template <class RangeOf>
void everybody_to_everybody(Exchange& exchange, const Direct& options, bool reduces,
                            RangeOf&& range_of) {
    const uint32_t n = exchange.placement().size();
    Turns turns(n, options.peers);
    for (uint32_t distance = n - 1; distance > 0 && n > 1; --distance)
        for (uint32_t from = 0; from < n; ++from) {
            const uint32_t to = (from + distance) % n;
            const bool leaves = exchange.placement().tier(from, to) == Tier::scale_out;
            const uint32_t after = leaves ? turns.before(from, turns.count(from)) : kNoTask;
            const uint32_t last =
                send_all(exchange, options, range_of(from, to), [&](Range data, uint16_t channel) {
                    return reduces ? exchange.reduce(from, to, data, channel, after)
                                   : exchange.copy(from, to, data, channel, after);
                });
            if (leaves) turns.serve(from, last);
        }
}

// The data that one member has for another: one row for each sender.
struct Matrix {
    uint32_t n;
    uint64_t bytes;
    Range at(uint32_t from, uint32_t to) const {
        return part({from * bytes, (from + 1) * bytes}, n, to);
    }
};

}  // namespace

void direct_reduce_scatter(Exchange& exchange, const Direct& options, Range range) {
    const uint32_t n = exchange.placement().size();
    everybody_to_everybody(exchange, options, true,
                           [&](uint32_t, uint32_t to) { return part(range, n, to); });
}

void direct_all_gather(Exchange& exchange, const Direct& options, Range range) {
    const uint32_t n = exchange.placement().size();
    everybody_to_everybody(exchange, options, false,
                           [&](uint32_t from, uint32_t) { return part(range, n, from); });
}

void all_to_all(Exchange& exchange, const Direct& options, uint64_t bytes) {
    const Matrix matrix{exchange.placement().size(), bytes};
    everybody_to_everybody(exchange, options, false,
                           [&](uint32_t from, uint32_t to) { return matrix.at(from, to); });
}

// Server by server. A member sends to its peer in another server all data that its own server has
// for that peer.
void all_to_all_by_rail(Exchange& exchange, const Direct& options, uint64_t bytes) {
    const Placement& placement = exchange.placement();
    const Matrix matrix{placement.size(), bytes};
    const uint32_t servers = placement.server_count();
    const uint32_t count = placement.count_of(0);
    const auto copy = [&](uint32_t from, uint32_t to, Range range, uint32_t after) {
        return send_all(exchange, options, range, [&](Range data, uint16_t channel) {
            return exchange.copy(from, to, data, channel, after);
        });
    };
    for (uint32_t distance = count - 1; distance > 0; --distance)
        for (uint32_t from = 0; from < placement.size(); ++from) {
            const uint32_t first = placement.first_of(placement.server_of(from));
            const uint32_t to = first + (from - first + distance) % count;
            copy(from, to, matrix.at(from, to), kNoTask);
        }
    Turns turns(placement.size(), options.peers);
    for (uint32_t distance = servers - 1; distance > 0; --distance)
        for (uint32_t forwarder = 0; forwarder < placement.size(); ++forwarder) {
            const uint32_t home = placement.server_of(forwarder);
            const uint32_t there = placement.first_of((home + distance) % servers);
            const uint32_t place = forwarder - placement.first_of(home);
            const uint32_t to = there + place;
            const uint32_t after = turns.before(forwarder, turns.count(forwarder));
            uint32_t last = kNoTask;
            for (uint32_t i = 0; i < count; ++i) {
                const uint32_t from = placement.first_of(home) + (place + i) % count;
                const Range range = matrix.at(from, to);
                if (from != forwarder) copy(from, forwarder, range, kNoTask);
                const uint32_t task = copy(forwarder, to, range, after);
                if (task != kNoTask) last = task;
            }
            turns.serve(forwarder, last);
        }
}

}  // namespace tulle::workload
