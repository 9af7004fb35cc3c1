// The extended reliable connection (IBTA vol 1, annex A14): a connection whose sender says in each
// request which shared receive queue it is for, so that one connection serves all processes of a
// node.
//
// An initiator sends as a queue pair of RC does, with one header more; a target answers as RC does.
// What is different is here: the SRQ of a message, which the target takes for as long as the
// message lasts (QueuePair::srq), and the protection domain of its memory.
#pragma once

#include "transport/responder.h"

namespace tulle::transport {

// An initiator has no responder, a target no requester.
inline bool takes_direction(const QueuePair& qp, bool response) {
    return response ? qp.type != QpType::xrc_target : qp.type != QpType::xrc_initiator;
}

// The SRQ that the packet names is there and belongs to the target's domain; the message under way
// keeps the one that it began with.
Verdict check_xrc_srq(Core& core, QueuePair& qp, const Packet& packet);

// For whom the target accesses memory: its own protection domain, or, where it was made without
// one, as verbs makes targets, that of the SRQ in the packet.
Asker xrc_asker(Core& core, const QueuePair& qp, const Packet& packet);

// The SRQ goes: messages under way into it lose their receive, and fail with their next packet.
void forget_xrc_srq(Core& core, SrqId srq);

}  // namespace tulle::transport
