#include "report/ideal.h"

#include <algorithm>

#include "cluster/framing.h"
#include "wire/opcode.h"

namespace tulle::report {
namespace {

using base::Duration;
using sim::Verb;

constexpr int64_t kPicosecondsPerNanosecond = 1'000;
constexpr uint64_t kHeaderBytes = 64;  // that a switch must receive, see fabric/cabling.cc

// The packets of a message. A message of one packet has only a last one.
struct Packets {
    uint64_t count = 0;
    uint64_t first = 0;  // bytes on the wire
    uint64_t middle = 0;
    uint64_t last = 0;
};

constexpr wire::Operation opcode_of(Verb operation, bool is_first, bool is_last) {
    using Wire = wire::Operation;
    const auto pick = [&](Wire only, Wire first, Wire middle, Wire last) {
        return is_first ? (is_last ? only : first) : (is_last ? last : middle);
    };
    switch (operation) {
        case Verb::write:
            return pick(Wire::write_only, Wire::write_first, Wire::write_middle, Wire::write_last);
        case Verb::send:
            return pick(Wire::send_only, Wire::send_first, Wire::send_middle, Wire::send_last);
        case Verb::read: break;
    }
    return pick(Wire::read_response_only, Wire::read_response_first, Wire::read_response_middle,
                Wire::read_response_last);
}

uint64_t wire_bytes(const sim::Setup& setup, wire::Operation opcode, uint64_t payload) {
    wire::Packet packet;
    packet.opcode = static_cast<uint8_t>(opcode);
    packet.payload_length = static_cast<uint32_t>(payload);
    return cluster::Framing(setup.fabric).wire_bytes(packet);
}

Packets packets_of(const sim::Setup& setup, const sim::Flow& flow) {
    const uint64_t mtu = setup.host.mtu;
    Packets packets;
    packets.count = std::max<uint64_t>(1, (flow.bytes + mtu - 1) / mtu);
    const uint64_t rest = flow.bytes - (packets.count - 1) * mtu;
    const bool is_only = packets.count == 1;
    packets.first = data_wire_bytes(setup, flow.operation, mtu, true, false);
    packets.middle = data_wire_bytes(setup, flow.operation, mtu, false, false);
    packets.last = data_wire_bytes(setup, flow.operation, rest, is_only, true);
    return packets;
}

bool cuts_through(const sim::Setup& setup) {
    return setup.fabric.node.forwarding == fabric::Forwarding::cut_through;
}

// The times of one link: its row in the table.
struct Cells {
    Duration first;
    Duration middle;
    Duration all_middle;
    Duration last;
};

Duration slowest_link(const std::vector<Cells>& table) {
    Duration slowest{};
    for (const Cells& cells : table)
        slowest = std::max(slowest, cells.first + cells.all_middle + cells.last);
    return slowest;
}

Duration longest_way_of_two(const std::vector<Cells>& table) {
    Duration longest{};
    for (size_t turn = 0; turn < table.size(); ++turn) {
        Duration way = table[turn].first + table[turn].last;
        for (size_t i = 0; i < turn; ++i) way += table[i].first;
        for (size_t i = turn + 1; i < table.size(); ++i) way += table[i].last;
        longest = std::max(longest, way);
    }
    return longest;
}

// The first packet up to link `leaves`; middle packets from there to `enters`, at least one per
// link and all others on the slowest; then the last packet to the end.
Duration longest_way(const std::vector<Cells>& table) {
    Duration longest{};
    Duration first{};
    for (size_t leaves = 0; leaves < table.size(); ++leaves) {
        first += table[leaves].first;
        Duration each{};
        Duration waiting{};
        for (size_t enters = leaves; enters < table.size(); ++enters) {
            const Cells& cells = table[enters];
            each += cells.middle;
            waiting = std::max(waiting, cells.all_middle - cells.middle);
            Duration last{};
            for (size_t i = enters; i < table.size(); ++i) last += table[i].last;
            longest = std::max(longest, first + each + waiting + last);
        }
    }
    return longest;
}

}  // namespace

uint64_t data_wire_bytes(const sim::Setup& setup, Verb operation, uint64_t payload, bool is_first,
                         bool is_last) {
    return wire_bytes(setup, opcode_of(operation, is_first, is_last), payload);
}

uint64_t flow_wire_bytes(const sim::Setup& setup, const sim::Flow& flow) {
    const Packets packets = packets_of(setup, flow);
    if (packets.count == 1) return packets.last;
    return packets.first + (packets.count - 2) * packets.middle + packets.last;
}

Ideal::Ideal(const sim::Setup& setup, const Routes& routes)
    : setup_(&setup), routes_(&routes), ports_(setup.graph), hosts_(setup.graph.endpoints()) {}

std::vector<topology::CableEnd> Ideal::path(const sim::Flow& flow) const {
    if (flow.path >= 0) return along(setup_->paths[static_cast<size_t>(flow.path)].data);
    return routes_->path(hosts_[flow.source], hosts_[flow.destination]);
}

std::vector<topology::CableEnd> Ideal::along(const std::vector<uint32_t>& nodes) const {
    std::vector<topology::CableEnd> ends;
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
        const auto links = ports_.of(nodes[i]);
        const auto link = std::find_if(links.begin(), links.end(), [&](const auto& candidate) {
            return candidate.is_cabled() && candidate.peer.node == nodes[i + 1];
        });
        if (link == links.end()) return {};
        ends.push_back({nodes[i], static_cast<uint16_t>(link - links.begin())});
    }
    return ends;
}

