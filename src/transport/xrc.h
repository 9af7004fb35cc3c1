// The extended reliable connection (IBTA vol 1, annex A14): each request names the shared receive
// queue that it is for, so one connection serves all processes of a node.
//
// An initiator sends as an RC queue pair does, with one more header; a target answers as RC does.
// This file has the differences: the SRQ of a message, which the target holds for as long as the
// message lasts (QueuePair::srq), and the protection domain of its memory.
#pragma once

#include "transport/responder.h"

namespace tulle::transport {

// An initiator has no responder, a target no requester.
inline bool takes_direction(const QueuePair& qp, bool response) {
    return response ? qp.type != QpType::xrc_target : qp.type != QpType::xrc_initiator;
}

// Checks that the packet's SRQ exists and belongs to the target's domain. The message in progress
// keeps the SRQ that it began with.
Ruling check_xrc_srq(Core& core, QueuePair& qp, const Packet& packet);

// On whose behalf the target accesses memory: its own protection domain, or, if it has none, as
// with targets made by verbs, that of the SRQ in the packet.
Asker xrc_asker(Core& core, const QueuePair& qp, const Packet& packet);

// The SRQ is destroyed: messages in progress lose their receive, and fail with their next packet.
void forget_xrc_srq(Core& core, SrqId srq);

}  // namespace tulle::transport
