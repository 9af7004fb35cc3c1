// How a host meets other processes, and how it parts from them.
//
// A process that is new in a slot listens there, so the one known before has left. The end point of
// a process that has left is reused once no queue pair is connected to it and a while has passed: a
// completion may still name it.
#include <algorithm>
#include <utility>

#include "live/clock.h"
#include "live/watch.h"
#include "live/world.h"

namespace tulle::live {
namespace {

using base::Instant;
using transport::EndpointIndex;

constexpr base::Duration kReuseAfter{10'000'000'000'000};  // 10 s, chosen
constexpr uint32_t kMostOfAnotherUser = 64;                // chosen: a quarter of all slots
constexpr size_t kMostRemote = 4096;                       // chosen: addresses of other machines

// The index of a new end point.
uint32_t free_place(std::span<const std::unique_ptr<Peer>> peers, Instant time) {
    for (uint32_t index = 1; index < peers.size(); ++index) {
        const Peer& peer = *peers[index];
        if (peer.is_gone && peer.connections == 0 && time > peer.gone_at + kReuseAfter)
            return index;
    }
    return static_cast<uint32_t>(peers.size());
}

}  // namespace

bool World::is_known(uint32_t slot) {
    const auto known = by_slot_.find(slot);
    if (known == by_slot_.end()) return false;
    if (known->second == 0) return true;
    Peer& peer = *peers_[known->second];
    return !peer.is_gone && (peer.can_send() || call_peer(peer));
}

EndpointIndex World::resolve_slot(uint32_t slot) {
    if (slot >= kSlots) return kNowhere;
    if (!is_known(slot)) {
        meet_slots(std::span(&slot, 1));
        (void)is_known(slot);  // calls the process if we know it only by its own call
    }
    const auto found = by_slot_.find(slot);
    if (found == by_slot_.end()) return kNowhere;
    if (found->second == 0) return EndpointIndex{0};
    const Peer& peer = *peers_[found->second];
    return peer.is_gone || !peer.can_send() ? kNowhere : EndpointIndex{found->second};
}

void World::notice_death(wire::Qpn qpn) {
    const auto known = by_slot_.find(slot_of(qpn));
    if (known == by_slot_.end() || known->second == 0) return;
    const Peer& peer = *peers_[known->second];
    if (!peer.is_gone && peer.is_dead()) lose_peer(known->second);
}

EndpointIndex World::resolve(const Destination& destination, wire::Qpn qpn) {
    if (destination.has_gid && is_multicast(destination.gid)) return kNowhere;
    if (destination.has_gid && own_.is_elsewhere(destination.gid)) {
        const bool is_named = destination.own_gid < own_.identity().gids.size() &&
                              wire::is_ipv4(own_.identity().gids[destination.own_gid]) ==
                                  wire::is_ipv4(destination.gid);
        return resolve_remote(destination.gid,
                              is_named ? &own_.identity().gids[destination.own_gid] : nullptr);
    }
    const EndpointIndex found = resolve_slot(slot_of(qpn));
    if (found == kNowhere) return found;
    const Facts& there = facts_of(found);
    const bool is_ethernet = own_.identity().is_ethernet;
    if (there.is_ethernet != is_ethernet) return kNowhere;  // no switch joins the two
    const uint32_t port = port_at(found, destination);
    if (port == 0 || (!destination.has_gid && is_ethernet)) return kNowhere;
    // A queue pair receives only at its own port.
    const uint32_t its_port = ends_of(found, qpn).port;
    return its_port == 0 || its_port == port ? found : kNowhere;
}

uint32_t World::port_at(EndpointIndex index, const Destination& destination) const {
    const Facts& there = facts_of(index);
    for (uint32_t port = 1; port <= there.port_count; ++port) {
        const auto gids = there.gids_of(port);
        if (destination.has_gid ? std::ranges::find(gids, destination.gid) != gids.end()
                                : there.lid_of(port) == destination.lid)
            return port;
    }
    return 0;
}

Ends World::ends_of(EndpointIndex index, wire::Qpn qpn) {
    if (index.value >= peers_.size() || (index.value != 0 && !peers_[index.value]->has_board()))
        return {};
    const Board& there = board_of(index);
    return Ends::of(there.ends[place_of(there, qpn)].load());
}

void World::meet_all() {
    std::array<uint32_t, kSlots> slots;
    for (uint32_t slot = 0; slot < kSlots; ++slot) slots[slot] = slot;
    meet_slots(slots);
}

// Whether a process that we know listens there, and its board has the slot.
bool World::is_of_known_peer(uint32_t slot, const Credentials& who) {
    for (uint32_t index = 1; index < peers_.size(); ++index) {
        const Peer& peer = *peers_[index];
        if (peer.is_gone || peer.who != who || !peer.has_slot(slot)) continue;
        by_slot_[slot] = index;
        return true;
    }
    return false;
}

std::optional<uint32_t> World::index_for(Introduction& introduction) {
    const auto known = by_slot_.find(introduction.slot);
    if (known != by_slot_.end() && !peers_[known->second]->is_gone) {
        if (peers_[known->second]->is(introduction)) return known->second;
        if (known->second == 0) return std::nullopt;
        if (!introduction.is_leaving) lose_peer(known->second);
    }
    const auto take_slot = [&](uint32_t index) {
        if (!introduction.is_leaving) by_slot_[introduction.slot] = index;
        return index;
    };
    // A process with many queue pairs has several slots.
    for (uint32_t index = 1; index < peers_.size(); ++index)
        if (!peers_[index]->is_gone && peers_[index]->is(introduction)) return take_slot(index);
    auto made = std::make_unique<Peer>(introduction.instance, introduction.slot, introduction.who);
    const auto index = place_for_new_peer(introduction);
    if (!index || !made->meet(introduction, own_.realm())) return std::nullopt;
    if (*index == peers_.size()) peers_.emplace_back();
    peers_[*index] = std::move(made);
    return take_slot(*index);
}

std::optional<uint32_t> World::place_for_new_peer(const Introduction& introduction) {
    const auto is_of_user = [&](const auto& peer) {
        return !peer->is_gone && !peer->is_remote && peer->who.uid == introduction.who.uid;
    };
    if (!own_.realm().is_own(introduction.who) &&
        std::ranges::count_if(peers_, is_of_user) >= kMostOfAnotherUser)
        return std::nullopt;
    return free_place(peers_, now());
}

void World::on_introduced(Introduction introduction) {
    const auto index = index_for(introduction);
    if (!index || *index == 0) return;
    const int socket = introduction.socket.get();
    if (!peers_[*index]->take_incoming(std::move(introduction))) return;
    receiving_.push_back(*index);
    peers_[*index]->incoming().is_taken.store(1, std::memory_order_release);
    watch_->attend(socket);
}

void World::on_socket_closed(int socket) {
    for (uint32_t index = 1; index < peers_.size(); ++index) {
        const Peer& peer = *peers_[index];
        if (peer.is_gone) continue;
        if (peer.incoming_socket() != socket && peer.outgoing_socket() != socket) continue;
        if (has_left(socket)) lose_peer(index);  // else another socket has the number by now
        return;
    }
}

// Its queue pairs are silent from now on. Their peers notice that after the timeouts that they have
// set.
void World::lose_peer(uint32_t index) {
    Peer& peer = *peers_[index];
    if (peer.is_gone) return;
    const Instant time = now();
    owner_.on_leaving(index, time);
    if (peer.is_gone) return;
    peer.is_gone = true;
    peer.gone_at = time;
    std::erase(receiving_, index);
    owner_.on_left(index, time);
    for (Descriptor& socket : peer.part()) watch_->bury(std::move(socket));
    forget_if_unused(index);
}

// A killed listener may have a successor in its slot before anybody has noticed.
void World::lose_the_dead() {
    for (uint32_t index = 1; index < peers_.size(); ++index)
        if (!peers_[index]->is_gone && peers_[index]->is_dead()) lose_peer(index);
}

void World::forget_if_unused(uint32_t index) {
    Peer& peer = *peers_[index];
    if (peer.is_gone && peer.connections == 0) peer.forget();
}

// The peer has our ring, so it waits for our copies before memory belongs to its program alone
// again. We map its counters only if it could open the file by itself, as we can; its first answer
// proves that.
bool World::may_copy(Peer& peer) {
    if (peer.has_counters) return true;
    if (peer.outgoing().is_taken.load(std::memory_order_acquire) == 0) return false;
    const bool has_file = peer.facts.counters_file[0] != 0;
    if (has_file && !peer.has_proven(own_.secret().word)) return false;
    for (uint32_t port = 1; has_file && port <= peer.facts.port_count; ++port)
        peer.counters.emplace_back(counters_file_of_port(peer.facts.counters_file, port),
                                   own_.slot());
    return peer.has_counters = true;
}

// ---- other machines -----------------------------------------------------------------------------

EndpointIndex World::find_remote(const wire::Gid& address, const wire::Gid& own) const {
    const auto is_it = [&](const Peer& peer) {
        return peer.is_remote && !peer.is_gone && is_same(peer.facts.gids[0], address) &&
               is_same(peer.own_address, own);
    };
    if (heard_last_ < peers_.size() && peers_[heard_last_] && is_it(*peers_[heard_last_]))
        return EndpointIndex{heard_last_};
    const auto known = by_address_.find({address, own});
    if (known == by_address_.end()) return kNowhere;
    heard_last_ = known->second;
    return EndpointIndex{known->second};
}

EndpointIndex World::resolve_remote(const wire::Gid& address, const wire::Gid* named) {
    const wire::Gid own = named != nullptr ? *named : source_for(own_.identity(), address);
    if (const EndpointIndex known = find_remote(address, own); known != kNowhere) return known;
    if (!own_.is_elsewhere(address)) return kNowhere;
    const Instant time = now();
    if (by_address_.size() >= kMostRemote && !make_room_for_remote(time)) return kNowhere;
    auto made = std::make_unique<Peer>(0, kSlots, Credentials{});
    made->is_remote = true;
    made->facts.gid_count = 1;
    made->facts.gids[0] = address;
    made->own_address = own;
    made->heard_at = time;
    const uint32_t index = free_place(peers_, time);
    if (index == peers_.size()) peers_.emplace_back();
    peers_[index] = std::move(made);
    by_address_[{address, own}] = index;
    return EndpointIndex{index};
}

// A stranger can make us remember an address with one datagram. Addresses without a connection that
// have been silent are replaced; if there are none, no new address is remembered.
bool World::make_room_for_remote(Instant time) {
    for (auto it = by_address_.begin(); it != by_address_.end(); ++it) {
        Peer& peer = *peers_[it->second];
        if (peer.connections != 0 || time < peer.heard_at + kReuseAfter) continue;
        peer.is_gone = true;
        peer.gone_at = peer.heard_at;
        by_address_.erase(it);
        return true;
    }
    return false;
}

}  // namespace tulle::live
