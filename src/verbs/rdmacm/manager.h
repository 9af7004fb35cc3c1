// The connection manager of a process and a device: the engine of transport, fed with messages of
// peers and with time, and its events given to the ids that they are about. Its state is guarded by
// the lock of the host, which whoever calls into it holds.
//
// An id belongs to the manager of its device; until its addresses name one, to that of the first. A
// listener without an address hears at all devices.
#pragma once

#include <array>
#include <map>
#include <span>

#include "verbs/rdmacm/ids.h"

namespace tulle::verbs {

class Manager {
public:
    Manager() = default;
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;
    static Manager& of_device(uint32_t device);
    static Manager& first() { return of_device(0); }
    // Throws EIO if the id is of the parent of a fork.
    static Manager& of(const Id& id) {
        if (id.made_in != era()) refuse_parents_id();
        return *id.manager;
    }
    // Of all devices that this host has.
    static std::span<Manager> all();

    // Opens the device; nullptr, and errno, if it cannot be.
    ibv_context* context();
    ibv_pd* domain();  // the one that ids have without being given one
    const Bridge& bridge() const { return *bridge_; }

    class Guard {
    public:
        explicit Guard(Manager& manager) : manager_(manager) {
            manager_.bridge_->lock(manager_.context_);
        }
        ~Guard() {
            manager_.drain();
            manager_.bridge_->unlock(manager_.context_);
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

    private:
        Manager& manager_;
    };

    // The program has taken the event of a request.
    void taken(Id& id) {
        const Guard guard(*this);
        if (id.listen_id != nullptr && id.listen_id->untaken > 0) --id.listen_id->untaken;
    }
    bool is_open() {
        const std::lock_guard guard(opening_);
        return context_ != nullptr;
    }
    // The id is this manager's from now on.
    void adopt(Id& id);
    // Hears requests for the id. An errno, or 0.
    int listen(Id& id, wire::Key64 service, uint16_t port);
    void stop_listening(Id& id);
    // The id is about to go: nothing more is heard of it.
    void part_from(Id& id);

