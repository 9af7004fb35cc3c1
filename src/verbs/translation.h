// Translates work requests and attributes of queue pairs from verbs to the engine, as far as that
// needs no host. An errno means that it is impossible.
#pragma once

#include <array>
#include <optional>

#include "transport/adapter.h"
#include "verbs/objects.h"

namespace tulle::verbs {

// The data that a request points to while it is posted.
struct Scratch {
    std::array<transport::Sge, kMaxSges> sges;
    std::array<std::byte, kMaxInline> inline_data;
};

// The destination of a datagram is not translated here.
int translate_send(const ibv_send_wr& from, Scratch& scratch, transport::SendRequest& to);
int translate_receive(const ibv_recv_wr& from, Scratch& scratch, transport::ReceiveRequest& to);

std::optional<transport::QpType> type_of(ibv_qp_type type);
std::optional<transport::QpState> state_of(ibv_qp_state state);
ibv_qp_state shown_state(transport::QpState state);

// Whether a queue pair can have these attributes.
int check_attributes(const live::Identity& device, const ibv_qp_attr& a, int mask);
// All attributes but addresses.
void translate_attributes(const ibv_qp_attr& a, int mask, transport::QpAttributes& to);

// The inline data that fits into a queue of this size.
uint32_t inline_room(const ibv_qp_cap& cap);
// Many programs set the attributes of both halves on one half of an XRC connection; those of the
// other half are ignored.
int own_part(transport::QpType type, int mask);
// Stores the attributes, for ibv_query_qp().
void remember(ibv_qp_attr& kept, const ibv_qp_attr& a, int mask);

}  // namespace tulle::verbs
