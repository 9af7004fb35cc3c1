#include "verbs/rdmacm/manager.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "live/meeting.h"
#include "verbs/rdmacm/connect.h"
#include "verbs/rdmacm/delivery.h"

namespace tulle::verbs {
namespace {

constexpr base::Duration kLater{1'000'000'000};  // 1 ms, chosen: when to retry
// 300 ms, chosen: a message that a process holds back for one that is not there yet comes before.
constexpr base::Duration kEarlyRepeat{300'000'000'000};

// 2 s, chosen: how often a process on another machine is asked whether it lives.
constexpr base::Duration kAskEvery{2'000'000'000'000};

uint64_t random_word() {
    uint64_t word = 0;
    while (getrandom(&word, sizeof word, 0) != sizeof word) continue;
    return word;
}

// The GUID by which other connection managers know us. A new process reuses the queue pair numbers
// of one that was killed. With the same GUID, a peer that has not noticed that end would refuse the
// new connection as stale (12.9.8.3.1). So each process is a separate adapter to them.
wire::Guid guid_of_process(uint64_t node_guid) {
    constexpr uint64_t kVendor = 0xffff'ff00'0000'0000;
    return wire::Guid{(node_guid & kVendor) | (random_word() & ~kVendor)};
}

}  // namespace

std::array<Manager, live::kMaxDevices>& Manager::managers() {
    static auto* made = [] {
        pthread_atfork(nullptr, nullptr, after_fork_in_child);
        auto* all =
            new std::array<Manager, live::kMaxDevices>;  // outlives the program's destructors
        for (uint32_t device = 0; device < all->size(); ++device) (*all)[device].device_ = device;
        return all;
    }();
    return *made;
}

Manager& Manager::of_device(uint32_t device) {
    return managers()[device];
}

std::span<Manager> Manager::all() {
    return std::span(managers()).first(live::device_count_from_environment());
}

namespace {
std::atomic<uint32_t> forks{0};
}

uint32_t era() {
    (void)Manager::first();  // starts counting forks
    return forks.load(std::memory_order_relaxed);
}

void Manager::refuse_parents_id() {
    throw std::system_error(EIO, std::generic_category());
}

// All state belongs to the parent; the child opens devices of its own. Ids and events that the
// child's copy of the program refers to stay in place.
void Manager::after_fork_in_child() {
    ++forks;
    for (Manager& manager : managers()) manager.abandon();
}

void Manager::abandon() {
    context_ = nullptr;
    domain_ = nullptr;
    xrc_domain_ = nullptr;
    (void)engine_.release();
    ids_.clear();
    ears_.clear();
    by_handle_.clear();
    events_.abandon();
    seeker_.abandon();
    unheard_.reset();
    event_.reset();
    message_.reset();
    is_draining_ = false;
}

bool Manager::open() {
    bridge_ = tulle_live_bridge(kBridgeVersion);
    if (bridge_ == nullptr) {
        errno = ENODEV;
        return false;
    }
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    const auto number = static_cast<int>(device_);
    ibv_context* context = count > number ? ibv_open_device(devices[number]) : nullptr;
    ibv_free_device_list(devices);
    if (context == nullptr) return false;
    ibv_device_attr attributes{};
    ibv_query_device(context, &attributes);
    ibv_port_attr port{};
    (void)verbs_get_ctx(context)->query_port(context, 1, &port, sizeof port);
    transport::CmConfig config;
    config.max_path_mtu = static_cast<uint8_t>(port.active_mtu);
    config.ca_guid = guid_of_process(be64toh(attributes.node_guid));
    // Processes of a machine share queue pair 1: an ID tells them apart (live/udp_neighbours.h).
    config.id_mask = 0xff00'0000;
    config.id_value = bridge_->slot(context) << 24;
    config.early_repeat = kEarlyRepeat;
    config.ask_every = kAskEvery;
    random_ = base::RandomStream({random_word(), 1, 0});
    engine_ = std::make_unique<transport::ConnectionManager>(
        config, base::RandomStream({random_word(), 2, 0}));
    ManagementHandler handler;
    handler.self = this;
    // They are called from the other library, often in its thread, so they must not throw.
    handler.on_message = [](void* self, uint32_t peer, const void* bytes, size_t length) {
        static_cast<Manager*>(self)->on_message(peer,
                                                {static_cast<const std::byte*>(bytes), length});
    };
    handler.on_gone = [](void* self, uint32_t peer) { static_cast<Manager*>(self)->on_gone(peer); };
    handler.on_unreachable = [](void* self, uint32_t peer, bool is_refused, const void* quoted,
                                size_t length) {
        auto& manager = *static_cast<Manager*>(self);
        (void)is_done([&] {
            manager.engine_->on_unreachable(manager.now(), peer, is_refused,
                                            {static_cast<const std::byte*>(quoted), length});
        });
        manager.drain();
    };
    handler.on_progress = [](void* self) {
        auto& manager = *static_cast<Manager*>(self);
        (void)is_done([&] { manager.engine_->on_timer(manager.now()); });
        manager.drain();
    };
    handler.on_established = [](void* self, uint32_t qpn) {
        auto& manager = *static_cast<Manager*>(self);
        (void)is_done([&] {
            for (const auto& [bits, id] : manager.by_handle_)
                if (id->own_qpn == qpn)
                    (void)manager.engine_->communication_established(manager.now(),
                                                                     transport::CmHandle{bits});
        });
    };
    bridge_->lock(context);
    context_ = context;  // before the thread can need it
    bridge_->set_handler(context, handler);
    bridge_->unlock(context);
    return true;
}

ibv_context* Manager::context() {
    const std::lock_guard guard(opening_);
    if (context_ == nullptr && !open()) return nullptr;
    return context_;
}

ibv_pd* Manager::domain() {
    if (context() == nullptr) return nullptr;
    const std::lock_guard guard(opening_);
    if (domain_ == nullptr) domain_ = ibv_alloc_pd(context_);
    return domain_;
}

ibv_xrcd* Manager::xrc_domain() {
    if (context() == nullptr) return nullptr;
    const std::lock_guard guard(opening_);
    ibv_xrcd_init_attr own{.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
                           .fd = -1,
                           .oflags = O_CREAT};
    if (xrc_domain_ == nullptr) xrc_domain_ = ibv_open_xrcd(context_, &own);
    return xrc_domain_;
}

bool Manager::set_peer(Id& id, uint32_t peer, uint8_t its_port) {
    const bool is_good =
        bridge_->peer_address(context_, peer, {id.shown.port_num, its_port}, &id.peer_address);
    id.peer = is_good ? peer : kNobody;
    return is_good;
}

void Manager::adopt(Id& id) {
    if (id.manager == this) return;
    {
        const Guard guard(*this);
        ids_.push_back(&id);
    }
    if (id.manager != nullptr) {
        const Guard guard(*id.manager);
        std::erase(id.manager->ids_, &id);
    }
    id.manager = this;
}

int Manager::listen(Id& id, wire::Key64 service, uint16_t port) {
    ears_.reserve(ears_.size() + 1);
    const auto listening = engine_->listen(service);
    if (listening.status != transport::CmStatus::ok)
        return listening.status == transport::CmStatus::in_use ? EADDRINUSE : ENOMEM;
    if (!bridge_->show_port(context_, protocol_of(id.shown.ps), port,
                            address_gid(id.shown.route.addr.src_storage).bytes.data())) {
        (void)engine_->stop_listening(listening.listener);
        return ENOMEM;
    }
    ears_.push_back({listening.listener, &id});
    return 0;
}

void Manager::stop_listening(Id& id) {
    const auto is_of_it = [&](const Ear& ear) { return ear.id == &id; };
    for (const Ear& ear : ears_)
        if (is_of_it(ear)) (void)engine_->stop_listening(ear.listener);
    if (std::erase_if(ears_, is_of_it) > 0)
        bridge_->hide_port(context_, protocol_of(id.shown.ps),
                           address_port(id.shown.route.addr.src_storage));
}

void Manager::part_from(Id& id) {
    stop_listening(id);
    if (id.manager == this && id.handle) (void)engine_->abandon(now(), id.handle);
    std::erase_if(by_handle_, [&](const auto& entry) { return entry.second == &id; });
    std::erase(ids_, &id);
    seeker_.forget(id);
    for (Id* other : ids_) {
        if (other->listen_id == &id) other->listen_id = nullptr;
        std::erase(other->waiting, &id);
    }
}

template <class Work>
bool Manager::is_done(Work&& work) noexcept {
    try {
        work();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

// A message that finds no memory is handled a millisecond later. Of several the last is kept; the
// others count as lost, and are retransmitted.
void Manager::on_message(uint32_t peer, wire::Bytes bytes) noexcept {
    if (!is_done([&] { hear(peer, bytes); }) && bytes.size() == wire::kMadSize) {
        unheard_ = {peer, {}};
        std::ranges::copy(bytes, unheard_->bytes.begin());
    }
    drain();
}

// Delivers all output of the engine.
void Manager::drain() noexcept {
    if (is_draining_) return;
    is_draining_ = true;
    const bool is_all = is_done([&] {
        if (unheard_) hear(unheard_->peer, unheard_->bytes);
        unheard_.reset();
        lose_peers();
        hand_on_events();
        send_messages();
        events_.show();
    });
    is_draining_ = false;
    const base::Instant next = engine_->next_deadline();
    bridge_->flush(context_, is_all ? next.ps : std::min(next, now() + kLater).ps);
}

// An event is removed after it was handled; if memory fails it is handled again.
void Manager::hand_on_events() {
    for (;;) {
        if (!event_) event_ = engine_->poll_event();
        if (!event_) return;
        events_.prepare();
        Delivery(*this).apply(*event_);
        event_.reset();
    }
}

void Manager::send_messages() {
    for (;;) {
        if (!message_) message_ = engine_->poll_mad(now());
        if (!message_) return;
        if (!bridge_->send(context_, message_->endpoint, message_->mad.data(),
                           message_->mad.size()))
            throw std::bad_alloc();
        message_.reset();
    }
}

Id* Manager::id_of(transport::CmHandle handle, bool is_last) {
    const auto known = by_handle_.find(handle.bits);
    if (known == by_handle_.end()) return nullptr;
    Id* const id = known->second;
    if (is_last) {
        by_handle_.erase(known);
        id->handle = {};
    }
    return id;
}

Id* Manager::listener_of(transport::CmListener listener) {
    const auto found = std::ranges::find(ears_, listener, &Ear::listener);
    return found != ears_.end() ? found->id : nullptr;
}

// Does all of it or nothing.
Id* Manager::new_id_for(transport::CmListener listener, transport::CmHandle handle, uint32_t peer,
                        const std::optional<transport::IpAddresses>& ip) {
    if (listener_of(listener) == nullptr) return nullptr;
    Id& from = *listener_of(listener);
    for (const live::Descriptor& port : from.ports) live::dismiss_askers(port.get());
    auto id = std::make_unique<Id>();
    id->shown.verbs = context_;
    id->shown.channel = from.shown.channel;
    id->shown.context = from.shown.context;
    id->shown.ps = from.shown.ps;
    id->shown.qp_type = from.shown.qp_type;
    id->shown.pd = from.manager == this ? from.shown.pd : domain_;
    id->shown.port_num = ip ? port_of(ip->destination) : uint8_t{1};
    id->manager = this;
    id->is_synchronous = from.is_synchronous;
    id->is_passive = true;
    id->is_bound = true;
    id->listen_id = &from;
    id->handle = handle;
    id->receive_psn = next_psn();
    if (!set_peer(*id, peer, ip ? port_of(ip->source) : uint8_t{1})) return nullptr;
    ids_.reserve(ids_.size() + 1);
    own(handle, *id);
    ids_.push_back(id.get());
    return id.release();
}

// A process that ends closes its connections. A killed one cannot; on a real machine the kernel
// would do it.
void Manager::on_gone(uint32_t peer) {
    for (Id* id : ids_)
        if (id->peer == peer) id->is_peer_gone = true;
    (void)is_done([&] { engine_->lose_endpoint(peer); });
    drain();
}

// Peers whose end was not reported yet for lack of memory.
void Manager::lose_peers() {
    for (Id* id : ids_) {
        if (!id->is_peer_gone) continue;
        engine_->lose_endpoint(id->peer);
        id->peer = kNobody;
        id->is_peer_gone = false;
    }
}

}  // namespace tulle::verbs
