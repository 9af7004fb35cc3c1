// What programs say in the words of verbs, in those of the engine: work requests and the attributes
// of queue pairs, as far as that takes no host. An errno says that it cannot be.
#pragma once

#include <array>
#include <optional>

#include "transport/adapter.h"
#include "verbs/objects.h"

namespace tulle::verbs {

// What a request points to while it is posted.
struct Scratch {
    std::array<transport::Sge, kMaxSges> sges;
    std::array<std::byte, kMaxInline> inline_data;
};

// Where a datagram goes is not said here.
int translate_send(const ibv_send_wr& from, Scratch& scratch, transport::SendRequest& to);
int translate_receive(const ibv_recv_wr& from, Scratch& scratch, transport::ReceiveRequest& to);

std::optional<transport::QpType> type_of(ibv_qp_type type);
std::optional<transport::QpState> state_of(ibv_qp_state state);
ibv_qp_state shown_state(transport::QpState state);

// Whether a queue pair can have these attributes, whatever they are for.
int check_attributes(const live::Identity& device, const ibv_qp_attr& a, int mask);
// All but addresses.
void translate_attributes(const ibv_qp_attr& a, int mask, transport::QpAttributes& to);

// How much inline data there is room for in a queue of this size.
uint32_t inline_room(const ibv_qp_cap& cap);
// A half of an XRC connection is told of both halves by many programs; what is not its own is not
// looked at.
int own_part(transport::QpType type, int mask);
// Remembers what was set, for ibv_query_qp().
void remember(ibv_qp_attr& kept, const ibv_qp_attr& a, int mask);

}  // namespace tulle::verbs
