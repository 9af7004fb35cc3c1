// Reliable transport whose packets come in any order: over several paths, with data that goes to
// its place as it comes. Ultra Ethernet's RUD, SRD, and RC with out-of-order placement are settings
// of it: Delivery (loss/loss.h), PathSettings (paths/path_settings.h), and what selective repeat
// takes (AdapterConfig).
//
// The seam is what a packet says besides RC's headers:
//   a request   which packet of its message it is (`srq_or_ee`), and for a WRITE where its data
//               goes (`extended.rdma`), in each packet. Its entropy value is its path.
//   an answer   which packet caused it (`srq_or_ee`) and that one's entropy value; always a
//               selective acknowledgement.
// In bytes these have no place in RoCE's headers, so captures of such a run show RoCE; what the
// headers of a fabric take on the wire is a setting of its framing.
//
// WRITEs and SENDs are taken as they come. READs, atomics and others wait for their turn. What is
// wrong with a packet that came early is said when its turn comes, so a NAK is always about the
// oldest packet, as RC's is. A requester completes work in the order in which it was posted.
#pragma once

#include "transport/congestion/signal.h"
#include "transport/requester.h"

namespace tulle::transport {

// The sender. This request packet goes: it gets its path, and says where it belongs.
void spread_request(QueuePair& qp, Instant now, const SendWork& work, const RequestPlan& plan,
                    Packet& packet);

// An answer came: what is known before it is taken, and after. Congestion control hears of each
// answer, with its round trip, its mark, and how many packets are known to be there because of it.
struct SpreadAnswer {
    Psn oldest{};
    uint32_t received = 0;
    Signal signal{};
};
SpreadAnswer begin_spread_answer(QueuePair& qp, Instant now, const Packet& packet);
void end_spread_answer(Core& core, QueuePair& qp, Instant now, SpreadAnswer answer);

// The receiver.
void on_unordered_request(Core& core, QueuePair& qp, const Packet& packet);

}  // namespace tulle::transport
