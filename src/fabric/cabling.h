// The cables of a partition and what is on them: ports, lanes, and the packets in flight.
//
// A sending port appends the packet to the list of the port at the other end, with the instant at
// which the node there acts on it. That instant is later by at least the delay of the cable. If
// nodes advance by windows no longer than the shortest delay, they may therefore run in any order.
// `woken` lists the nodes that now have something to do earlier than before.
//
// Flow-control packets have a list of their own: nodes act on them on arrival, while packets first
// pass the switch's pipeline. In their Transit, `destination` and `flow` are
//     PFC      lanes to pause | lanes to resume << 16, and the quanta of the pause
//     credits  the credit limit (FCCL), and the blocks sent (FCTBS); the lane is in `lane`
//     warnings the port that is full, and whether the warning begins; `hops` is kWarning
// and `tail_ps` is the port at the root of what filled the buffer.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "fabric/journal.h"
#include "fabric/port_table.h"
#include "fabric/record.h"
#include "fabric/telemetry.h"
#include "fabric/tenancy.h"
#include "fabric/warnings.h"

namespace tulle::fabric {

// A packet that leaves the partition.
struct Crossing {
    uint32_t port = 0;  // the port where it arrives
    bool is_control = false;
    Transit transit;
    wire::Packet packet;
    std::unique_ptr<PacketAccount> account;      // if the packet is watched
    Place marked_at = kNowhere;                  // for the journal
    std::unique_ptr<wire::Telemetry> telemetry;  // where senders ask for it
};

// Losses in successive periods. Each period begins at one of the given instants and ends at the
// next.
struct LossPeriods {
    std::vector<Instant> begin;
    std::vector<std::array<uint64_t, kDropCauses>> lost;

