// The cables of a partition and what is on them: ports, lanes, and the packets in flight.
//
// A port that sends puts the packet at the end of the list of the port at the other end, with the
// instant at which the node there acts on it. That instant is later by the delay of the cable at
// least; whoever advances nodes by windows no longer than the shortest delay may therefore take
// them in any order. Nodes that had nothing to do and now have are noted in woken().
//
// Flow-control packets go by a list of their own: they are acted on as they come in, while packets
// pass the switch's pipeline first. In their Transit `destination` and `flow` are
//     PFC      lanes to stop | lanes to go on << 16, and the quanta of the pause
//     credits  the credit limit (FCCL), and the blocks sent (FCTBS); the lane in `lane`
#pragma once

#include <bit>
#include <vector>

#include "fabric/port.h"

namespace tulle::fabric {

// A packet that leaves the partition.
struct Crossing {
    uint32_t port = 0;  // where it arrives
    bool is_control = false;
    Transit transit;
    wire::Packet packet;
};

struct Captured {
    Instant at{};
    uint32_t cable = 0;
    bool from_a = false;
    wire::Packet packet;
};

class Cabling {
public:
    struct Inbound {
        Fifo packets;
        Fifo control;
        uint32_t node = 0;  // of the partition
    };

    Cabling(const Settings& settings, uint32_t lanes, size_t partitions);

    // Setting up: ports are numbered as they are added, a node's ports one after another.
    void add_node() { due_.push_back(Instant::never()); }
    uint32_t add_port(Port port, ErrorModel errors, uint32_t node);

    uint32_t lanes() const { return lanes_; }
    Port& port(uint32_t p) { return ports_[p]; }
    PortCounters& counters(uint32_t p) { return counters_[p]; }
    LaneOut& out(uint32_t p, uint32_t lane) { return outs_[p * lanes_ + lane]; }
    LaneIn& in(uint32_t p, uint32_t lane) { return ins_[p * lanes_ + lane]; }
    Inbound& inbound(uint32_t p) { return inbound_[p]; }
    size_t ports() const { return ports_.size(); }
    uint32_t capacity_blocks() const { return capacity_blocks_; }

    // Calls visit(port) for each of the node's ports to which something new came first.
    template <class Visitor>
    void take_fresh(uint32_t first_port, uint32_t count, Visitor&& visit);

    // Puts a packet on the line at `now`; returns when the line is free again.
    Instant transmit(uint32_t p, uint32_t index, Instant now);
    // Puts the flow-control packet that is owed on the line.
    Instant transmit_owed(uint32_t p, Instant now);
    bool owes(const Port& port) const {
        return (port.owed_pause | port.owed_resume | port.owed_credits) != 0;
    }

    // Room in the peer's buffer, as far as this end knows.
    bool has_credits(uint32_t p, uint32_t lane, uint32_t bytes) {
        return out(p, lane).credits.allow(blocks_of(bytes));
    }

    // Takes the flow-control packet that came first; what it says of our lanes.
    struct ControlEffect {
        uint16_t opened = 0;
        uint16_t paused = 0;
        Instant until{};  // the pause ends by itself
    };
    ControlEffect on_control(uint32_t p, Instant now);
    // Half of a pause that began then is over: time to say it again.
    Instant told_again_at(uint32_t p, Instant told_at) const;

    // The lane may not send, or may again.
    void hold(uint32_t p, uint32_t lane, Instant now);
    void let_go(uint32_t p, uint32_t lane, Instant now);

    // Credits: a packet has come, a packet has left the buffer.
    void receive_blocks(uint32_t p, uint32_t lane, uint32_t bytes) {
        in(p, lane).credits.receive(blocks_of(bytes));
    }
    void release_blocks(uint32_t p, uint32_t lane, uint32_t bytes);

    void drop(uint32_t p, uint32_t index, Drop cause);

