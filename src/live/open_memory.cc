#include "live/open_memory.h"

#include "live/carrier.h"
#include "live/clock.h"

namespace tulle::live {
namespace {

constexpr base::Duration kCopyPatience{2'000'000'000'000};  // 2 s, chosen
constexpr uint32_t kSpins = 1000;

}  // namespace

void OpenMemory::publish_region(uint32_t rkey, const transport::RegionRequest& request) {
    put_region(world_.own().grants(), rkey, request.pd.value, request.access, request.address,
               request.length, reinterpret_cast<uint64_t>(request.host));
}

void OpenMemory::withdraw_region(uint32_t rkey) {
    if (remove_region(world_.own().grants(), rkey)) await_copies();
}

void OpenMemory::withdraw_queue(transport::SrqId queue) {
    if (carrier_.lender().hide(queue)) await_copies();
}

void OpenMemory::await_copies() {
    const base::Instant time = now();
    std::vector<std::pair<uint32_t, uint64_t>> able;
    for (const uint32_t index : world_.receiving())
        if (world_.at(index).has_proven(world_.own().secret().word))
            able.emplace_back(index, world_.at(index).instance);
    for (const auto& [index, instance] : able) {
        await_copies_of(index, instance, time + kCopyPatience);
        // WRITEs that it had checked before are in the ring, unless it takes them back right now.
        const Peer& peer = world_.at(index);
        if (peer.is_gone || peer.instance != instance) continue;
        drain(index, time);
        await_copies_of(index, instance, time + kCopyPatience);
    }
}

// Publishes the results of the drain at once. A thread that waits for a completion may sleep, and
// nothing else would wake it. A thread that has taken a completion may destroy the queue pair
// before the peer has its answer. During progress all that follows anyway.
void OpenMemory::drain(uint32_t peer, base::Instant time) {
    carrier_.drain(peer, time);
    if (lock_.is_amid_progress) return;
    carrier_.transmit(time);
    if (carrier_.wire() != nullptr) carrier_.deliver_wire(time);
    carrier_.flush();
    worker_.tell_events();
    if (carrier_.has_local()) progress_.watch().wake();
}

bool OpenMemory::is_copying(uint32_t index, uint64_t instance) {
    Peer& peer = world_.at(index);
    if (peer.is_gone || peer.instance != instance || !peer.can_receive()) return false;
    const RingMemory& ring = peer.incoming();
    return ring.at_work.load() % 2 != 0 || ring.taking_back.load() != 0;
}

// A peer that was killed during a copy never finishes it.
void OpenMemory::await_copies_of(uint32_t index, uint64_t instance, base::Instant end) {
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
        // The peer may wait for us to take a WRITE from the ring.
        if (is_copying(index, instance) && ring.taking_back.load() != 0) drain(index, now());
    }
}

}  // namespace tulle::live
