// Makes a Result from the state of all partitions at the end of a run.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/int128.h"
#include "sim/deadlock.h"
#include "sim/network.h"

namespace tulle::sim {

class Collector {
public:
    Collector(Network& network, Result::End end, bool program_is_done)
        : network_(network), setup_(network.setup_), all_ended_(program_is_done) {
        result_.end = end;
    }

    Result collect() {
        take_end();
        size_t ports = 0;
        for (auto& partition : network_.partitions_) ports += partition->cabling().ports();
        result_.links.reserve(ports);
        for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node) take_node(node);
        take_totals();
        result_.disagreements = network_.disagreements_;
        take_violations();
        if (network_.history_) take_control(*network_.history_);
        if (!all_ended_) take_deadlock();
        Records records = network_.take_records(Instant::never());
        result_.trace = std::move(records.trace);
        result_.captured = std::move(records.captured);
        check_conservation();
        say_why_stuck();
        return std::move(result_);
    }

    Result collect_end() {
        take_end();
        say_why_stuck();
        return std::move(result_);
    }

private:
    void take_end() {
        take_flows();
        for (auto& partition : network_.partitions_) settle(*partition);
    }

    void take_flows() {
        result_.flows.resize(setup_.flows.size());
        for (auto& partition : network_.partitions_)
            for (const cluster::FlowEnd& end : partition->ends.flows) {
                FlowResult& flow = result_.flows[end.flow];
                flow.status = end.status;
                flow.finished = end.status == transport::Status::success;
                flow.completion = end.at - setup_.flows[end.flow].start;
                result_.time = std::max(result_.time, end.at);
            }
        all_ended_ &= std::ranges::all_of(result_.flows, &FlowResult::finished);
        for (auto& partition : network_.partitions_)
            settled_ = std::max(settled_, partition->acted_until());
        settled_ = std::max(settled_, result_.time);
        if (!all_ended_ || result_.end != Result::End::done) result_.time = settled_;
    }

    // Pauses and work that are under way last until now, which may be after the last flow's end.
    void settle(cluster::Partition& partition) {
        for (cluster::HostNode& host : partition.hosts()) host.finish(settled_);
        for (fabric::Switch& node : partition.switches()) node.finish(settled_);
    }

    fabric::Cabling& cabling_of(uint32_t node) {
        return network_.partitions_[network_.locations_[node].partition]->cabling();
    }

    void take_node(uint32_t node) {
        const Network::Location& location = network_.locations_[node];
        cluster::Partition& partition = *network_.partitions_[location.partition];
        const bool is_host = setup_.graph.nodes[node].is_host();
        const fabric::Intake& intake =
            is_host ? partition.hosts()[location.place].intake()
                    : partition.switches()[location.place].storage().intake();
        for (uint16_t port = 0; port < setup_.graph.nodes[node].port_count; ++port)
            take_link(node, port);
        for (const fabric::BlameEntry& entry : intake.blame().entries()) take_blame(node, entry);
        const uint64_t events = is_host ? partition.hosts()[location.place].events()
                                        : partition.switches()[location.place].events();
        result_.engine.events += events;
    }

    void take_link(uint32_t node, uint16_t number) {
        fabric::Cabling& cabling = cabling_of(node);
        const uint32_t p = network_.locations_[node].first_port + number;
        const fabric::Port& port = cabling.port(p);
        if (port.cable == topology::kNone) return;
        const topology::Cable& cable = setup_.graph.cables[port.cable];
        const topology::CableEnd peer = port.is_a ? cable.b : cable.a;
        const fabric::PortEvents& counters = cabling.counters(p);
        LinkResult link;
        link.node = node;
        link.port = number;
        link.cable = port.cable;
        link.peer_node = peer.node;
        link.peer_port = peer.port;
        link.data_packets = port.data_packets();
        link.control_packets = port.control_packets();
        link.wire_bytes = port.wire_bytes;
        link.busy = cabling.rate(p).time_for(port.wire_bytes);
        link.flow_control_packets = port.flow_control_packets;
        link.pauses_received = counters.pauses_received;
        for (uint32_t lane = 0; lane < cabling.lanes(); ++lane) {
            const fabric::LaneWait& waiting = cabling.wait(p, lane);
            link.paused += {static_cast<int64_t>(waiting.held_ps)};
            link.was_held |= waiting.held_since != Instant{};
        }
        link.peak_queue_bytes = port.peak_queue_bytes;
        link.marked = counters.marked;
        std::ranges::copy(counters.dropped, link.dropped.begin());
        link.flows = port.first_packets();
        result_.links.push_back(link);
        result_.totals.reduced += counters.reduced;
        result_.totals.replicated += counters.replicated;
        result_.totals.words += counters.words;
        result_.totals.lost_words += counters.lost_words;
        result_.totals.trimmed += counters.trimmed;
        result_.totals.watchdog_fired += counters.watchdog_fired;
    }

