// Ports of the connection manager: who listens where.
#include <algorithm>

#include "live/host.h"

namespace tulle::live {
namespace {

uint32_t number_of(uint8_t protocol, uint16_t port) {
    return uint32_t{protocol} << 16 | port;
}

bool is_any(const wire::Gid& address) {
    return address == wire::Gid{} || address == wire::gid_of(wire::Ipv4Address{});
}

// 127.0.0.n is host n - 1; every other address of the machine is whoever listens.
bool may_be_host(const wire::Gid& address, uint32_t rank) {
    const auto& b = address.bytes;
    const bool is_loopback = b[10] == 0xff && b[11] == 0xff && b[12] == 127;
    return !is_loopback || (b[13] == 0 && b[14] == 0 && b[15] == rank + 1);
}

bool listens(const Facts& facts, const Board& board, uint32_t number, const wire::Gid& address) {
    if (!may_be_host(address, facts.rank)) return false;
    return std::ranges::any_of(board.ports, [&](const PortNote& note) {
        return note.number.load() == number && (is_any(note.address) || note.address == address);
    });
}

}  // namespace

bool Host::take_port(uint8_t protocol, uint16_t port, Descriptor& held) const {
    held = take_name(world_, "bound/" + std::to_string(protocol) + "/" + std::to_string(who_.rank) +
                                 "/" + std::to_string(port));
    return static_cast<bool>(held);
}

bool Host::show_port(uint8_t protocol, uint16_t port, const wire::Gid& address) {
    for (PortNote& note : board().ports) {
        if (note.number.load() != 0) continue;
        note.address = address;
        note.number.store(number_of(protocol, port));
        waiting_[number_of(protocol, port)] = waiting_name(number_of(protocol, port));
        return true;
    }
    return false;
}

void Host::hide_port(uint8_t protocol, uint16_t port) {
    for (PortNote& note : board().ports)
        if (note.number.load() == number_of(protocol, port)) note.number.store(0);
    waiting_.erase(number_of(protocol, port));
}

void Host::show_group() {
    if (!waiting_.contains(0)) waiting_[0] = waiting_name(0);
}

// Says to whoever looks at the machine's sockets that this process waits for others.
Descriptor Host::waiting_name(uint32_t number) const {
    return take_name(world_, "port/" + std::to_string(slot_) + "/" + std::to_string(number));
}

transport::EndpointIndex Host::find_port(uint8_t protocol, uint16_t port,
                                         const wire::Gid& address) {
    const uint32_t number = number_of(protocol, port);
    // A listener that was killed may have a successor in its slot before anybody has looked.
    for (uint32_t index = 1; index < peers_.size(); ++index)
        if (!peers_[index]->is_gone && peers_[index]->is_dead()) lose_peer(index);
    if (const auto known = find_listener(number, address); known != kNowhere) return known;
    meet_slots(marked_slots(world_));
    if (const auto marked = find_listener(number, address); marked != kNowhere) return marked;
    meet_all();
    return find_listener(number, address);
}

// Among those who are known.
transport::EndpointIndex Host::find_listener(uint32_t number, const wire::Gid& address) {
    if (listens(peers_[0]->facts, board(), number, address)) return {0};
    for (uint32_t index = 1; index < peers_.size(); ++index) {
        const Peer& peer = *peers_[index];
        if (!peer.is_gone && listens(peer.facts, peer.board(), number, address)) return {index};
    }
    return kNowhere;
}

}  // namespace tulle::live
