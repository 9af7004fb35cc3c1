// The network between the adapters: it loses, doubles, reorders, delays and damages packets, each
// with the chance that the seed gives.
//
// Some packets go through bytes: encoded on one side, parsed on the other. All packets that are
// damaged do; the receiver's check of the ICRC has to find them out. A bit that the ICRC does not
// cover is left to the link's own check, which would have found it on its one hop.
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

    uint32_t take_off(Link& link, const wire::Packet& sent, bool damaged);
    void mark(wire::Packet& packet) const;
    base::Instant arrival_of(Link& link, base::Instant now, bool& disturbed);
    void note_trouble(const wire::Packet& packet);
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
    const size_t count = world_.stations.size();
    if (packet.destination == 0 || packet.destination > count)
        throw Failure("a packet was sent to nobody");
    Link& link = links_[(packet.source - 1) * count + packet.destination - 1];
    const Faults& faults = world_.faults;
    ++tally_.packets;
    const bool lost = link.draw.per_million(faults.loss);
    const bool doubled = link.draw.per_million(faults.doubling);
    const bool damaged = link.draw.per_million(faults.damage);
    bool disturbed = lost || doubled || damaged;
    // One draw after the other: compilers differ in the order of arguments.
    const auto fly = [&](bool is_damaged) {
        const base::Instant at = arrival_of(link, now, disturbed);
        launch(at, take_off(link, packet, is_damaged));
    };
    if (!lost) fly(damaged);
    if (doubled) fly(false);
    if (disturbed) note_trouble(packet);
}

}  // namespace tulle::swarm
