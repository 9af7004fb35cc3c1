// Reliable transport that takes packets in any order: over several paths, with data placed on
// arrival. Ultra Ethernet's RUD, SRD, and RC with out-of-order placement are settings of it:
// Delivery (loss/loss.h), PathSettings (paths/path_settings.h), and the settings of selective
// repeat (AdapterConfig).
//
// The seam is what a packet carries besides RC's headers:
//   a request   which packet of its message it is (`srq_or_ee`), and for a WRITE where its data
//               goes (`extended.rdma`), in each packet. Its entropy value is its path.
//   an answer   which packet caused it (`srq_or_ee`) and that one's entropy value; always a
//               selective acknowledgement.
// RoCE's headers have no room for these fields, so captures of such a run show plain RoCE. The
// bytes that a fabric's headers take on the wire are a setting of its framing.
//
// WRITEs and SENDs are processed on arrival. READs, atomics and others wait for their turn. An
// error in a packet that came early is reported when its turn comes, so a NAK is always about the
// oldest packet, as with RC. A requester completes work in the order of posting.
#pragma once

#include "transport/congestion/signal.h"
#include "transport/requester.h"

namespace tulle::transport {

// The sender. Chooses the path of this request packet, and writes into it where it belongs.
void spread_request(Core& core, QueuePair& qp, Instant now, const SendWork& work,
                    const RequestPlan& plan, Packet& packet);

// An answer came: the state before it is processed, and after. Congestion control is told of each
// answer, with its round trip, its mark, and how many packets it newly reports as received.
struct SpreadAnswer {
    Psn oldest{};
    uint32_t received = 0;
    Signal signal{};
};
SpreadAnswer begin_spread_answer(QueuePair& qp, Instant now, const Packet& packet);
void end_spread_answer(Core& core, QueuePair& qp, Instant now, SpreadAnswer answer);

// The receiver.
void on_unordered_request(Core& core, QueuePair& qp, Instant now, const Packet& packet);

}  // namespace tulle::transport