    // A packet from another partition arrives.
    void accept(const Crossing& crossing);

    TransitStore store;
    std::vector<uint32_t> woken;      // nodes of the partition
    std::vector<std::vector<Crossing>> crossings;  // by partition
    std::vector<Captured> captured;

    Instant due(uint32_t node) const { return due_[node]; }
    void set_due(uint32_t node, Instant at) { due_[node] = at; }

private:
    void put(uint32_t p, uint32_t index, bool is_control);
    void put_here(uint32_t inbound_port, uint32_t index, bool is_control);
    Instant occupy(Port& port, Instant now, uint32_t bytes);
    Instant survive_errors(Port& port, uint32_t p, Transit& transit, Instant end);
    wire::Packet flow_control_packet(const Transit& transit) const;
    void capture(const Port& port, Instant at, const wire::Packet& packet, const Transit* transit);

    const Settings settings_;
    uint32_t lanes_;
    uint32_t capacity_blocks_;
    uint32_t update_blocks_;
    std::vector<Port> ports_;
    std::vector<LaneOut> outs_;
    std::vector<LaneIn> ins_;
    std::vector<Inbound> inbound_;
    std::vector<PortCounters> counters_;
    std::vector<ErrorModel> errors_;
    std::vector<uint64_t> fresh_;
    std::vector<Instant> due_;
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

inline void Cabling::put_here(uint32_t inbound_port, uint32_t index, bool is_control) {
    Inbound& to = inbound_[inbound_port];
    Fifo& list = is_control ? to.control : to.packets;
    if (list.empty()) {
        fresh_[inbound_port / 64] |= uint64_t{1} << (inbound_port % 64);
        const Instant at = store[index].at;
        if (at < due_[to.node]) {
            due_[to.node] = at;
            woken.push_back(to.node);
        }
    }
    list.push(store, index);
}

inline void Cabling::put(uint32_t p, uint32_t index, bool is_control) {
    const Port& from = ports_[p];
    if (!from.peer_is_elsewhere) return put_here(from.peer, index, is_control);
    crossings[from.peer_partition].push_back(
        {from.peer, is_control, store[index], store.packet(index)});
    store.give_back(index);
}

inline Instant Cabling::occupy(Port& port, Instant now, uint32_t bytes) {
    port.wire_bytes += bytes;
    if (!port.whole_nanoseconds) return port.line.send(now, bytes);
    const Duration exact = port.line.rate().time_for(bytes);
    return {now.ps + exact.ps / 1000 * 1000};
}

inline Instant Cabling::transmit(uint32_t p, uint32_t index, Instant now) {
    Port& from = ports_[p];
    Transit& transit = store[index];
    Instant end = occupy(from, now, transit.wire_bytes);
    if (!errors_[p].is_clean()) end = survive_errors(from, p, transit, end);
    if (settings_.flow_control == FlowControl::credits && transit.lane != kManagementLane)
        out(p, transit.lane).credits.spend(blocks_of(transit.wire_bytes));
    if ((transit.flags & Transit::kData) != 0)
        ++from.data_packets;
    else
        ++from.control_packets;
    from.first_packets += (transit.flags & Transit::kFirst) != 0;
    if (from.is_tapped) capture(from, end, store.packet(index), &transit);
    const Instant arrival = end + from.delay + from.peer_latency;
    transit.tail_ps = 0;
    transit.at = arrival;
    if (from.peer_cuts_through) {
        // The switch knows where to once it has the headers, not before.
        constexpr uint32_t kHeaderBytes = 64;
        const uint32_t rest = transit.wire_bytes - std::min<uint32_t>(transit.wire_bytes,
                                                                      kHeaderBytes);
        transit.tail_ps = static_cast<uint32_t>(from.line.rate().time_for(rest).ps);
        transit.at = {arrival.ps - transit.tail_ps};
    }
    put(p, index, false);
    return end;
}

}  // namespace tulle::fabric
