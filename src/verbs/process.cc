#include "verbs/process.h"

#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

namespace tulle::verbs {
namespace {

using transport::EventKind;

// Far longer than the host's own thread holds a lock. Chosen.
constexpr std::chrono::milliseconds kPatienceAtExit{200};

// Takes the lock, unless its holder keeps it: a thread that hangs in a call, or the caller itself
// within one.
template <class Lock>
std::unique_lock<Lock> lock_soon(Lock& lock) {
    std::unique_lock guard(lock, std::defer_lock);
    const auto end = std::chrono::steady_clock::now() + kPatienceAtExit;
    while (!guard.try_lock() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return guard;
}

}  // namespace

std::array<Process, live::kMaxDevices>& Process::all() {
    // Never destroyed: the program's own destructors may still call verbs.
    static auto* processes = [] {
        auto* made = new std::array<Process, live::kMaxDevices>;
        for (uint32_t device = 0; device < made->size(); ++device) (*made)[device].device_ = device;
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        std::atexit(on_exit);
        return made;
    }();
    return *processes;
}

Process& Process::of_device(uint32_t device) {
    return all()[device];
}

Process& Process::of(const live::SoftwareAdapter& host) {
    return all()[host.identity().device];
}

std::nullptr_t refuse_to_open(int error) {
    if (error == EFBIG)
        std::fputs(
            "tulle: the limit of file sizes is too low for the memory that programs share; "
            "raise it by ulimit -f\n",
            stderr);
    if (error == EMFILE)
        std::fputs(
            "tulle: this program may open too few files for an adapter; "
            "raise the limit by ulimit -n\n",
            stderr);
    const bool is_limit = error == EMFILE || error == ENFILE || error == ENOMEM || error == EFBIG;
    return fail(is_limit ? error : ENODEV);
}

live::SoftwareAdapter* Process::acquire() {
    const std::lock_guard guard(lock_);
    errno = 0;
    if (!host_)
        host_ = live::SoftwareAdapter::open(live::identity_from_environment(device_), *this);
    if (!host_) return refuse_to_open(errno);
    ++users_;
    return host_.get();
}

void Process::release() {
    const std::lock_guard guard(lock_);
    if (--users_ == 0) host_.reset();
}

void Process::add(Context& context) {
    const std::lock_guard guard(lock_);
    contexts_.push_back(&context);
}

void Process::remove(Context& context) {
    const std::lock_guard guard(lock_);
    std::erase(contexts_, &context);
}

// Publishes the counters of a program that ends without closing its device. If it ends within a
// call, the last published values remain.
void Process::on_exit() {
    for (Process& process : all()) {
        const auto guard = lock_soon(process.lock_);
        if (!guard || !process.host_) continue;
        const auto host_guard = lock_soon(process.host_->lock());
        if (host_guard) process.host_->finish();
    }
}

// The locks are held across the fork, so that the child finds consistent state.
void Process::before_fork() {
    for (Process& process : all()) {
        process.lock_.lock();
        if (process.host_) process.host_->lock().lock();
    }
}

void Process::after_fork_in_parent() {
    for (Process& process : all()) {
        if (process.host_) process.host_->lock().unlock();
        process.lock_.unlock();
    }
}

// The thread does not exist in the child, and rings have one writer, so the child releases
// everything. It may open devices of its own; older handles belong to the parent, and calls with
// them are refused.
void Process::after_fork_in_child() {
    for (Process& process : all()) {
        if (process.host_) {
            process.host_->abandon();
            process.host_->lock().unlock();
            (void)process.host_.release();
        }
        process.users_ = 0;
        for (Context* context : process.contexts_) context->host = nullptr;
        process.contexts_.clear();
        process.cqs_.clear();
        process.srqs_.clear();
        process.qps_.clear();
        process.pds_.clear();
        process.regions_.clear();
        process.imported_regions.clear();
        process.lock_.unlock();
    }
}

ProtectionDomain* Process::imported_pd(const live::DeviceOwner& owner, uint32_t handle) const {
    const auto found = std::ranges::find_if(pds_, [&](const auto& entry) {
        return entry.second->foreign == owner && entry.second->shown.handle == handle;
    });
    return found == pds_.end() ? nullptr : found->second;
}

void Process::on_event(const transport::AdapterEvent& event) {
    ibv_async_event shown{};
    shown.event_type = static_cast<ibv_event_type>(event.kind);
    const auto tell = [&](ibv_context* context) { context_of(context).events.push(shown); };
    switch (event.kind) {
        case EventKind::completion: {
            Cq* cq = event.subject < cqs_.size() ? cqs_[event.subject] : nullptr;
            if (cq == nullptr) return;
            const bool has_place = std::exchange(cq->is_armed, false);
            if (cq->shown.channel == nullptr) return;
            auto& events = object_of<Channel>(cq->shown.channel).events;
            return has_place ? events.push_into_place(cq->plain()) : events.push(cq->plain());
        }
        case EventKind::cq_error: {
            Cq* cq = event.subject < cqs_.size() ? cqs_[event.subject] : nullptr;
            if (cq == nullptr) return;
            shown.element.cq = cq->plain();
            return tell(cq->shown.context);
        }
        case EventKind::srq_error:
        case EventKind::srq_limit_reached: {
            Srq* srq = event.subject < srqs_.size() ? srqs_[event.subject] : nullptr;
            if (srq == nullptr) return;
            if (event.kind == EventKind::srq_limit_reached) srq->attributes.srq_limit = 0;
            shown.element.srq = &srq->shown;
            return tell(srq->shown.context);
        }
        case EventKind::device_fatal: {
            std::set<ibv_context*> told;  // each with a completion queue
            for (const Cq* cq : cqs_)
                if (cq != nullptr && told.insert(cq->shown.context).second) tell(cq->shown.context);
            return;
        }
        case EventKind::ee_context_error: return;
        default: break;
    }
    QueuePair* subject = qp(transport::Qpn{event.subject});
    if (subject == nullptr) return;
    if (event.kind == EventKind::communication_established && management.on_established != nullptr)
        management.on_established(management.self, subject->plain().qp_num);
    for (; subject != nullptr; subject = subject->other) {
        shown.element.qp = &subject->plain();
        tell(subject->plain().context);
    }
}

bool Process::on_management(const live::ManagementMessage& message) {
    if (management.on_message == nullptr) return false;
    management.on_message(management.self, message.peer.value, message.bytes.data(),
                          message.bytes.size());
    return true;
}

void Process::on_gone(transport::EndpointIndex peer) {
    if (management.on_gone != nullptr) management.on_gone(management.self, peer.value);
}

void Process::on_unreachable(transport::EndpointIndex peer, bool is_refused,
                             std::span<const std::byte> quoted) {
    if (management.on_unreachable != nullptr)
        management.on_unreachable(management.self, peer.value, is_refused, quoted.data(),
                                  quoted.size());
}

void Process::on_progress() {
    if (management.on_progress != nullptr) management.on_progress(management.self);
}

void refuse_parents_device() {
    throw std::system_error(EIO, std::generic_category());
}

int errno_of(transport::Refusal refusal) {
    switch (refusal) {
        case transport::Refusal::none: return 0;
        case transport::Refusal::invalid_argument: return EINVAL;
        case transport::Refusal::queue_full:
        case transport::Refusal::out_of_resources: return ENOMEM;
        case transport::Refusal::busy: return EBUSY;
        case transport::Refusal::not_supported: return EOPNOTSUPP;
    }
    return EINVAL;
}

}  // namespace tulle::verbs
