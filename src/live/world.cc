#include "live/world.h"

#include <unistd.h>

#include <algorithm>

#include "live/watch.h"

namespace tulle::live {

World::World(const Identity& who, Lock& lock, Owner& owner)
    : own_(who), owner_(owner), calls_(*this, lock) {}

std::optional<Door> World::open() {
    auto door = own_.open();
    if (door) by_slot_[own_.slot()] = 0;
    return door;
}

void World::show_facts(bool has_counters, bool cuts_packets, uint64_t capture) {
    own_.show_facts(has_counters, cuts_packets, capture);
    peers_.push_back(std::make_unique<Peer>(own_.secret().instance, own_.slot(),
                                            Credentials{getpid(), own_.realm().uid}));
    peers_[0]->facts = own_.board();
}

void World::abandon() {
    for (auto& peer : peers_) peer.reset();
    calls_.abandon();
    own_.abandon();
}

bool World::add_block() {
    if (own_.has_all_blocks()) return false;
    auto door = Door::open(own_.realm());
    if (!door) return false;
    const uint32_t slot = door->slot();
    if (!watch_->add_door(std::move(*door))) return false;
    own_.add_slot(slot);
    by_slot_[slot] = 0;
    return true;
}

}  // namespace tulle::live