    void take_blame(uint32_t node, const fabric::BlameEntry& entry) {
        const uint32_t p = network_.locations_[node].first_port + entry.in_port;
        const fabric::Port& port = cabling_of(node).port(p);
        const topology::Cable& cable = setup_.graph.cables[port.cable];
        const topology::CableEnd held_up = port.is_a ? cable.b : cable.a;
        result_.blames.push_back({held_up.node,
                                  held_up.port,
                                  entry.lane,
                                  node,
                                  entry.culprit_port,
                                  {static_cast<int64_t>(entry.ps)}});
    }

    void take_totals() {
        Totals& totals = result_.totals;
        for (const LinkResult& link : result_.links) {
            result_.engine.hops += link.data_packets + link.control_packets;
            totals.ecn_marked += link.marked;
            totals.paused += link.paused;
            for (size_t i = 0; i < kDropCauses; ++i) totals.dropped[i] += link.dropped[i];
            const bool has_credits = setup_.fabric.flow_control == fabric::FlowControl::credits;
            (has_credits ? totals.credit_packets : totals.pause_frames) +=
                link.flow_control_packets;
            if (!setup_.graph.nodes[link.node].is_host()) continue;
            totals.data_packets += link.data_packets;
            totals.control_packets += link.control_packets;
        }
        for (auto& partition : network_.partitions_)
            for (cluster::HostNode& host : partition->hosts()) {
                totals.delivered += host.delivered();
                totals.retransmitted += host.adapter().counters().retransmitted_packets;
                totals.cnps += host.adapter().counters().np_cnp_sent;
                take_work(host);
            }
    }

    // The work of a host, with every transmission of a packet, and its CPU time.
    void take_work(cluster::HostNode& host) {
        const CpuCost& cost = setup_.host.cpu;
        const transport::Counters& did = host.adapter().counters();
        result_.payload_bytes += did.port_xmit_data_bytes - did.retransmitted_bytes;
        const auto times = [](Duration each, uint64_t count) {
            return each * static_cast<int64_t>(count);
        };
        result_.cpu += times(cost.per_message_sent, host.user().messages_sent()) +
                       times(cost.per_message_received, host.user().messages_received()) +
                       times(cost.per_packet_sent, did.port_xmit_packets) +
                       times(cost.per_packet_received, did.port_rcv_packets);
        const base::uint128_t bytes_e18 =
            base::uint128_t{cost.per_byte_sent_e18} * did.port_xmit_data_bytes +
            base::uint128_t{cost.per_byte_received_e18} * did.port_rcv_data_bytes;
        result_.cpu += Duration{static_cast<int64_t>(bytes_e18 / 1'000'000)};
    }

    // A packet that was neither delivered nor dropped must be on a cable, in a queue or at a slow
    // receiver. Lists of flow-control packets are not counted.
    void check_conservation() {
        Totals& totals = result_.totals;
        uint64_t in_flight = 0;
        for (auto& partition : network_.partitions_) {
            fabric::Cabling& cabling = partition->cabling();
            in_flight += cabling.store.live();
            for (uint32_t p = 0; p < cabling.ports(); ++p)
                for (uint32_t i = cabling.inbound(p).control.head; i != fabric::kNoTransit;
                     i = cabling.store[i].next)
                    --in_flight;
        }
        totals.in_flight = in_flight;
        uint64_t dropped = 0;
        for (const uint64_t count : totals.dropped) dropped += count;
        TULLE_CHECK(totals.data_packets + totals.control_packets + totals.replicated +
                        totals.words ==
                    totals.delivered + dropped + totals.reduced + totals.in_flight);
    }

