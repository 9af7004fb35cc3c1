#include "live/ports.h"

#include <algorithm>

namespace tulle::live {
namespace {

uint32_t number_of(uint8_t protocol, uint16_t port) {
    return uint32_t{protocol} << 16 | port;
}

bool is_any(const wire::Gid& address) {
    return address == wire::Gid{} || address == wire::gid_of(wire::Ipv4Address{});
}

// 127.p.d.n is port p + 1 of device d of host n - 1. Every other address of the machine stands for
// any listener.
bool may_be_host(const wire::Gid& address, const Facts& facts) {
    const auto& b = address.bytes;
    const bool is_loopback = b[10] == 0xff && b[11] == 0xff && b[12] == 127;
    return !is_loopback ||
           (b[13] < facts.port_count && b[14] == facts.device && b[15] == facts.rank + 1);
}

bool listens(const Facts& facts, const Board& board, uint32_t number, const wire::Gid& address) {
    if (!may_be_host(address, facts)) return false;
    return std::ranges::any_of(board.ports, [&](const PortNote& note) {
        return note.number.load() == number && (is_any(note.address) || note.address == address);
    });
}

// One for each port of an adapter of a host, by number_of().
std::string bound_name(uint32_t number, uint32_t rank, uint32_t device) {
    std::string owner = std::to_string(rank);
    if (device != 0) owner.append(".").append(std::to_string(device));
    return "bound/" + std::to_string(number >> 16) + "/" + owner + "/" +
           std::to_string(number & 0xffff);
}

}  // namespace

bool Ports::take(uint8_t protocol, uint16_t port, Descriptor& held) const {
    const Identity& who = world_.own().identity();
    const Realm& realm = world_.own().realm();
    held = take_name(realm, bound_name(number_of(protocol, port), who.rank, who.device));
    return held && (!realm.is_shared || show_holder(held.get()));
}

bool Ports::show(uint8_t protocol, uint16_t port, const wire::Gid& address) {
    for (PortNote& note : world_.own().board().ports) {
        if (note.number.load() != 0) continue;
        note.address = address;
        note.number.store(number_of(protocol, port));
        waiting_[number_of(protocol, port)] = waiting_name(number_of(protocol, port));
        return true;
    }
    return false;
}

void Ports::hide(uint8_t protocol, uint16_t port) {
    for (PortNote& note : world_.own().board().ports)
        if (note.number.load() == number_of(protocol, port)) note.number.store(0);
    waiting_.erase(number_of(protocol, port));
}

void Ports::show_group() {
    if (!waiting_.contains(0)) waiting_[0] = waiting_name(0);
}

// Shows in the machine's list of sockets that this process waits for others.
Descriptor Ports::waiting_name(uint32_t number) const {
    return take_name(world_.own().realm(),
                     "port/" + std::to_string(world_.own().slot()) + "/" + std::to_string(number));
}

transport::EndpointIndex Ports::find_known(uint8_t protocol, uint16_t port,
                                           const wire::Gid& address) {
    if (world_.own().is_elsewhere(address)) return world_.resolve_remote(address);
    world_.lose_the_dead();
    return find_listener(number_of(protocol, port), address);
}

transport::EndpointIndex Ports::find(uint8_t protocol, uint16_t port, const wire::Gid& address) {
    const auto known = find_known(protocol, port, address);
    if (known != World::kNowhere || world_.own().is_elsewhere(address)) return known;
    const uint32_t number = number_of(protocol, port);
    world_.meet_slots(marked_slots(world_.own().realm()));
    if (const auto marked = find_listener(number, address); marked != World::kNowhere)
        return marked;
    world_.meet_all();
    return find_listener(number, address);
}

// A board may say anything. A process of our own user could reach us anyway; any other has to hold
// the port.
bool Ports::is_listener(const Peer& peer, uint32_t number) const {
    const Realm& realm = world_.own().realm();
    return realm.is_own(peer.who) ||
           holder_of(realm, bound_name(number, peer.facts.rank, peer.facts.device)) == peer.who;
}

// Searches known processes on the same kind of link. If the address does not name the device, one
// with the number of ours is preferred.
transport::EndpointIndex Ports::find_listener(uint32_t number, const wire::Gid& address) {
    const Identity& who = world_.own().identity();
    transport::EndpointIndex found = World::kNowhere;
    for (uint32_t index = 0; index < world_.size(); ++index) {
        const Peer& peer = world_.at(index);
        const bool is_shown = index == 0 || peer.has_board();
        if (peer.is_gone || !is_shown || peer.facts.is_ethernet != who.is_ethernet ||
            !listens(peer.facts, world_.board_of({index}), number, address))
            continue;
        if (index != 0 && !is_listener(peer, number)) continue;
        if (peer.facts.device == who.device) return {index};
        if (found == World::kNowhere) found = {index};
    }
    return found;
}

bool Ports::is_on_other_link(uint8_t protocol, uint16_t port, const wire::Gid& address) {
    for (uint32_t index = 1; index < world_.size(); ++index) {
        const Peer& peer = world_.at(index);
        if (!peer.is_gone && peer.has_board() &&
            peer.facts.is_ethernet != world_.own().identity().is_ethernet &&
            listens(peer.facts, peer.board(), number_of(protocol, port), address))
            return true;
    }
    return false;
}

}  // namespace tulle::live
