// Answers to the requester: ACKs and NAKs, READ responses, results of atomics (IBTA vol 1,
// 9.7.5.1). One ACK acknowledges everything before it, so at most one waits. Answers with data go
// before it, in the order of their PSNs.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

// Queues an ACK or NAK for this PSN; it replaces one that waits. It goes ahead of data of all queue
// pairs, and behind the queue pair's own answers to READs.
void answer_with(Core& core, QueuePair& qp, Psn psn, uint8_t syndrome);

// Whether ACKs and NAKs travel apart from data (AdapterConfig::answers_apart). One that overtook
// the data of a READ would report it as lost, so where packets are taken in order they stay with
// data from the first READ on.
bool answers_go_apart(const Core& core, const QueuePair& qp);

// The syndrome of an ACK: the number of receives posted, if the queue pair reports it.
uint8_t ack_syndrome(Core& core, QueuePair& qp);

// Requests came: starts to fetch the data of READs from memory.
void fetch_answers(const Core& core, QueuePair& qp, Instant now);

// Payload bytes of the next response; nothing if none waits, or if its data is still being fetched.
// Then no ACK is sent either, because answers stay in order.
std::optional<uint32_t> plan_response(Core& core, QueuePair& qp, Instant now);

// Makes that response. If the memory of a READ no longer exists, sends a NAK instead.
void make_response(Core& core, QueuePair& qp, Packet& packet);

}  // namespace tulle::transport