std::vector<Ideal::Link> Ideal::links_of(const std::vector<topology::CableEnd>& path) const {
    std::vector<Link> links;
    for (const topology::CableEnd end : path) {
        const uint32_t cable = ports_.at(end).cable;
        links.push_back({cable_rate(*setup_, cable),
                         cable_delay(*setup_, cable) + setup_->fabric.link.fec_delay});
    }
    return links;
}

Duration Ideal::time_on(const Link& link, uint64_t packet_bytes, uint64_t packets) const {
    if (!setup_->fabric.link.whole_nanoseconds) return link.rate.time_for(packet_bytes * packets);
    const Duration one = link.rate.time_for(packet_bytes);
    return {one.ps / kPicosecondsPerNanosecond * kPicosecondsPerNanosecond *
            static_cast<int64_t>(packets)};
}

// Cables and switches on the path, and the packets one after another on each link.
Duration Ideal::message(const sim::Flow& flow, const std::vector<Link>& links) const {
    const Packets packets = packets_of(*setup_, flow);
    if (packets.count == 1) return single(packets.last, links);
    std::vector<Cells> table;
    for (const Link& link : links)
        table.push_back({time_on(link, packets.first, 1), time_on(link, packets.middle, 1),
                         time_on(link, packets.middle, packets.count - 2),
                         time_on(link, packets.last, 1)});
    return way(packets.first, links) + (cuts_through(*setup_) ? slowest_link(table)
                                        : packets.count == 2  ? longest_way_of_two(table)
                                                              : longest_way(table));
}

// Cables, switches, and the headers that a switch must receive before it cuts through.
Duration Ideal::way(uint64_t packet_bytes, const std::vector<Link>& links) const {
    Duration way{};
    for (size_t i = 0; i < links.size(); ++i) {
        way += links[i].delay;
        if (i + 1 == links.size()) break;
        way += setup_->fabric.node.latency;
        if (cuts_through(*setup_))
            way += time_on(links[i], std::min(packet_bytes, kHeaderBytes), 1);
    }
    return way;
}

Duration Ideal::single(uint64_t packet_bytes, const std::vector<Link>& links) const {
    Duration sending{};
    for (const Link& link : links) {
        const Duration one = time_on(link, packet_bytes, 1);
        sending = cuts_through(*setup_) ? std::max(sending, one) : sending + one;
    }
    return sending + way(packet_bytes, links);
}

Duration Ideal::of(const sim::Flow& flow) const {
    const std::vector<Link> links = links_of(path(flow));
    const bool is_read = flow.operation == Verb::read;
    const uint64_t other_way = wire_bytes(
        *setup_, is_read ? wire::Operation::read_request : wire::Operation::acknowledge, 0);
    const sim::HostSettings& source = setup_->host_of(hosts_[flow.source]);
    const sim::HostSettings& destination = setup_->host_of(hosts_[flow.destination]);
    return source.send_latency + message(flow, links) + single(other_way, links) +
           source.receive_latency + destination.receive_latency + memory(flow, links);
}

// The first packet comes from memory, and the last goes there, after the one before it.
Duration Ideal::memory(const sim::Flow& flow, const std::vector<Link>& links) const {
    const bool is_read = flow.operation == Verb::read;
    const auto at = [&](uint32_t end) -> const transport::MemoryAccess& {
        return setup_->host_of(hosts_[end]).memory;
    };
    const transport::MemoryAccess& from = at(is_read ? flow.destination : flow.source);
    const transport::MemoryAccess& to = at(is_read ? flow.source : flow.destination);
    const uint64_t mtu = setup_->host.mtu;
    const bool is_fetched = flow.bytes > (is_read ? 0 : from.max_inline);
    const Duration fetch = is_fetched ? from.fetch(std::min(flow.bytes, mtu)) : Duration{};
    const uint64_t last = flow.bytes == 0 ? 0 : (flow.bytes - 1) % mtu + 1;
    if (flow.bytes <= mtu || links.empty()) return fetch + to.store(last);
    const Duration between = time_on(links.back(), packets_of(*setup_, flow).last, 1);
    return fetch + std::max(to.store(last), to.store(mtu) - between);
}

Duration Ideal::of_hpcc(const sim::Flow& flow) const {
    const std::vector<Link> links = links_of(path(flow));
    if (links.empty()) return {};
    Duration round_trip{};
    base::Rate slowest = links.front().rate;
    for (const Link& link : links) {
        round_trip += link.delay * 2 + link.rate.time_for(setup_->host.mtu);
        slowest = std::min(slowest, link.rate);
    }
    return round_trip + slowest.time_for(flow_wire_bytes(*setup_, flow));
}

}  // namespace tulle::report
