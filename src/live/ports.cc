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

bool Ports::take(uint8_t protocol, uint16_t port, Descriptor& held) const {
    held = take_name(world_.realm(), "bound/" + std::to_string(protocol) + "/" +
                                         std::to_string(world_.identity().rank) + "/" +
                                         std::to_string(port));
    return static_cast<bool>(held);
}

bool Ports::show(uint8_t protocol, uint16_t port, const wire::Gid& address) {
    for (PortNote& note : world_.board().ports) {
        if (note.number.load() != 0) continue;
        note.address = address;
        note.number.store(number_of(protocol, port));
        waiting_[number_of(protocol, port)] = waiting_name(number_of(protocol, port));
        return true;
    }
    return false;
}

void Ports::hide(uint8_t protocol, uint16_t port) {
    for (PortNote& note : world_.board().ports)
        if (note.number.load() == number_of(protocol, port)) note.number.store(0);
    waiting_.erase(number_of(protocol, port));
}

void Ports::show_group() {
    if (!waiting_.contains(0)) waiting_[0] = waiting_name(0);
}

// Says to whoever looks at the machine's sockets that this process waits for others.
Descriptor Ports::waiting_name(uint32_t number) const {
    return take_name(world_.realm(),
                     "port/" + std::to_string(world_.slot()) + "/" + std::to_string(number));
}

transport::EndpointIndex Ports::find(uint8_t protocol, uint16_t port, const wire::Gid& address) {
    const uint32_t number = number_of(protocol, port);
    if (world_.is_elsewhere(address)) return world_.resolve_remote(address);
    world_.lose_the_dead();
    if (const auto known = find_listener(number, address); known != World::kNowhere) return known;
    world_.meet_slots(marked_slots(world_.realm()));
    if (const auto marked = find_listener(number, address); marked != World::kNowhere)
        return marked;
    world_.meet_all();
    return find_listener(number, address);
}

// Among those who are known.
transport::EndpointIndex Ports::find_listener(uint32_t number, const wire::Gid& address) {
    if (listens(world_.at(0).facts, world_.board(), number, address)) return {0};
    for (uint32_t index = 1; index < world_.size(); ++index) {
        const Peer& peer = world_.at(index);
        if (!peer.is_gone && peer.has_board() && listens(peer.facts, peer.board(), number, address))
            return {index};
    }
    return World::kNowhere;
}

}  // namespace tulle::live
