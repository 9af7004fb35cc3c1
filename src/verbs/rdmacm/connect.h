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
