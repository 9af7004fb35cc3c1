// Connecting, beyond what the library exports.
#pragma once

#include <span>

#include "verbs/rdmacm/ids.h"

namespace tulle::verbs {

// A reply came: the queue pair goes to RTS and the peer is told that it may begin. Where that fails
// the event becomes an error.
void finish_connect(Id& id, CmEventBox& box);
// A request came for a listener that makes queue pairs by itself.
void prepare_request(Id& id);
std::span<Manager> listening_managers(const Id& id);
void stop_listening(Id& id);
// With the lock held, which may be let go meanwhile. Who listens where the id wants to go; kNobody
// if there is none.
uint32_t find_listener(Manager& manager, const Id& id);
// Makes that one the id's peer. False if it is nobody.
bool take_peer(Manager& manager, Id& id, uint32_t peer);
// Asks the id's peer for a connection. An errno, or 0.
int ask_peer(Manager& manager, Id& id, const rdma_conn_param* param);
// Nobody listens there, and that is what the id is told.
void tell_nobody_listens(Manager& manager, Id& id);
int give_own_channel(Id& id);
// A group was joined: the queue pair receives what is sent to it.
void join_group(Id& id, CmEventBox& box);

// Moves the id's queue pair; an errno, or 0.
int to_init(Id& id, ibv_qp* qp);
int to_ready_to_receive(Id& id, uint8_t responder_resources);
int to_ready_to_send(Id& id, uint8_t initiator_depth);
int start_datagrams(Id& id, ibv_qp* qp);

// The attributes that such a move sets.
int init_attributes(Id& id, ibv_qp_attr& attributes, int& mask);

}  // namespace tulle::verbs
