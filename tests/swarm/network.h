// The network between the adapters: it loses, doubles, reorders, delays, damages, trims and marks
// packets, each with the chance that the seed gives.
//
// Some packets go through bytes: encoded on one side, parsed on the other. All packets that are
// damaged do; the receiver's check of the ICRC has to find them out. A bit that the ICRC does not
// cover is left to the link's own check, which would have found it on its one hop.
//
// Each adapter has two ports, so that there is a path to migrate to. What goes to a group is copied
// for each other adapter that has members: the sender's own has brought it to its members itself.
#pragma once

#include <optional>

#include "model.h"

namespace tulle::swarm {

struct Flight {
    wire::Packet packet;
    std::vector<std::byte> payload;
    std::vector<std::byte> bytes;  // if it goes as bytes
    uint32_t to = 0;               // adapter
    bool damaged = false;
};

class Network {
public:
    Network(World& world, Tally& tally);

    // Takes a packet that an adapter sends now. Calls launch(arrival, index of the flight) for each
    // copy that will arrive.
    template <class Launch>
    void send(base::Instant now, const wire::Packet& packet, Launch&& launch);

    // What the receiver finds; nothing if it has to drop it. Valid until the next call.
    std::optional<wire::Packet> arrive(uint32_t flight);
    uint32_t destination(uint32_t flight) const { return flights_[flight].to; }
    void release(uint32_t flight) { free_.push_back(flight); }

private:
    struct Link {
        Draw draw;
        Draw marks;
        base::Instant last_arrival{};
    };

    template <class Launch>
    void send_to(base::Instant now, const wire::Packet& packet, uint32_t to, Launch&& launch);
    // The adapter that has a port with this address.
    uint32_t station_at(uint32_t endpoint) const;
    bool has_members(uint32_t group, uint32_t station) const;
    bool is_cut(const wire::Packet& packet, uint32_t to) const;
    uint32_t take_off(Link& link, const wire::Packet& sent, uint32_t to, bool damaged);
    // The packet without its payload; false if it has none to cut off.
    bool trim(Link& link, wire::Packet& packet) const;
    void mark(wire::Packet& packet) const;
    base::Instant arrival_of(Link& link, base::Instant now, bool& disturbed);
    void note_trouble(const wire::Packet& packet, uint32_t to);
    wire::Path path_of(const wire::Packet& packet) const;
    void damage(Link& link, std::vector<std::byte>& bytes);

    World& world_;
    Tally& tally_;
    std::vector<Link> links_;  // from each adapter to each
    std::vector<Flight> flights_;
    std::vector<uint32_t> free_;
};

template <class Launch>
void Network::send(base::Instant now, const wire::Packet& packet, Launch&& launch) {
    if (packet.destination < kFirstGroup) {
        send_to(now, packet, station_at(packet.destination), launch);
        return;
    }
    for (uint32_t i = 0; i < world_.stations.size(); ++i)
        if (i + 1 != packet.source && has_members(packet.destination, i))
            send_to(now, packet, i, launch);
}

template <class Launch>
void Network::send_to(base::Instant now, const wire::Packet& packet, uint32_t to, Launch&& launch) {
    Link& link = links_[(packet.source - 1) * world_.stations.size() + to];
    wire::Packet sent = packet;
    const Faults& faults = world_.faults;
    ++tally_.packets;
    const bool lost = link.draw.per_million(faults.loss) || is_cut(packet, to);
    const bool doubled = link.draw.per_million(faults.doubling) && !is_cut(packet, to);
    const bool damaged = link.draw.per_million(faults.damage);
    const bool trimmed = !damaged && trim(link, sent);
    bool disturbed = lost || doubled || damaged || trimmed;
    if (trimmed && !lost) ++tally_.trimmed;
    // One draw after the other: compilers differ in the order of arguments.
    const auto fly = [&](bool is_damaged) {
        const base::Instant at = arrival_of(link, now, disturbed);
        launch(at, take_off(link, sent, to, is_damaged));
    };
    if (!lost) fly(damaged);
    if (doubled) fly(false);
    if (disturbed) note_trouble(packet, to);
}

}  // namespace tulle::swarm
