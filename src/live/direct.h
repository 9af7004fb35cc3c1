// The short way: the initiator of a WRITE or READ copies to or from the target's memory by itself.
// process_vm_writev() and process_vm_readv() allow that among processes of one user. The target's
// program does nothing for it, as with a real adapter.
//
// The initiator makes the responder's checks on what the target shows on its board. What they do
// not clearly allow goes the long way, by packets, to the responder itself, so errors are made in
// one place.
//
// A copy is a call of the kernel, which costs more than a small WRITE. Small WRITEs go through the
// ring (write_stream.h) if a program posts many of them at once to a peer whose side is awake, or
// goes on posting without looking at its completions. While some are under way, all else for that
// peer follows them through the ring, as packets.
//
// Revocation: a copy is announced in the link's `at_work`. It is odd from before the board is read
// until the copy is done or its record is visible. A process that takes a region off its board then
// waits until each peer's word is even or has changed, and reads what is in the rings
// (open_memory.cc). It waits only for peers that reach its memory, and only for a limited time.
#pragma once

#include <sys/uio.h>

#include <array>
#include <span>
#include <vector>

#include "live/peer.h"
#include "transport/adapter.h"

namespace tulle::live {

class DirectPath {
public:
    static constexpr size_t kMostWork = 32;
    static constexpr size_t kMostSges = 4;
    static constexpr size_t kMostInline = 256;
    static constexpr size_t kMostParts = kMostWork * kMostSges;

    // Whether requests of this kind may go this way.
    static bool takes(const transport::QueuePair& qp, const transport::SendRequest& request);
    // Keeps a request of such a kind until flush(). If earlier requests cannot go together with
    // this one, they go first. False if some of them go by packets, which this one must not
    // overtake.
    bool add(Peer& peer, transport::Adapter& adapter, const transport::QueuePair& qp,
             wire::Qpn own_number, uint64_t own_instance, Ends ends,
             const transport::SendRequest& request);
    // Checks and copies the kept requests. From the first one that the checks or the kernel refuse,
    // all go by packets. True if the engine then has something to send.
    bool flush(transport::Adapter& adapter);
    // Whether the program goes on posting; false once it looks for completions.
    void set_streaming(bool is_streaming) { is_streaming_ = is_streaming; }

    // WRITEs in rings: completes those that are done, and copies those that a peer does not.
    bool is_awaiting() const { return !awaited_.empty(); }
    void settle(transport::Adapter& adapter, base::Instant now);
    // A peer is gone: WRITEs that it has not done fail.
    void leave(transport::Adapter& adapter, Peer& peer, base::Instant now);
    // A queue pair stops: its WRITEs that are under way are flushed, or vanish.
    void stop(transport::Adapter& adapter, wire::Qpn qpn, bool is_told);
    // Where work of the short way is counted.
    void set_counters(CounterSlot* counters) { counters_ = counters; }  // of each port

private:
    struct Work {
        wire::Qpn qpn;
        wire::Qpn own_number;
        uint64_t own_instance = 0;
        transport::SendRequest request;
        std::array<transport::Sge, kMostSges> sges;      // the request points here, or
        std::array<std::byte, kMostInline> inline_data;  // here
        uint32_t length = 0;
        uint32_t parts = 0;
        uint64_t place = 0;  // address in the target's memory
        Ends ends;
    };

    bool is_allowed(const Grants& grants, const transport::QueuePair& qp, Work& work) const;
    bool add_parts(transport::Adapter& adapter, const transport::QueuePair& qp, Work& work);
    bool prepare(transport::Adapter& adapter, Work& work);
    bool fails_here(transport::Adapter& adapter, Work& work);
    void await_stream(transport::Adapter& adapter);
    bool goes_through_ring(base::Instant now);
    bool copy();
    void count(const Work& work, uint32_t mtu);
    size_t put_in_ring(size_t count, base::Instant now);
    static void take_back(Peer& peer, base::Instant now);
    static void complete_done(transport::Adapter& adapter, Peer& peer, base::Instant now);

    CounterSlot* counters_ = nullptr;
    Peer* peer_ = nullptr;
    bool is_read_ = false;
    bool is_streaming_ = false;
    size_t count_ = 0;
    size_t parts_ = 0;
    size_t bytes_ = 0;
    size_t longest_ = 0;
    std::array<Work, kMostWork> work_;
    std::array<iovec, kMostParts> here_;
    std::array<iovec, kMostParts> there_;
    std::vector<Peer*> awaited_;  // peers that have not read all WRITEs from their rings
};

}  // namespace tulle::live
