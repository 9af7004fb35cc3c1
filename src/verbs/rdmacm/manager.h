// The connection manager of a process and a device: feeds the engine of transport with messages of
// peers and with time, and delivers its events to ids. The lock of the host guards its state; every
// caller holds it.
//
// An id belongs to the manager of its device; until its addresses name one, to that of the first. A
// listener without an address listens at all devices.
#pragma once

#include <array>
#include <map>
#include <span>

#include "verbs/rdmacm/ids.h"
#include "verbs/rdmacm/seek.h"
#include "verbs/rdmacm/told_events.h"

namespace tulle::verbs {

class Manager {
public:
    Manager() = default;
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;
    static Manager& of_device(uint32_t device);
    static Manager& first() { return of_device(0); }
    // Throws EIO if the id belongs to the parent of a fork.
    static Manager& of(const Id& id) {
        if (id.made_in != era()) refuse_parents_id();
        return *id.manager;
    }
    // The managers of all devices of this host.
    static std::span<Manager> all();

    // Opens the device; nullptr and errno if that fails.
    ibv_context* context();
    // The default domains of ids.
    ibv_pd* domain();
    ibv_xrcd* xrc_domain();
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
    // Makes the id this manager's.
    void adopt(Id& id);
    // Listens for requests for the id. Returns an errno, or 0.
    int listen(Id& id, wire::Key64 service, uint16_t port);
    void stop_listening(Id& id);
    // The id is about to be destroyed: it gets no more events.
    void part_from(Id& id);

    // With the lock held.
    transport::ConnectionManager& engine() { return *engine_; }
    base::Instant now() const { return base::Instant{bridge_->now_ps()}; }
    uint32_t next_psn() { return static_cast<uint32_t>(random_.next()) & 0xff'ffff; }
    void own(transport::CmHandle handle, Id& id) { by_handle_[handle.bits] = &id; }
    // The id of this handle; nullptr if there is none. `is_last`: the handle is no longer its own.
    Id* id_of(transport::CmHandle handle, bool is_last);
    Id* listener_of(transport::CmListener listener);
    Id* new_id_for(transport::CmListener listener, transport::CmHandle handle, uint32_t peer,
                   const std::optional<transport::IpAddresses>& ip);
    Seeker& seeker() { return seeker_; }
    ToldEvents& events() { return events_; }
    // Makes this process the id's peer. False if it has no address.
    bool set_peer(Id& id, uint32_t peer, uint8_t its_port);

private:
    static std::array<Manager, live::kMaxDevices>& managers();
    static void after_fork_in_child();
    [[noreturn]] static void refuse_parents_id();
    void abandon();
    bool open();
    // Never throws: what finds no memory is retried a millisecond later.
    void drain() noexcept;
    void on_message(uint32_t peer, wire::Bytes bytes) noexcept;
    void hear(uint32_t peer, wire::Bytes bytes) {
        engine_->on_mad(now(), peer, wire::Qpn{1}, bytes);
    }
    void hand_on_events();
    void send_messages();
    template <class Work>
    static bool is_done(Work&& work) noexcept;
    void on_gone(uint32_t peer);
    void lose_peers();

    // The service at which the engine listens for an id.
    struct Ear {
        transport::CmListener listener;
        Id* id;
    };

    uint32_t device_ = 0;
    const Bridge* bridge_ = nullptr;
    ibv_context* context_ = nullptr;
    ibv_pd* domain_ = nullptr;
    ibv_xrcd* xrc_domain_ = nullptr;
    std::unique_ptr<transport::ConnectionManager> engine_;
    base::RandomStream random_{{}};
    std::mutex opening_;
    std::vector<Id*> ids_;
    std::vector<Ear> ears_;
    std::map<uint32_t, Id*> by_handle_;
    Seeker seeker_{*this};
    bool is_draining_ = false;
    // Input that has not reached the engine yet, and output that has not reached the program or the
    // peer yet.
    struct Arrived {
        uint32_t peer;
        std::array<std::byte, wire::kMadSize> bytes;
    };
    std::optional<Arrived> unheard_;
    std::optional<transport::CmEvent> event_;
    std::optional<transport::CmOutgoing> message_;
    ToldEvents events_;
};

// Fills the box of an event, and copies the private data.
template <class Bytes>
void carry(CmEventBox& box, const Bytes& bytes) {
    const size_t length = std::min(box.private_data.size(), std::size(bytes));
    std::copy_n(std::begin(bytes), length, box.private_data.begin());
    box.shown.param.conn.private_data = box.private_data.data();
    box.shown.param.conn.private_data_len = static_cast<uint8_t>(std::min<size_t>(length, 255));
}

// Sets the id's addresses from an incoming connection (resolve.cc).
void set_addresses(Id& id, const std::optional<transport::IpAddresses>& ip, uint16_t local_port);
void set_path(Id& id);
// The GID that the id sends from: that of its address, or the last.
int own_gid_index(const Id& id, int count);
wire::Gid address_gid(const sockaddr_storage& address);
// The port with this address: 127.p.d.n is port p + 1. Any other address is that of the first port.
uint8_t port_of(const wire::Gid& address);
uint16_t address_port(const sockaddr_storage& address);
bool is_wildcard(const sockaddr_storage& address);

// For an id without a channel: takes the event that a call has caused, and returns its result.
int wait_if_synchronous(Id& id);

}  // namespace tulle::verbs
