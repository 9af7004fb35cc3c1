// The responder: requests of the peer, judged and carried out (IBTA vol 1, 9.7.4, figure 93).
//
// judge() reads like the specification: a chain of small checks, each with its clause, the first
// that objects decides. What it accepts carry_out() does; what is to be answered waits in the queue
// pair until responses.h makes a packet of it.
#pragma once

#include "transport/core.h"

namespace tulle::transport {

inline constexpr uint32_t kMaxMessage = 1u << 31;  // bytes

// What the opcode of a packet says of it.
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

enum class Verdict : uint8_t {
    accept,
    receiver_not_ready,
    invalid_request,
    remote_access_error,
    remote_operational_error,
    receive_too_short,  // of a SEND; the receive has completed
    receives_broken,    // the shared queue that would have had one
    invalid_rd_request,
};

// What is wrong is the receive that the message got, or would have got: the receiver's own.
constexpr bool is_of_receive(Verdict verdict) {
    return verdict == Verdict::remote_operational_error || verdict == Verdict::receive_too_short ||
           verdict == Verdict::receives_broken;
}

// A request packet for a queue pair of a reliable connection.
void on_request(Core& core, QueuePair& qp, Instant now, const Packet& packet);

// The same, but if the request's turn has come the responder answers with this syndrome and takes
// nothing of it, as if it had cause to: for owners who make faults.
void refuse_request(Core& core, QueuePair& qp, Instant now, const Packet& packet, uint8_t syndrome);

// The short way for the middle of a WRITE, which is most packets of all: true if the packet was in
// turn and its data is in place. False if anything is out of the ordinary; on_request() then does
// all. The caller has made sure that the packet is the peer's.
bool continue_write(Core& core, QueuePair& qp, const Packet& packet);

// Whether this packet, whose PSN is right, may be carried out.
Verdict judge(Core& core, QueuePair& qp, const Packet& packet);

// Carries out what was accepted. An objection that shows only now, of the memory that the receiver
// itself named, comes back as a verdict.
Verdict carry_out(Core& core, QueuePair& qp, const Packet& packet);

// PSNs that a request takes: one, but for READs one for each response.
uint32_t psns_of(const QueuePair& qp, const Packet& packet);

// Steps of the ordered responder that the unordered one takes too (unordered.h).
namespace steps {

// The packet's turn has come: it is judged, carried out, and answered if it asks.
void carry_out_in_turn(Core& core, QueuePair& qp, const Packet& packet);
// The objection goes back; the packet's turn has come.
void refuse(Core& core, QueuePair& qp, const Packet& packet, Verdict verdict);
void answer_duplicate(Core& core, QueuePair& qp, const Packet& packet);
void acknowledge_newest(Core& core, QueuePair& qp);
// The receive in ResponderState::receive_place ends, with ResponderState::received bytes.
void end_receive(Core& core, QueuePair& qp, const Packet& packet, Status status);
ReorderBuffer& reorder_buffer(Core& core, QueuePair& qp);

}  // namespace steps

}  // namespace tulle::transport
