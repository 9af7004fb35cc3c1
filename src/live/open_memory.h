// The memory of this process that peers reach by themselves, or import: what they are shown, and
// how it becomes the program's own again.
//
// Peers copy into this memory and out of it, and announce that in their rings (direct.h). A peer
// that announces a copy forever, or was stopped during one, is given up after a while. Then it is
// no longer a peer; what it still does, any process of the user could do.
#pragma once

#include "live/progress.h"
#include "transport/memory.h"

namespace tulle::live {

class Carrier;

class OpenMemory {
public:
    OpenMemory(World& world, Lock& lock, Carrier& carrier, Progress& progress,
               Progress::Worker& worker)
        : world_(world), lock_(lock), carrier_(carrier), progress_(progress), worker_(worker) {}

    // Protection domains that processes of the same user may import.
    void publish_domain(transport::PdId pd) { put_domain(world_.own().grants(), pd.value); }
    void withdraw_domain(transport::PdId pd) { remove_domain(world_.own().grants(), pd.value); }
    // Regions that peers may reach by themselves, or import. withdraw_region() returns when no peer
    // uses the region; a peer that announces a copy for too long is given up.
    void publish_region(uint32_t rkey, const transport::RegionRequest& request);
    void withdraw_region(uint32_t rkey);
    // The same for an XRC queue whose receives others may have borrowed.
    void withdraw_queue(transport::SrqId queue);
    // Takes all that a peer has sent.
    void drain(uint32_t peer, base::Instant now);

private:
    void await_copies();
    bool is_copying(uint32_t index, uint64_t instance);
    void await_copies_of(uint32_t index, uint64_t instance, base::Instant end);

    World& world_;
    Lock& lock_;
    Carrier& carrier_;
    Progress& progress_;
    Progress::Worker& worker_;
};

}  // namespace tulle::live
