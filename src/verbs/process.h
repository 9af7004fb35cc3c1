// The state that all contexts of a process and a device share: its host, and the map from events of
// the engine to objects.
//
// The first context opens the host and the last one closes it, so a program that has closed its
// devices has no thread and no socket of ours left.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "live/software_adapter.h"
#include "verbs/objects.h"

namespace tulle::verbs {

// Receives messages for the connection manager, which is in another library.
struct ManagementHandler {
    void (*on_message)(void* self, uint32_t peer, const void* bytes, size_t length) = nullptr;
    void (*on_gone)(void* self, uint32_t peer) = nullptr;
    void (*on_unreachable)(void* self, uint32_t peer, bool is_refused, const void* quoted,
                           size_t length) = nullptr;
    void (*on_progress)(void* self) = nullptr;
    void (*on_established)(void* self, uint32_t qpn) = nullptr;
    void* self = nullptr;
};

// A device cannot be opened: sets errno, and says which limit is too low. Programs show at most the
// errno.
std::nullptr_t refuse_to_open(int error);

class Process final : public live::Listener {
public:
    static Process& of_device(uint32_t device);
    static Process& of(const live::SoftwareAdapter& host);
    static Process& of(ibv_context* context) { return of(host_of(context)); }

    // nullptr and errno if the host cannot be opened.
    live::SoftwareAdapter* acquire();
    void release();
    // Open contexts.
    void add(Context& context);
    void remove(Context& context);
    live::SoftwareAdapter* host() { return host_.get(); }

    // With the host's lock held.
    // Reserves room for one more of each, so that add() cannot fail.
    void make_room() {
        cqs_.reserve(std::max(cqs_.capacity(), 2 * (cqs_.size() + 1)));
        srqs_.reserve(std::max(srqs_.capacity(), 2 * (srqs_.size() + 1)));
    }
    void add(Cq& cq) { put(cqs_, cq.id.value, &cq); }
    void remove(Cq& cq) { put<Cq>(cqs_, cq.id.value, nullptr); }
    void add(Srq& srq) { put(srqs_, srq.id.value, &srq); }
    void remove(Srq& srq) { put<Srq>(srqs_, srq.id.value, nullptr); }
    // A queue pair may have several handles; the first leads to the others.
    void add(QueuePair& qp) {
        const uint32_t index = transport::Core::index_of(qp.qpn);
        if (qps_.size() <= index) qps_.resize(index + 1);
        qp.other = std::exchange(qps_[index], &qp);
    }
    void remove(QueuePair& qp) {
        QueuePair** link = &qps_[transport::Core::index_of(qp.qpn)];
        while (*link != &qp) link = &(*link)->other;
        *link = qp.other;
    }
    QueuePair* qp(transport::Qpn qpn) {
        const uint32_t index = transport::Core::index_of(qpn);
        return index < qps_.size() ? qps_[index] : nullptr;
    }

    void add(ProtectionDomain& pd) { pds_[pd.id.value] = &pd; }
    void remove(ProtectionDomain& pd) { pds_.erase(pd.id.value); }
    ProtectionDomain* pd(uint32_t handle) const { return find(pds_, handle); }
    // A domain that was already imported from another process.
    ProtectionDomain* imported_pd(const live::DeviceOwner& owner, uint32_t handle) const;
    void add(Region& region) { regions_[region.shown.handle] = &region; }
    void remove(Region& region) { regions_.erase(region.shown.handle); }
    Region* region(uint32_t handle) const { return find(regions_, handle); }

    void on_event(const transport::AdapterEvent& event) override;
    bool on_management(const live::ManagementMessage& message) override;
    void on_gone(transport::EndpointIndex peer) override;
    void on_unreachable(transport::EndpointIndex peer, bool is_refused,
                        std::span<const std::byte> quoted) override;
    void on_progress() override;

    ManagementHandler management;
    // Regions of other processes, by the key that their owner gave. Call with the host's lock held.
    std::unordered_map<uint32_t, std::weak_ptr<live::ImportedRegion>> imported_regions;

private:
    template <class T>
    static void put(std::vector<T*>& table, uint32_t number, T* object) {
        if (table.size() <= number) table.resize(number + 1);
        table[number] = object;
    }
    template <class T>
    static T* find(const std::unordered_map<uint32_t, T*>& table, uint32_t handle) {
        const auto found = table.find(handle);
        return found == table.end() ? nullptr : found->second;
    }
    static void on_exit();
    static void before_fork();
    static void after_fork_in_parent();
    static void after_fork_in_child();
    static std::array<Process, live::kMaxDevices>& all();

    std::mutex lock_;  // protects the next four
    uint32_t device_ = 0;
    std::unique_ptr<live::SoftwareAdapter> host_;
    uint32_t users_ = 0;
    std::vector<Context*> contexts_;
    std::vector<Cq*> cqs_;
    std::vector<Srq*> srqs_;
    std::unordered_map<uint32_t, ProtectionDomain*> pds_;  // by handle
    std::unordered_map<uint32_t, Region*> regions_;
    std::vector<QueuePair*> qps_;
};

}  // namespace tulle::verbs
