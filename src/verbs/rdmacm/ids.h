// The objects behind the handles of the connection manager's interface. Each begins with the public
// structure.
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

// An event with its private data. Work that must precede its delivery is done when the program asks
// for it, in the program's thread.
struct CmEventBox {
    rdma_cm_event shown{};
    std::array<uint8_t, 256> private_data{};
    bool finishes_connect = false;  // a reply: move the queue pair to RTS, then send RTU
    CmEventBox* next = nullptr;     // of the list that it is in
};

// A queue of events. It allocates nothing, so an existing event cannot be lost for lack of memory.
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

// Number of forks up to this process. Objects of an earlier era belong to the parent.
uint32_t era();

struct CmChannel {
    rdma_event_channel shown{};
    const uint32_t made_in = era();
    live::EventQueue<CmEventBox*> events;

    // Removes matching events.
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
    Manager* manager = nullptr;   // of its device
    bool is_synchronous = false;  // without a channel: calls wait for their event
    bool owns_channel = false;
    bool is_bound = false;
    bool is_listening = false;
    bool is_passive = false;
    bool is_sought = false;               // waiting for a listener at its destination
    std::vector<live::Descriptor> ports;  // held ports: one, or one per device
    transport::CmHandle handle{};
    uint32_t peer = kNobody;     // the process at the other end, while it lives
    bool is_peer_gone = false;   // and it was not reported yet
    ibv_ah_attr peer_address{};  // address of its queue pairs
    ibv_sa_path_rec path{};
    uint8_t ack_timeout = 0;
    uint8_t type_of_service = 0;
    // The agreed parameters of the connection.
    uint32_t own_qpn = 0;
    uint32_t remote_qpn = 0;
    uint32_t remote_qkey = 0;
    uint32_t receive_psn = 0;  // of the first packet to receive; we tell the peer
    uint32_t send_psn = 0;     // of the first packet to send; the peer told us
    uint8_t responder_resources = 0;
    uint8_t initiator_depth = 0;
    uint8_t retry_count = 7;
    uint8_t rnr_retry_count = 7;
    uint8_t min_rnr_timer = 0;
    bool has_srq = false;
    // For a listener: how many requests may wait for the program, and how many do.
    uint32_t backlog = 0;
    std::atomic<uint32_t> untaken{0};
    Id* listen_id = nullptr;
    std::vector<Id*> waiting;  // for a listener without a channel: pending requests
    std::vector<Multicast> groups;
    ibv_qp_init_attr qp_attributes{};  // for a listening end point: attributes of accepted ones
    bool creates_qp = false;
    bool owns_cqs = false;
    uint32_t events_out = 0;               // delivered and not acknowledged
    std::atomic<bool> is_asking{false};    // resolving a name, answered by an event
    rdma_addrinfo* information = nullptr;  // the answer, until the program takes it
};

inline Id& id_of(rdma_cm_id* id) {
    return object_of<Id>(id);
}
inline CmChannel& channel_of(rdma_event_channel* channel) {
    return object_of<CmChannel>(channel);
}

// Sets errno and returns -1, as these calls do.
inline int refuse_call(int error) {
    errno = error;
    return -1;
}

inline uint8_t protocol_of(rdma_port_space space) {
    return static_cast<uint8_t>(space);  // TCP 0x106, UDP 0x111, IB 0x13f
}

}  // namespace tulle::verbs