    void add(Instant at) {
        begin.push_back(at);
        lost.emplace_back();
    }
    void note(Instant now, Drop cause) {
        const auto after = std::upper_bound(begin.begin(), begin.end(), now);
        if (after != begin.begin())
            ++lost[static_cast<size_t>(after - begin.begin()) - 1][static_cast<size_t>(cause)];
    }
};

class Cabling : public PortTable {
public:
    Cabling(const Settings& settings, uint32_t lanes, size_t partitions,
            std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

    // Setup: ports are numbered in the order in which they are added.
    void add_node() { due_.push_back(Instant::never()); }
    uint32_t add_port(const Port& port, Rate rate, const ErrorModel& errors, uint32_t node);

    // Calls visit(port) for each of the node's ports where a packet has joined an empty list since
    // the last call.
    template <class Visitor>
    void take_fresh(uint32_t first_port, uint32_t count, Visitor&& visit);

    // The same for one port: whether a packet has joined an empty list.
    bool take_fresh(uint32_t p) {
        const uint64_t bit = uint64_t{1} << (p % 64);
        if ((fresh_[p / 64] & bit) == 0) return false;
        fresh_[p / 64] &= ~bit;
        return true;
    }

    // Puts a packet on the line at `now`; returns when the line is free again.
    Instant transmit(Port& from, uint32_t index, Instant now);
    // Management packets have a queue of their own: one takes the line next, before all data, and
    // needs no credits. What it says is the business of `control`, so only its time is spent here.
    void send_management(uint32_t p, uint32_t bytes, Instant now);
    // Sends the flow-control packet that the port owes.
    Instant transmit_owed(uint32_t p, Instant now);

    // Takes the first flow-control packet that has arrived, and returns its effect on our lanes.
    struct ControlEffect {
        uint16_t opened = 0;
        uint16_t paused = 0;
        Instant until{};  // when the pause expires
        std::optional<Warning> warning{};
    };
    ControlEffect on_control(uint32_t p, Instant now);
    // Queues a warning of a long queue for the neighbour of a port.
    void warn(uint32_t p, Warning warning);
    // When a pause sent at `told_at` must be refreshed: after half of its time.
    Instant told_again_at(uint32_t p, Instant told_at) const;

    // hold() stops the lane from sending, let_go() lets it send again.
    void hold(uint32_t p, uint32_t lane, Instant now);
    void let_go(uint32_t p, uint32_t lane, Instant now);

    // Credits: accounts for a packet that has arrived, and for one that has left the buffer.
    void receive_blocks(uint32_t p, uint32_t lane, uint32_t bytes) {
        in(p, lane).credits.receive(scale_.blocks_of(bytes), scale_);
        // If the buffer is larger than credits can express, more may be granted now.
        if (capacity_blocks_ > scale_.most_blocks()) note_news(p, lane);
    }
    void release_blocks(uint32_t p, uint32_t lane, uint32_t bytes);

    // A credit packet is owed once the limit has moved by update_blocks_.
    void note_news(uint32_t p, uint32_t lane) {
        if (in(p, lane).credits.news(capacity_blocks_, scale_) >= update_blocks_)
            ports_[p].owed.credits |= static_cast<uint16_t>(1u << lane);
    }

    void drop(Instant now, uint32_t p, uint32_t index, Drop cause);

    // For the journal: a packet in the buffer of an input has left through port `p`.
    void note_left(uint32_t input, uint32_t in_lane, uint32_t p, uint32_t lane, Instant now);

    // A packet from another partition arrives.
    void take_over(Crossing&& crossing);

    TransitStore store;
    std::vector<uint32_t> woken;                   // nodes with an earlier due time
    std::vector<std::vector<Crossing>> crossings;  // by partition
    std::vector<CapturedPacket> captured;
    LossPeriods losses;
    std::map<RefusedPair, uint64_t> refused;  // packets refused by tenancy
    Journal* journal = nullptr;               // only in explained runs
    std::optional<TelemetryTable> telemetry;  // where senders ask for it

    Instant due(uint32_t node) const { return due_[node]; }
    void set_due(uint32_t node, Instant at) { due_[node] = at; }

private:
    void put(const Port& from, uint32_t index, bool is_control);
    void wake(uint32_t inbound_port, Instant at);
    void put_here(uint32_t inbound_port, uint32_t index, bool is_control);
    Instant transmit_usual(Port& from, uint32_t index, Instant now);
    Instant transmit_unusual(uint32_t p, uint32_t index, Instant now);
    Instant survive_errors(uint32_t p, Transit& transit, Instant end);
    Instant replay(uint32_t p, Transit& transit, Instant end);
    bool journal_wants(const Transit& transit) const;
    void note(uint32_t p, uint32_t index, Instant begin, Instant end, Duration retries);
    Place root_of(uint32_t p, uint32_t lane, Instant now) const;
    Place credit_root_of(uint32_t p, uint32_t lane) const;
    uint32_t make_warning(uint32_t p, Transit& transit);
    wire::Packet flow_control_packet(const Transit& transit) const;
    void capture(const Port& port, Instant at, const wire::Packet& packet, const Transit* transit);

    const Settings settings_;
    uint32_t update_blocks_;
    std::vector<uint64_t> fresh_;
    std::vector<Instant> due_;
    std::map<uint32_t, std::deque<Warning>> warnings_;  // by port: for its neighbour
};

template <class Visitor>
void Cabling::take_fresh(uint32_t first_port, uint32_t count, Visitor&& visit) {
    const uint32_t end = first_port + count;
    for (uint32_t word = first_port / 64; word * 64 < end; ++word) {
        uint64_t mine = fresh_[word];
        if (word == first_port / 64) mine &= ~uint64_t{0} << (first_port % 64);
        if (end < (word + 1) * 64) mine &= (uint64_t{1} << (end % 64)) - 1;
        fresh_[word] &= ~mine;
        for (; mine != 0; mine &= mine - 1)
            visit(word * 64 + static_cast<uint32_t>(std::countr_zero(mine)));
    }
}

inline void Cabling::wake(uint32_t inbound_port, Instant at) {
    fresh_[inbound_port / 64] |= uint64_t{1} << (inbound_port % 64);
    const uint32_t node = nodes_[inbound_port];
    if (at >= due_[node]) return;
    due_[node] = at;
    woken.push_back(node);
}

inline void Cabling::put_here(uint32_t inbound_port, uint32_t index, bool is_control) {
    Inbound& to = inbound_[inbound_port];
    Fifo& list = is_control ? to.control : to.packets;
    if (list.empty()) wake(inbound_port, store[index].at);
    list.push(store, index);
}

inline Instant Cabling::transmit(Port& from, uint32_t index, Instant now) {
    const Transit& transit = store[index];
    ++from.packets[transit.flags & Transit::kCounted];
    if (from.is_unusual) [[unlikely]] {
        if (from.spends_credits && transit.lane != kManagementLane)
            out(number_of(from), transit.lane)
                .credits.spend(scale_.blocks_of(transit.wire_bytes), scale_);
        if (from.is_special || journal_wants(transit))
            return transmit_unusual(number_of(from), index, now);
    }
    return transmit_usual(from, index, now);
}

// True for a watched packet, and for the first packet of a message if the journal notes crossings.
inline bool Cabling::journal_wants(const Transit& transit) const {
    const bool is_first = (transit.flags & Transit::kCounted) == Transit::kCounted;
    return (transit.flags & Transit::kWatched) != 0 ||
           (is_first && journal != nullptr && journal->notes_crossings());
}

inline Instant Cabling::transmit_usual(Port& from, uint32_t index, Instant now) {
    Transit& transit = store[index];
    from.wire_bytes += transit.wire_bytes;
    const Instant end{now.ps + int64_t{transit.wire_bytes} * from.ps_per_byte};
    transit.at = end + from.arrival_delay;
    put_here(from.peer, index, false);
    return end;
}

}  // namespace tulle::fabric