    // Turns ports of the cabling into those of the graph, so that the order is that of the graph.
    void take_violations() {
        if (!network_.tenancy_) return;
        for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node) {
            const Network::Location& location = network_.locations_[node];
            const uint32_t end = location.first_port + setup_.graph.nodes[node].port_count;
            const auto& refused = cabling_of(node).refused;
            for (auto one = refused.lower_bound({.port = location.first_port});
                 one != refused.end() && one->first.port < end; ++one)
                result_.violations.push_back(
                    {one->first.source, one->first.destination, node,
                     static_cast<uint16_t>(one->first.port - location.first_port),
                     one->first.as_sent, one->second});
        }
        std::ranges::stable_sort(result_.violations, {}, [](const Violation& one) {
            return std::tuple(one.source, one.destination);
        });
    }

    void take_control(const control::History& history) {
        ControlResult& control = result_.control;
        control.way = history.way;
        control.bring_up = history.bring_up;
        control.bring_up_messages = history.bring_up_messages;
        for (size_t i = 0; i < history.repairs.size(); ++i) {
            RepairResult repair{history.repairs[i], {}};
            for (auto& partition : network_.partitions_)
                for (size_t cause = 0; cause < kDropCauses; ++cause)
                    repair.lost[cause] += partition->cabling().losses.lost[i][cause];
            control.repairs.push_back(std::move(repair));
        }
    }

    void take_deadlock() {
        WaitGraph graph;
        std::map<std::tuple<uint32_t, uint16_t, uint8_t>, uint32_t> numbers;
        for_each_held([&](uint32_t node, uint16_t port, uint8_t lane) {
            numbers[{node, port, lane}] = static_cast<uint32_t>(graph.lanes.size());
            graph.lanes.push_back({{node, port, lane}, {}});
        });
        for (WaitGraph::Lane& lane : graph.lanes) {
            const fabric::Port& port =
                cabling_of(lane.hop.node)
                    .port(network_.locations_[lane.hop.node].first_port + lane.hop.port);
            const topology::Cable& cable = setup_.graph.cables[port.cable];
            const topology::CableEnd there = port.is_a ? cable.b : cable.a;
            if (setup_.graph.nodes[there.node].is_host()) continue;
            add_waits(there, lane, numbers);
        }
        result_.deadlock = find_circle(graph);
    }

    template <class Visitor>
    void for_each_held(Visitor&& visit) {
        for (uint32_t node = 0; node < setup_.graph.nodes.size(); ++node) {
            if (setup_.graph.nodes[node].is_host()) continue;
            fabric::Cabling& cabling = cabling_of(node);
            for (uint16_t port = 0; port < setup_.graph.nodes[node].port_count; ++port) {
                const uint32_t p = network_.locations_[node].first_port + port;
                const uint16_t held = cabling.port(p).held & cabling.port(p).filled;
                for (uint8_t lane = 0; lane < cabling.lanes(); ++lane)
                    if ((held >> lane & 1) != 0) visit(node, port, lane);
            }
        }
    }

    // Packets at `there` that came through its port and lane, and the held lanes in which they
    // wait.
    template <class Numbers>
    void add_waits(topology::CableEnd there, WaitGraph::Lane& lane, const Numbers& numbers) {
        fabric::Cabling& cabling = cabling_of(there.node);
        const uint32_t first = network_.locations_[there.node].first_port;
        for (uint16_t out = 0; out < setup_.graph.nodes[there.node].port_count; ++out)
            for (uint8_t l = 0; l < cabling.lanes(); ++l) {
                const auto found = numbers.find({there.node, out, l});
                if (found == numbers.end()) continue;
                const fabric::Fifo& queue = cabling.out(first + out, l).queue;
                for (uint32_t i = queue.head; i != fabric::kNoTransit; i = cabling.store[i].next) {
                    const fabric::Transit& transit = cabling.store[i];
                    if (transit.in_port != there.port || transit.in_lane != lane.hop.lane) continue;
                    lane.waits_for.push_back(found->second);
                    break;
                }
            }
    }

    void say_why_stuck() {
        const auto stuck = std::ranges::count_if(
            result_.flows, [](const FlowResult& flow) { return !flow.has_ended(); });
        if (stuck == 0 || result_.end != Result::End::done) return;
        result_.end = Result::End::stuck;
        result_.stuck_reason = "nothing can happen any more: " + std::to_string(stuck) +
                               " flows have not finished, and no packet, timer or event is left";
    }

    Network& network_;
    const Setup& setup_;
    Result result_;
    bool all_ended_;     // flows and the program
    Instant settled_{};  // the time of the last event
};

Result Network::finish(Result::End end, bool program_is_done) {
    return Collector(*this, end, program_is_done).collect();
}

void Network::leave_out_management_after(Instant end, Result& result) {
    if (!history_ || history_->management.empty()) return;
    const auto place = [](const LinkResult& link) { return std::tuple(link.node, link.port); };
    const auto cabling_of = [&](const LinkResult& link) -> fabric::Cabling& {
        return partitions_[locations_[link.node].partition]->cabling();
    };
    const auto port_of = [&](const LinkResult& link) {
        return locations_[link.node].first_port + link.port;
    };
    for (LinkResult& link : result.links)
        link.wire_bytes -= cabling_of(link).counters(port_of(link)).management_bytes;
    for (const control::ManagementSent& sent : history_->management)
        if (sent.at <= end)
            std::ranges::lower_bound(result.links, std::tuple(sent.from.node, sent.from.port), {},
                                     place)
                ->wire_bytes += sent.bytes;
    for (LinkResult& link : result.links)
        link.busy = cabling_of(link).rate(port_of(link)).time_for(link.wire_bytes);
}

Result Network::finish_briefly(Result::End end, bool program_is_done) {
    return Collector(*this, end, program_is_done).collect_end();
}

}  // namespace tulle::sim
