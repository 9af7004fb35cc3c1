// What the handles of the connection manager's interface are: each begins with the structure that
// programs see.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "live/descriptor.h"
#include "live/event_queue.h"
#include "transport/cm/connection_manager.h"
#include "verbs/bridge.h"
#include "verbs/objects.h"

#pragma GCC visibility push(default)
#include <rdma/rdma_cma.h>
#pragma GCC visibility pop

namespace tulle::verbs {

struct Id;
class Manager;

// An event, with the private data that it points to. What has to be done before the program sees it
// is done when it asks for it, by a thread of its own.
struct CmEventBox {
    rdma_cm_event shown{};
    std::array<uint8_t, 256> private_data{};
    bool finishes_connect = false;  // a reply came: the queue pair goes to RTS, then RTU
    CmEventBox* next = nullptr;     // of the list that it is in
};

// Events on their way. It needs no memory of its own, so an event that exists cannot be lost for
// want of it.
class CmEventList {
public:
    bool empty() const { return first_ == nullptr; }
    CmEventBox* front() const { return first_; }
    void push_back(CmEventBox* box) {
        box->next = nullptr;
        *last_ = box;
        last_ = &box->next;
    }
    CmEventBox* pop_front() {
        CmEventBox* box = std::exchange(first_, first_->next);
        if (first_ == nullptr) last_ = &first_;
        return box;
    }
    void clear() {
        first_ = nullptr;
        last_ = &first_;
    }
    CmEventList() = default;
    CmEventList(const CmEventList&) = delete;
    CmEventList& operator=(const CmEventList&) = delete;

private:
    CmEventBox* first_ = nullptr;
    CmEventBox** last_ = &first_;
};

// How often a process forked to become this one. What was made in another era is the parent's.
uint32_t era();

struct CmChannel {
    rdma_event_channel shown{};
    const uint32_t made_in = era();
    live::EventQueue<CmEventBox*> events;

    // Takes those out that are wanted.
    template <class Predicate>
    void take(Predicate&& is_wanted, CmEventList& into) {
        events.remove_if([&](CmEventBox* box) {
            if (!is_wanted(*box)) return false;
            into.push_back(box);
            return true;
        });
    }
};

struct Multicast {
    sockaddr_storage address{};
    ibv_gid group{};
    bool is_attached = false;
};

struct Id {
    rdma_cm_id shown{};
    const uint32_t made_in = era();
    Manager* manager = nullptr;   // of the device that it belongs to
    bool is_synchronous = false;  // the program gave no channel: calls wait for their event
    bool owns_channel = false;
    bool is_bound = false;
    bool is_listening = false;
    bool is_passive = false;
    bool is_sought = false;               // nobody listens yet where it wants to go
    std::vector<live::Descriptor> ports;  // held: one, or one of each device
    transport::CmHandle handle{};
    uint32_t peer = kNobody;     // the process at the other end, while it lives
    bool is_peer_gone = false;   // and nobody was told yet
    ibv_ah_attr peer_address{};  // how its queue pairs are reached
    ibv_sa_path_rec path{};
    uint8_t ack_timeout = 0;
    uint8_t type_of_service = 0;
    // Of the connection, as agreed.
    uint32_t own_qpn = 0;
    uint32_t remote_qpn = 0;
    uint32_t remote_qkey = 0;
    uint32_t receive_psn = 0;  // of the first packet that comes: what we tell the peer to begin at
    uint32_t send_psn = 0;     // of the first that we send: what the peer has told us
    uint8_t responder_resources = 0;
    uint8_t initiator_depth = 0;
    uint8_t retry_count = 7;
    uint8_t rnr_retry_count = 7;
    uint8_t min_rnr_timer = 0;
    bool has_srq = false;
    // Of a listener: how many requests may wait for the program to take them, and how many do.
    uint32_t backlog = 0;
    std::atomic<uint32_t> untaken{0};
    Id* listen_id = nullptr;
    std::vector<Id*> waiting;  // of a listener without a channel: requests that came
    std::vector<Multicast> groups;
    ibv_qp_init_attr qp_attributes{};  // of an end point that listens: for those that it accepts
    bool creates_qp = false;
    bool owns_cqs = false;
    uint32_t events_out = 0;  // handed to the program and not acknowledged
};

inline Id& id_of(rdma_cm_id* id) {
    return object_of<Id>(id);
}
inline CmChannel& channel_of(rdma_event_channel* channel) {
    return object_of<CmChannel>(channel);
}

// Sets errno and answers as these calls do.
inline int refuse_call(int error) {
    errno = error;
    return -1;
}

inline uint8_t protocol_of(rdma_port_space space) {
    return static_cast<uint8_t>(space);  // TCP 0x106, UDP 0x111, IB 0x13f
}

}  // namespace tulle::verbs
