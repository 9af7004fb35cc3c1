// What all contexts of a process share: its host, and which object an event of the engine is about.
//
// The first context opens the host and the last one closes it, so that a program that has closed
// its devices has no thread and no socket of ours any more.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "live/host.h"
#include "verbs/objects.h"

namespace tulle::verbs {

// Takes the messages of the connection manager, which is in a library of its own.
struct ManagementHandler {
    void (*on_message)(void* self, uint32_t peer, const void* bytes, size_t length) = nullptr;
    void (*on_gone)(void* self, uint32_t peer) = nullptr;
    void (*on_progress)(void* self) = nullptr;
    void (*on_established)(void* self, uint32_t qpn) = nullptr;
    void* self = nullptr;
};

class Process final : public live::Listener {
public:
    static Process& instance();

    // nullptr, and errno, if the host cannot be opened.
    live::Host* acquire();
    void release();
    live::Host* host() { return host_.get(); }

    // With the host's lock held.
    // Room for one more of each, so that add() cannot fail.
    void make_room() {
        cqs_.reserve(std::max(cqs_.capacity(), 2 * (cqs_.size() + 1)));
        srqs_.reserve(std::max(srqs_.capacity(), 2 * (srqs_.size() + 1)));
    }
    void add(Cq& cq) { put(cqs_, cq.id.value, &cq); }
    void remove(Cq& cq) { put<Cq>(cqs_, cq.id.value, nullptr); }
    void add(Srq& srq) { put(srqs_, srq.id.value, &srq); }
    void remove(Srq& srq) { put<Srq>(srqs_, srq.id.value, nullptr); }
    // A queue pair has a handle, or several; the first leads to the others.
    void add(QueuePair& qp) {
        qp.other = std::exchange(qps_[transport::Core::index_of(qp.qpn)], &qp);
    }
    void remove(QueuePair& qp) {
        QueuePair** link = &qps_[transport::Core::index_of(qp.qpn)];
        while (*link != &qp) link = &(*link)->other;
        *link = qp.other;
    }
    QueuePair* qp(transport::Qpn qpn) { return qps_[transport::Core::index_of(qpn)]; }

    void on_event(const transport::AdapterEvent& event) override;
    void on_management(const live::ManagementMessage& message) override;
    void on_gone(transport::EndpointIndex peer) override;
    void on_progress() override;

    ManagementHandler management;

private:
    template <class T>
    static void put(std::vector<T*>& table, uint32_t number, T* object) {
        if (table.size() <= number) table.resize(number + 1);
        table[number] = object;
    }
    static void on_exit();
    static void before_fork();
    static void after_fork_in_parent();
    static void after_fork_in_child();

    std::mutex lock_;  // of the next two
    std::unique_ptr<live::Host> host_;
    uint32_t users_ = 0;
    std::vector<Cq*> cqs_;
    std::vector<Srq*> srqs_;
    std::array<QueuePair*, live::kQueuePairs> qps_{};
};

}  // namespace tulle::verbs
