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

constexpr base::Duration kPatience{2'000'000'000'000};     // 2 s, chosen: a process without CPU
constexpr base::Duration kShortPatience{100'000'000'000};  // 100 ms, chosen: with the lock held
constexpr base::Duration kMuteFor{2'000'000'000'000};      // 2 s, chosen
constexpr base::Duration kCallAgain{1'000'000'000};        // 1 ms, chosen
constexpr base::Duration kReuseAfter{10'000'000'000'000};  // 10 s, chosen
constexpr uint32_t kMostOfAnotherUser = 64;                // chosen: a quarter of all slots
constexpr uint32_t kAllVariants = UINT32_MAX;
constexpr size_t kMostRemote = 4096;  // chosen: addresses of other machines

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

// A process with many queue pairs has several slots. It is called in only one of them, because a
// call hands over a ring and it takes only one. Its board then tells its other slots.
void World::meet_slots(std::span<const uint32_t> slots) {
    const uint32_t variants = slots.size() == 1 ? kAllVariants : own_.variant() + 2;
    std::vector<uint32_t> left(slots.begin(), slots.end());
    for (uint32_t rounds = 0; rounds < kSlots && !left.empty(); ++rounds) {
        std::vector<uint32_t> later;
        const bool has_called = call_all(left, variants, later);
        if (!being_called_.empty()) await_other_callers(left, later);
        if (!has_called && lock_.is_amid_progress) return;
        left = std::move(later);
    }
}

// Calls all slots at once, so that several silent processes cost no more time than one. `later`:
// slots of processes that are being called. True if any was called.
bool World::call_all(std::span<const uint32_t> slots, uint32_t variants,
                     std::vector<uint32_t>& later) {
    std::vector<Call> calls;
    std::vector<int> sockets;
    for (const uint32_t slot : slots) {
        if (being_called_.contains(slot) || is_known(slot)) continue;
        auto call = next_call(slot, variants, later);
        if (!call) continue;
        being_called_.emplace(slot, call->line.who);
        sockets.push_back(call->line.socket.get());
        calls.push_back(std::move(*call));
    }
    if (calls.empty()) return false;
    const auto patience = lock_.is_amid_progress ? kShortPatience : kPatience;
    lock_.without([&] { await_answers(sockets, patience); });
    for (Call& call : calls) {
        being_called_.erase(call.slot);
        end_call(std::move(call));
    }
    called_.notify_all();
    return true;
}

// Waits for another thread of the program that is calling these slots already, or is calling a
// process that may have the slots of `later`.
void World::await_other_callers(std::span<const uint32_t> slots, std::span<const uint32_t> later) {
    if (lock_.is_amid_progress) return;
    std::unique_lock guard(lock_.mutex, std::adopt_lock);
    called_.wait_for(guard, std::chrono::nanoseconds(kPatience.ps / 1000), [&] {
        if (!later.empty()) return being_called_.empty();
        return std::ranges::none_of(slots, [&](uint32_t s) { return being_called_.contains(s); });
    });
    (void)guard.release();
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

bool World::is_being_called(const Credentials& who) const {
    return std::ranges::any_of(being_called_, [&](const auto& one) { return one.second == who; });
}

std::optional<World::Call> World::begin_call(uint32_t slot, uint32_t variants,
                                             std::vector<uint32_t>& later) {
    std::optional<Line> line;
    if (variants == kAllVariants) line = reach(own_.realm(), slot);
    for (uint32_t variant = 0; !line && variants != kAllVariants && variant < variants; ++variant)
        line = reach(own_.realm(), slot, variant);
    if (!line) return std::nullopt;
    if (const auto mute = mute_.find(slot);
        mute != mute_.end() && mute->second.who == line->who && now() < mute->second.until)
        return std::nullopt;
    if (is_of_known_peer(slot, line->who)) return std::nullopt;
    if (is_being_called(line->who)) {
        later.push_back(slot);
        return std::nullopt;
    }
    return introduce(slot, std::move(*line));
}

// Introduces us, and hands over the ring that we will write.
std::optional<World::Call> World::introduce(uint32_t slot, Line line) {
    Call call{slot, std::move(line),
              SharedMemory::create(sizeof(RingMemory), SharedMemory::Peers::write)};
    if (!call.ring) return std::nullopt;
    Card mine = own_.card();
    mine.ring = call.ring.file();
    const bool is_own = own_.realm().is_own(call.line.who);
    if (!send_card(call.line.socket.get(), mine, is_own)) return std::nullopt;
    return call;
}

// It takes what we write from now on.
void World::settle_call(Peer& peer, Call call) {
    watch_->attend(call.line.socket.get());
    peer.take_outgoing(std::move(call.line.socket), std::move(call.ring));
}

// The next call to a slot. A process that has not answered yet is not called again. Nothing if it
// is too early to wait for it again.
std::optional<World::Call> World::next_call(uint32_t slot, uint32_t variants,
                                            std::vector<uint32_t>& later) {
    const auto mute = mute_.find(slot);
    if (mute == mute_.end() || !mute->second.call) return begin_call(slot, variants, later);
    std::optional<Call>& open = mute->second.call;
    const int socket = open->line.socket.get();
    if (has_left(socket)) {
        mute_.erase(mute);
        return begin_call(slot, variants, later);
    }
    if (now() < mute->second.until && !has_spoken(socket)) return std::nullopt;
    return std::exchange(open, std::nullopt);
}

// It knows us by this call, or will when it comes to it.
std::optional<World::Call> World::open_call_to(const Peer& peer) {
    const auto mute = std::ranges::find_if(mute_, [&](const auto& one) {
        const auto& [slot, its] = one;
        return its.call && its.who == peer.who && (slot == peer.slot || peer.has_slot(slot));
    });
    return mute == mute_.end() ? std::nullopt : std::exchange(mute->second.call, std::nullopt);
}

void World::end_call(Call call) {
    Mute mute{call.line.who, now() + kMuteFor};
    if (!has_spoken(call.line.socket.get())) {
        mute.call = std::move(call);
        mute_.insert_or_assign(mute.call->slot, std::move(mute));
        return;
    }
    auto found = read_answer(std::move(call.line.socket));
    if (!found || found->slot != call.slot || found->who != call.line.who) {
        mute_.insert_or_assign(call.slot, std::move(mute));
        return;
    }
    mute_.erase(call.slot);
    const auto index = index_for(*found);
    if (!index || peers_[*index]->can_send()) return;
    call.line.socket = std::move(found->socket);
    settle_call(*peers_[*index], std::move(call));
}

bool World::call_peer(Peer& peer) {
    const Instant time = now();
    const auto is_its = [&](const auto& one) {
        return one.first == peer.slot || (one.second == peer.who && peer.has_slot(one.first));
    };
    if (peer.is_gone || time < peer.call_again_at || std::ranges::any_of(being_called_, is_its))
        return false;
    peer.call_again_at = time + kCallAgain;
    auto call = open_call_to(peer);
    if (!call) {
        auto line = reach(own_.realm(), peer.slot);
        if (!line || line->who != peer.who) return false;
        call = introduce(peer.slot, std::move(*line));
    }
    if (!call) return false;
    settle_call(peer, std::move(*call));
    return true;
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
        if (peer.is_dead()) lose_peer(index);  // else another socket has the number by now
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
