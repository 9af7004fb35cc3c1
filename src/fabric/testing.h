// One switch on a bench, for the tests of this room: what comes in is put there by hand, with the
// instant at which it is complete; what goes out lies at the other end of the port, with the
// instant at which its last bit has left.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "fabric/switch.h"
#include "topology/spec.h"

namespace tulle::fabric::testing {

struct BenchOptions {
    Settings settings{};
    uint32_t lanes = 1;
    uint32_t headroom_bytes = 0;
    std::vector<NodeChange> changes{};
    Groups groups{};
    std::vector<uint32_t> neighbours{};      // where switches warn each other
    std::vector<uint16_t> ports_to_hosts{};  // where they hold up sources
};

struct Arriving {
    uint32_t destination = 0;
    uint16_t bytes = 1000;
    uint8_t lane = 0;
    uint32_t flow = 0;
    uint8_t flags = Transit::kData;
    uint32_t source = 0;
    uint32_t psn = 0;
    uint32_t tail_ps = 0;  // cut-through
};

class SwitchBench {
public:
    // A node of the graph; its ports are numbered as there.
    SwitchBench(const topology::Graph& graph, uint32_t node, BenchOptions options)
        : options_(std::move(options)),
          routes_(Routes::compute(graph, RouteKind::shortest)),
          cabling_(options_.settings, options_.lanes, 1),
          ports_(graph.nodes[node].port_count) {
        cabling_.reserve(2u * ports_);
        cabling_.add_node();
        for (const bool outside : {false, true}) {
            for (uint16_t p = 0; p < ports_; ++p) add_port(outside, p);
            if (outside) cabling_.add_node();
        }
        SwitchPlan plan;
        plan.node = node;
        plan.port_count = ports_;
        plan.seed = 1;
        plan.routes = &routes_;
        plan.paths = &paths_;
        plan.groups = &options_.groups;
        plan.ets = options_.settings.ets;
        plan.changes = options_.changes;
        plan.trace = &trace;
        plan.neighbours = options_.neighbours;
        switch_ = std::make_unique<Switch>(options_.settings, cabling_, plan);
        switch_->begin();
    }
    // A star of so many hosts: host and port have the same number.
    SwitchBench(uint16_t hosts, const BenchOptions& options)
        : SwitchBench(*topology::build_spec("star:" + std::to_string(hosts)), hosts, options) {}

    void arrive(Instant at, uint16_t port, const Arriving& packet) {
        Transit transit;
        transit.at = at;
        transit.destination = packet.destination;
        transit.wire_bytes = packet.bytes;
        transit.lane = packet.lane;
        transit.flow = packet.flow;
        transit.flags = packet.flags;
        transit.tail_ps = packet.tail_ps;
        wire::Packet whole;
        whole.payload_length = packet.bytes - 100u;
        whole.source = packet.source;
        whole.set_psn({packet.psn});
        cabling_.take_over({port, false, transit, whole, {}, kNowhere, {}});
    }
    // Control packets as Cabling describes them.
    void pause(Instant at, uint16_t port, uint16_t lanes, uint32_t quanta) {
        control(at, port, 0, lanes, quanta);
    }
    void resume(Instant at, uint16_t port, uint16_t lanes) {
        control(at, port, 0, uint32_t{lanes} << 16, 0);
    }
    void grant(Instant at, uint16_t port, uint8_t lane, uint32_t limit) {
        control(at, port, lane, limit, 0);
    }

    void warn(Instant at, uint16_t port, uint32_t full, bool begins) {
        control(at, port, 0, full, begins ? 1 : 0, 1);
    }

    void run(Instant until = Instant::never()) { switch_->advance(until); }

    // What has left the port since it was asked last.
    std::vector<Transit> sent(uint16_t port) {
        return take(cabling_.inbound(ports_ + port).packets);
    }
    std::vector<wire::Packet> sent_packets(uint16_t port) {
        std::vector<wire::Packet> packets;
        for (uint32_t i = cabling_.inbound(ports_ + port).packets.head; i != kNoTransit;
             i = cabling_.store[i].next)
            packets.push_back(cabling_.store.packet(i));
        sent(port);
        return packets;
    }
    std::vector<Transit> told(uint16_t port) {
        return take(cabling_.inbound(ports_ + port).control);
    }

    Cabling& cabling() { return cabling_; }
    Port& port(uint16_t p) { return cabling_.port(p); }
    Switch& node() { return *switch_; }
    uint64_t dropped(uint16_t port, Drop cause) {
        return cabling_.counters(port).dropped[static_cast<size_t>(cause)];
    }

    FixedPaths paths_;
    std::vector<TraceSample> trace;

private:
    void add_port(bool outside, uint16_t p) {
        const Settings& s = options_.settings;
        Port port(s.link.rate);
        port.leads_to_host = !outside && std::ranges::find(options_.ports_to_hosts, p) !=
                                             options_.ports_to_hosts.end();
        port.peer = outside ? p : ports_ + p;
        port.headroom_bytes = options_.headroom_bytes;
        if (s.flow_control == FlowControl::pfc)
            port.lossless = port.honours_pause = s.pfc.priorities;
        port.settle();
        cabling_.add_port(port, s.link.rate, {0, 0, base::RandomStream({})}, outside ? 1 : 0);
    }
    void control(Instant at, uint16_t port, uint8_t lane, uint32_t what, uint32_t amount,
                 uint8_t hops = 0) {
        Transit transit;
        transit.hops = hops;
        transit.at = at;
        transit.lane = lane;
        transit.destination = what;
        transit.flow = amount;
        cabling_.take_over({port, true, transit, wire::Packet(), {}, kNowhere, {}});
    }
    std::vector<Transit> take(Fifo& list) {
        std::vector<Transit> taken;
        while (!list.empty()) {
            const uint32_t index = list.pop(cabling_.store);
            taken.push_back(cabling_.store[index]);
            cabling_.store.give_back(index);
        }
        return taken;
    }

    BenchOptions options_;
    Routes routes_;
    Cabling cabling_;
    uint16_t ports_;
    std::unique_ptr<Switch> switch_;
};

}  // namespace tulle::fabric::testing
