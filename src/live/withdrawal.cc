// How a region becomes the program's own again, and what receives of a queue name.
//
// Peers who reach this memory copy into it by themselves, and say so in their rings (direct.h). One
// who says so for ever, or was stopped amid a copy, is given up after a while: then it is no peer
// any more, and whatever it goes on to do it does as any process of the user could.
#include "live/clock.h"
#include "live/host.h"

namespace tulle::live {
namespace {

constexpr base::Duration kCopyPatience{2'000'000'000'000};  // 2 s, chosen
constexpr uint32_t kSpins = 1000;

}  // namespace

void Host::withdraw_region(uint32_t rkey) {
    if (remove_region(world_.own().grants(), rkey)) await_copies();
}

void Host::withdraw_queue(transport::SrqId queue) {
    if (carrier_.lender().hide(queue)) await_copies();
}

void Host::await_copies() {
    const base::Instant time = now();
    std::vector<std::pair<uint32_t, uint64_t>> able;
    for (const uint32_t index : world_.receiving())
        if (world_.at(index).has_proven(world_.own().secret().word))
            able.emplace_back(index, world_.at(index).instance);
    for (const auto& [index, instance] : able) {
        await_copies_of(index, instance, time + kCopyPatience);
        // What it had checked before lies in the ring, unless it takes it back right now.
        const Peer& peer = world_.at(index);
        if (peer.is_gone || peer.instance != instance) continue;
        carrier_.drain(index, time);
        await_copies_of(index, instance, time + kCopyPatience);
    }
    if (adapter_.has_work()) progress_.watch().wake();
}

bool Host::is_copying(uint32_t index, uint64_t instance) {
    Peer& peer = world_.at(index);
    if (peer.is_gone || peer.instance != instance || !peer.can_receive()) return false;
    const RingMemory& ring = peer.incoming();
    return ring.at_work.load() % 2 != 0 || ring.taking_back.load() != 0;
}

// A peer that was killed amid its work never finishes it, and never will.
void Host::await_copies_of(uint32_t index, uint64_t instance, base::Instant end) {
    if (!is_copying(index, instance)) return;
    const uint32_t seen = world_.at(index).incoming().at_work.load();
    for (uint32_t looks = 0; is_copying(index, instance); ++looks) {
        Peer& peer = world_.at(index);
        const RingMemory& ring = peer.incoming();
        if (ring.at_work.load() != seen && ring.taking_back.load() == 0) return;
        if (looks < kSpins) continue;
        if (peer.is_dead()) return;
        if (now() > end) return world_.lose_peer(index);
        lock_.without([] {
            const timespec moment{0, 20'000};
            nanosleep(&moment, nullptr);
        });
        // What it waits for may be ours to take from the ring.
        if (is_copying(index, instance) && ring.taking_back.load() != 0)
            carrier_.drain(index, now());
    }
}

}  // namespace tulle::live
