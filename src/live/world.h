// The processes that this process knows, how it meets them and how it parts from them
// (encounters.cc).
//
// The engine's table of end points is `peers_`: an end point is a process, and 0 is this process
// itself. A dead process stays in its place as long as a queue pair is connected to it and a while
// longer, so that nothing reaches the next process in its slot. What it shared is released at once.
//
// No thread waits for another process with the lock held: calls that must wait (resolve(),
// meet_all()) release it meanwhile, and take it again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "live/calls.h"
#include "live/groups.h"
#include "live/presence.h"
#include "transport/adapter.h"

namespace tulle::live {

class Watch;

// Where a queue pair's packets or a datagram go, in the terms of verbs.
struct Destination {
    bool has_gid = false;
    wire::Gid gid;
    wire::Lid lid;
    uint32_t own_gid = UINT32_MAX;  // index of the source GID; UINT32_MAX: the default one
};

class World {
public:
    static constexpr transport::EndpointIndex kNowhere{0xff'ffff};

    // Is told when a peer leaves. It first takes what the peer sent before, then parts from it.
    class Owner {
    public:
        virtual ~Owner() = default;
        virtual void on_leaving(uint32_t peer, base::Instant now) = 0;
        virtual void on_left(uint32_t peer, base::Instant now) = 0;
    };

    World(const Identity& who, Lock& lock, Owner& owner);
    // As in Presence.
    std::optional<Door> open();
    void show_facts(bool has_counters, bool cuts_packets, uint64_t capture);
    void set_watch(Watch& watch) { watch_ = &watch; }
    // In the child of a fork.
    void abandon();

    // This process itself.
    Presence& own() { return own_; }
    const Presence& own() const { return own_; }
    // Takes numbers for more queue pairs. False if the world has no slot left, or this process has
    // the maximum.
    bool add_block();

    size_t size() const { return peers_.size(); }
    Peer& at(uint32_t index) { return *peers_[index]; }
    const Peer& at(uint32_t index) const { return *peers_[index]; }
    const Peer* peer(transport::EndpointIndex index) const {
        return index.value < peers_.size() ? peers_[index.value].get() : nullptr;
    }
    const Board& board_of(transport::EndpointIndex index) {
        return index.value == 0 ? own_.board() : peers_[index.value]->board();
    }
    // The facts of an end point; our own for one that does not exist.
    const Facts& facts_of(transport::EndpointIndex index) const {
        return peers_[index.value < peers_.size() ? index.value : 0]->facts;
    }
    // Peers with an incoming ring.
    const std::vector<uint32_t>& receiving() const { return receiving_; }

    // The end point that serves this queue pair at this address; kNowhere if there is none.
    transport::EndpointIndex resolve(const Destination& destination, wire::Qpn qpn);
    // Which of an end point's ports has this address, from 1; 0 if none has.
    uint32_t port_at(transport::EndpointIndex index, const Destination& destination) const;
    // The ends that a queue pair, theirs or ours, shows of its connection.
    Ends ends_of(transport::EndpointIndex index, wire::Qpn qpn);
    // The other machine at this address; kNowhere if we do not talk to such addresses, or already
    // know too many. `own`: the address of ours that it has spoken to.
    transport::EndpointIndex resolve_remote(const wire::Gid& address,
                                            const wire::Gid* own = nullptr);
    // The same if it is known.
    transport::EndpointIndex find_remote(const wire::Gid& address, const wire::Gid& own) const;
    // Call it before a queue pair is connected: the process in its slot may have just ended, and
    // another one may have taken the slot.
    void notice_death(wire::Qpn qpn);
    // The process in this slot.
    transport::EndpointIndex resolve_slot(uint32_t slot);
    // The known process in this slot, whether a switch joins it to us or not.
    std::optional<transport::EndpointIndex> index_in(uint32_t slot) const {
        const auto found = by_slot_.find(slot);
        if (found == by_slot_.end()) return std::nullopt;
        return transport::EndpointIndex{found->second};
    }
    void meet_all();
    void meet_slots(std::span<const uint32_t> slots) { calls_.to_slots(slots); }
    // Calls a process that has called us already. We know all about it, so we do not wait for its
    // answer. Returns whether we can send to it.
    bool call_peer(Peer& peer) { return calls_.to_peer(peer); }
    void on_introduced(Introduction introduction);
    void on_socket_closed(int socket);
    void lose_peer(uint32_t index);
    void lose_the_dead();
    void forget_if_unused(uint32_t index);
    // Whether the peer allows us to copy into its memory and out of it.
    bool may_copy(Peer& peer);

    Groups& groups() { return groups_; }

private:
    friend class Calls;  // looks for peers and adds them

    bool is_known(uint32_t slot);
    std::optional<uint32_t> index_for(Introduction& introduction);
    std::optional<uint32_t> place_for_new_peer(const Introduction& introduction);
    bool make_room_for_remote(base::Instant now);
    bool is_of_known_peer(uint32_t slot, const Credentials& who);

    Presence own_;
    Owner& owner_;
    Watch* watch_ = nullptr;
    std::vector<std::unique_ptr<Peer>> peers_;  // 0 is this process itself
    std::vector<uint32_t> receiving_;
    std::map<uint32_t, uint32_t> by_slot_;
    // By its address and ours: a machine with several addresses sends from the one that its peer
    // named.
    std::map<std::array<wire::Gid, 2>, uint32_t> by_address_;
    mutable uint32_t heard_last_ = 0;  // the machine of the last packet, likely also of the next
    Calls calls_;
    Groups groups_;
};

}  // namespace tulle::live
