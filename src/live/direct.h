// The short way: WRITEs and READs whose initiator reaches the target's memory by itself, as
// process_vm_writev() and process_vm_readv() allow among processes of one user. The target's
// program does nothing for it, as with a real adapter.
//
// The checks are the responder's, made on what the target shows on its board. What they do not
// clearly allow goes the long way, by packets, and meets the responder itself: errors are made in
// one place.
//
// A copy is a call of the kernel, which costs more than a small WRITE; several are done by one,
// where a program posts several before it looks for completions (Host::finish_posting).
//
// Revocation: a copy is announced in the link's `at_work`, which is odd from before the board is
// read until the copy is done. Whoever takes a region off its board then waits until each peer's
// word is even or has changed (Host::withdraw_region).
#pragma once

#include <sys/uio.h>

#include <array>
#include <span>

#include "live/peer.h"
#include "transport/adapter.h"

namespace tulle::live {

class DirectPath {
public:
    static constexpr size_t kMostWork = 32;
    static constexpr size_t kMostSges = 4;
    static constexpr size_t kMostInline = 256;
    static constexpr size_t kMostParts = kMostWork * kMostSges;

    // Keeps a request that may go this way, until flush(). False: it may not, and nothing was done.
    // What was kept before goes first where both cannot go together.
    bool add(Peer& peer, transport::Adapter& adapter, const transport::QueuePair& qp,
             wire::Qpn own_number, uint64_t own_instance, const transport::SendRequest& request);
    // Checks, copies and completes what was kept. From the first that is not allowed on, and where
    // the kernel refuses, all goes by packets.
    void flush(transport::Adapter& adapter);
    bool empty() const { return count_ == 0; }
    // Where it is counted: the port's counters of this host.
    void set_counters(PortCounters* counters) { counters_ = counters; }

private:
    struct Work {
        wire::Qpn qpn;
        wire::Qpn own_number;
        uint64_t own_instance = 0;
        transport::SendRequest request;
        std::array<transport::Sge, kMostSges> sges;      // the request points here, or
        std::array<std::byte, kMostInline> inline_data;  // here
        uint32_t length = 0;
    };

    bool is_allowed(const Board& board, const transport::QueuePair& qp, const Work& work,
                    uint64_t& place) const;
    bool add_parts(transport::Adapter& adapter, const transport::QueuePair& qp, const Work& work,
                   uint64_t place);
    bool prepare(transport::Adapter& adapter, const Work& work);
    bool copy();
    void count(const Work& work, uint32_t mtu);

    PortCounters* counters_ = nullptr;
    Peer* peer_ = nullptr;
    bool is_read_ = false;
    size_t count_ = 0;
    size_t parts_ = 0;
    size_t bytes_ = 0;
    std::array<Work, kMostWork> work_;
    std::array<iovec, kMostParts> here_;
    std::array<iovec, kMostParts> there_;
};

}  // namespace tulle::live
