// Connection set-up, besides the exported functions.
#pragma once

#include <span>

#include "verbs/rdmacm/ids.h"

namespace tulle::verbs {

// A reply has arrived: the queue pair goes to RTS and the peer is told. If that fails, the event
// becomes an error.
void finish_connect(Id& id, CmEventBox& box);
// A request has arrived for a listener that creates queue pairs itself.
void prepare_request(Id& id);
std::span<Manager> listening_managers(const Id& id);
void stop_listening(Id& id);
// The process that listens at the id's destination; kNobody if there is none. Call with the lock
// held, which may be released in between.
uint32_t find_listener(Manager& manager, const Id& id);
// The same among the processes that are known. Does not wait.
uint32_t find_known_listener(Manager& manager, const Id& id);
// Makes that process the id's peer. False for kNobody.
bool take_peer(Manager& manager, Id& id, uint32_t peer);
// Sends a connection request to the id's peer. Returns an errno, or 0.
int ask_peer(Manager& manager, Id& id, const rdma_conn_param* param);
// Tells the id that nobody listens there.
void tell_nobody_listens(Manager& manager, Id& id);
int give_own_channel(Id& id);
// A group was joined: the queue pair receives its messages.
void join_group(Id& id, CmEventBox& box);

// Changes the state of the id's queue pair; returns an errno, or 0.
int to_init(Id& id, ibv_qp* qp);
int to_ready_to_receive(Id& id, uint8_t responder_resources);
int to_ready_to_send(Id& id, uint8_t initiator_depth);
int start_datagrams(Id& id, ibv_qp* qp);

// The attributes that such a change sets.
int init_attributes(Id& id, ibv_qp_attr& attributes, int& mask);

}  // namespace tulle::verbs
