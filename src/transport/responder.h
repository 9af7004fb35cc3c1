// The responder: judges the peer's requests and carries them out (IBTA vol 1, 9.7.4, figure 93).
//
// judge() reads like the specification: a chain of small checks, each with its clause; the first
// that fails decides. carry_out() executes what judge() accepts. Answers wait in the queue pair
// until responses.h makes packets of them.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

inline constexpr uint32_t kMaxMessage = 1u << 31;  // bytes

// The properties of a packet's opcode.
inline const wire::OpcodeInfo& info_of(const Packet& packet) {
    return wire::opcode_info(static_cast<uint8_t>(packet.opcode));
}
inline wire::Operation operation_of(const Packet& packet) {
    return wire::operation_of(static_cast<uint8_t>(packet.opcode));
}
inline bool is_send(wire::Operation operation) {
    return operation <= wire::Operation::send_only_with_immediate ||
           operation == wire::Operation::send_last_with_invalidate ||
           operation == wire::Operation::send_only_with_invalidate;
}
inline bool is_write(wire::Operation operation) {
    return operation >= wire::Operation::write_first &&
           operation <= wire::Operation::write_only_with_immediate;
}

enum class Ruling : uint8_t {
    accept,
    receiver_not_ready,
    invalid_request,
    remote_access_error,
    remote_operational_error,
    receive_too_short,  // of a SEND; the receive has completed
    receives_broken,    // the shared receive queue is broken
    invalid_rd_request,
};

// The error is in the receive that the message took, or needed: it is the receiver's own.
constexpr bool is_of_receive(Ruling verdict) {
    return verdict == Ruling::remote_operational_error || verdict == Ruling::receive_too_short ||
           verdict == Ruling::receives_broken;
}

// A request packet for a queue pair of a reliable connection.
void on_request(Core& core, QueuePair& qp, Instant now, const Packet& packet);

// The same, but if it is the request's turn, the responder refuses it with this syndrome and
// ignores its content: for owners that inject faults.
void refuse_request(Core& core, QueuePair& qp, Instant now, const Packet& packet, uint8_t syndrome);

// Fast path for a middle packet of a WRITE, the most common packet: true if the packet was in order
// and its data is in place. False if anything is unusual; on_request() then handles the packet. The
// caller has checked that the packet is from the peer.
bool continue_write(Core& core, QueuePair& qp, const Packet& packet);

// Whether this packet, whose PSN is the expected one, may be carried out.
Ruling judge(Core& core, QueuePair& qp, const Packet& packet);

// Carries out an accepted packet. An error that shows only now, in the memory that the receiver
// itself named, is returned.
Ruling carry_out(Core& core, QueuePair& qp, const Packet& packet);

// The PSNs that a request takes: one, but a READ takes one for each response.
uint32_t psns_of(const QueuePair& qp, const Packet& packet);

// Steps of the ordered responder that the unordered one shares (unordered.h).
namespace steps {

// Judges the packet, whose turn has come, carries it out, and answers if it asks.
void carry_out_in_turn(Core& core, QueuePair& qp, const Packet& packet);
// Sends the objection to the packet, whose turn has come.
void refuse(Core& core, QueuePair& qp, const Packet& packet, Ruling verdict);
void answer_duplicate(Core& core, QueuePair& qp, const Packet& packet);
void acknowledge_newest(Core& core, QueuePair& qp);
// Completes the receive in ResponderState::receive_place, with ResponderState::received bytes.
void end_receive(Core& core, QueuePair& qp, const Packet& packet, Status status);
ReorderBuffer& reorder_buffer(Core& core, QueuePair& qp);

}  // namespace steps

}  // namespace tulle::transport
