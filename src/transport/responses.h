// Answers on their way to the requester: ACKs and NAKs, READ responses, results of atomics (IBTA
// vol 1, 9.7.5.1). One ACK answers all before it, so that at most one waits; answers with data come
// before it, in the order of their PSNs.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// An ACK or NAK for this PSN shall go; it takes the place of one that waits. It goes before data of
// all queue pairs, and behind answers to READs of its own.
void answer_with(Core& core, QueuePair& qp, Psn psn, uint8_t syndrome);

// The syndrome of an ACK: how many receives are posted, if the queue pair tells.
uint8_t ack_syndrome(Core& core, QueuePair& qp);

// Requests have come: what READs among them ask for is fetched from memory, from now on.
void fetch_answers(const Core& core, QueuePair& qp, Instant now);

// Bytes of payload of the response that goes next; nothing if none waits, or if its data is still
// being fetched. Then no ACK goes either, for answers stay in order.
std::optional<uint32_t> plan_response(Core& core, QueuePair& qp, Instant now);

// Makes that response. If the memory that a READ named is no more, a NAK goes instead.
void make_response(Core& core, QueuePair& qp, Packet& packet);

}  // namespace tulle::transport
