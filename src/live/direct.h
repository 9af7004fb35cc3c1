// The short way: WRITEs and READs whose initiator reaches the target's memory by itself, as
// process_vm_writev() and process_vm_readv() allow among processes of one user. The target's
// program does nothing for it, as with a real adapter.
//
// The checks are the responder's, made on what the target shows on its board. What they do not
// clearly allow goes the long way, by packets, and meets the responder itself: errors are made in
// one place.
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
    static constexpr size_t kMostParts = 64;
    static constexpr size_t kMostWork = 32;
    static constexpr size_t kMostSges = 4;
    static constexpr size_t kMostInline = 256;

    // A request that may go this way is kept until flush(), together with those before it. False:
    // it may not, and nothing was done.
    bool add(Peer& peer, transport::Adapter& adapter, const transport::QueuePair& qp,
             wire::Qpn own_number, uint64_t own_instance, const transport::SendRequest& request);
    // Copies and completes what was kept. What the kernel refuses goes by packets.
    void flush(transport::Adapter& adapter);
    bool empty() const { return count_ == 0; }

private:
    struct Work {
        wire::Qpn qpn;
        transport::SendRequest request;
        std::array<transport::Sge, kMostSges> sges;      // the request points here, or
        std::array<std::byte, kMostInline> inline_data;  // here
        uint32_t length = 0;
    };

    bool add_parts(transport::Adapter& adapter, const transport::QueuePair& qp,
                   const transport::SendRequest& request, uint64_t place);
    void keep(wire::Qpn qpn, const transport::SendRequest& request, uint32_t length);
    bool is_allowed(const Board& board, const transport::QueuePair& qp, wire::Qpn own_number,
                    uint64_t own_instance, const transport::SendRequest& request, uint32_t length,
                    uint64_t& place) const;
    bool copy();

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