    // With the lock held.
    transport::ConnectionManager& engine() { return *engine_; }
    base::Instant now() const { return base::Instant{bridge_->now_ps()}; }
    uint32_t next_psn() { return static_cast<uint32_t>(random_.next()) & 0xff'ffff; }
    void own(transport::CmHandle handle, Id& id) { by_handle_[handle.bits] = &id; }
    // Looks a while for one who listens where the id wants to go, and connects then. The caller
    // does not wait: a thread does.
    void seek(Id& id, const rdma_conn_param* param);
    // From now on the id talks to this process. False if that shows no address.
    bool set_peer(Id& id, uint32_t peer, uint8_t its_port);

    // An event for the program, on the channel of its id. It is filled in and then, when the lock
    // is let go, shown.
    CmEventBox& tell(Id& id, rdma_cm_event_type type, int status = 0);
    void show_later(CmEventBox* box) { unshown_.push_back(box); }
    template <class Predicate>
    void take_unshown(Predicate&& is_wanted, CmEventList& into);

private:
    static std::array<Manager, live::kMaxDevices>& managers();
    static void after_fork_in_child();
    [[noreturn]] static void refuse_parents_id();
    void abandon();
    bool open();
    // Never throws: what finds no memory is tried again a millisecond later.
    void drain() noexcept;
    void on_message(uint32_t peer, wire::Bytes bytes) noexcept;
    void hear(uint32_t peer, wire::Bytes bytes) {
        engine_->on_mad(now(), peer, wire::Qpn{1}, bytes);
    }
    void hand_on_events();
    void send_messages();
    void show_events();
    template <class Work>
    static bool is_done(Work&& work) noexcept;
    void on_event(const transport::CmEvent& event);
    void on_what(Id& id, const transport::CmReplyArrived& what);
    void on_what(Id& id, const transport::CmEstablished& what);
    void on_what(Id& id, const transport::CmRejected& what);
    void on_what(Id& id, const transport::CmUnreachable& what);
    void on_what(Id& id, const transport::CmDisconnected& what);
    void on_what(Id& id, const transport::CmTimeWaitOver& what);
    void on_what(Id& id, const transport::CmServiceAnswered& what);
    template <class What>
    void on_what(Id&, const What&) {}  // path migration and redirection are not offered
    void on_request(transport::CmHandle handle, const transport::CmRequestArrived& what);
    void on_service(transport::CmHandle handle, const transport::CmServiceRequested& what);
    Id* listener_of(transport::CmListener listener);
    Id* new_id_for(transport::CmListener listener, transport::CmHandle handle, uint32_t peer,
                   const std::optional<transport::IpAddresses>& ip);
    void on_gone(uint32_t peer);
    void lose(uint32_t peer);
    void lose_peers();
    void start_seeking();

    // Where the engine hears for an id.
    struct Ear {
        transport::CmListener listener;
        Id* id;
    };

    // An id that is sought for, with what its program has said, copied.
    struct Sought {
        uint64_t ticket;  // its id may go meanwhile
        Id* id;
        base::Instant until;
        std::optional<rdma_conn_param> param;
        std::array<std::byte, 256> private_data;
    };
    void keep_seeking() noexcept;
    Sought* sought_from(uint64_t ticket);
    void look_for(const Sought& sought) noexcept;
    void finish_seeking(Sought& sought, uint32_t peer);

    uint32_t device_ = 0;
    const Bridge* bridge_ = nullptr;
    ibv_context* context_ = nullptr;
    ibv_pd* domain_ = nullptr;
    std::unique_ptr<transport::ConnectionManager> engine_;
    base::RandomStream random_{{}};
    std::mutex opening_;
    std::vector<Id*> ids_;
    std::vector<Ear> ears_;
    std::map<uint32_t, Id*> by_handle_;
    std::vector<Sought> sought_;
    uint64_t next_ticket_ = 0;
    bool is_seeking_ = false;  // there is a thread
    bool is_draining_ = false;
    // What has not yet reached the engine, and what has left it and not yet reached the program or
    // the peer.
    struct Arrived {
        uint32_t peer;
        std::array<std::byte, wire::kMadSize> bytes;
    };
    std::optional<Arrived> unheard_;
    std::optional<transport::CmEvent> event_;
    std::optional<transport::CmOutgoing> message_;
    std::unique_ptr<CmEventBox> spare_;  // for the next event, allocated before anything is done
    CmEventList unshown_;
};

template <class Predicate>
void Manager::take_unshown(Predicate&& is_wanted, CmEventList& into) {
    CmEventList all;
    while (!unshown_.empty()) all.push_back(unshown_.pop_front());
    while (!all.empty()) {
        CmEventBox* box = all.pop_front();
        (is_wanted(*box) ? into : unshown_).push_back(box);
    }
}

// Puts an event into its box, private data copied.
template <class Bytes>
void carry(CmEventBox& box, const Bytes& bytes) {
    const size_t length = std::min(box.private_data.size(), std::size(bytes));
    std::copy_n(std::begin(bytes), length, box.private_data.begin());
    box.shown.param.conn.private_data = box.private_data.data();
    box.shown.param.conn.private_data_len = static_cast<uint8_t>(std::min<size_t>(length, 255));
}

// Fills in the id's addresses of a connection that came (resolve.cc).
void set_addresses(Id& id, const std::optional<transport::IpAddresses>& ip, uint16_t local_port);
void set_path(Id& id);
wire::Gid address_gid(const sockaddr_storage& address);
// The port of an adapter whose address it is: 127.p.d.n is port p + 1. All else is the first's.
uint8_t port_of(const wire::Gid& address);
uint16_t address_port(const sockaddr_storage& address);
bool is_wildcard(const sockaddr_storage& address);

// For an id without a channel: takes the event that a call has caused, and answers as it ended.
int wait_if_synchronous(Id& id);

}  // namespace tulle::verbs
