// The objects behind the program's handles. Each begins with the public structure, so that a
// pointer to one is a pointer to the other.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "live/descriptor.h"
#include "live/event_queue.h"
#include "live/software_adapter.h"
#include "verbs/api.h"

namespace tulle::verbs {

inline constexpr int kMaxQueuePairs = live::kQueuePairs - 2;
inline constexpr int kMaxWork = 1 << 15;
inline constexpr int kMaxSges = 32;
inline constexpr int kMaxInline = 1024;
inline constexpr int kMaxCqe = (1 << 22) - 1;
inline constexpr int kMaxReads = 16;
inline constexpr int kMaxSharedWork = 1 << 15;

struct Context {
    verbs_context verbs{};
    live::EventQueue<ibv_async_event> events;
    live::Descriptor command;  // the file that represents the device, as programs expect
    std::optional<live::DeviceOwner> foreign;  // the other process that owns the file
    live::SoftwareAdapter* host =
        nullptr;  // null in the child of a fork, which has no part in its parent's
    const live::Identity* identity = nullptr;

    ibv_context* shown() { return &verbs.context; }
};

// Events of an object that were delivered and not acknowledged: it cannot be destroyed before.
class Owed {
public:
    void add() {
        const std::lock_guard guard(lock_);
        ++owed_;
    }
    void pay(uint32_t count) {
        const std::lock_guard guard(lock_);
        owed_ -= std::min(owed_, count);
        if (owed_ == 0) paid_.notify_all();
    }
    void wait() {
        std::unique_lock guard(lock_);
        paid_.wait(guard, [&] { return owed_ == 0; });
    }

private:
    std::mutex lock_;
    std::condition_variable paid_;
    uint32_t owed_ = 0;
};

// The program promises to use it from one thread only. It is locked all the same.
struct ThreadDomain {
    ibv_td shown{};
    uint32_t users = 0;  // parent domains
};

struct ProtectionDomain {
    ibv_pd shown{};
    transport::PdId id{};
    ProtectionDomain* parent = nullptr;  // of a parent domain: the domain whose memory it uses,
    ThreadDomain* threads = nullptr;     // and optionally its thread domain
    uint32_t children = 0;
    std::optional<live::DeviceOwner> foreign;  // the process it was imported from

    // The domain whose memory it uses.
    ProtectionDomain& root() { return parent == nullptr ? *this : parent->root(); }
};

struct Region {
    ibv_mr shown{};
    transport::RegionRequest request{};
    std::shared_ptr<live::ImportedRegion> imported;  // from another process; may be shared
};

struct Window {
    ibv_mw shown{};
};

// The descriptor that a program sleeps on is an epoll set: the queue's own descriptor, and the bell
// if it may wake the program itself.
struct Channel {
    ibv_comp_channel shown{};
    live::EventQueue<ibv_cq*> events;
    live::Descriptor set;
    bool shows_bell = false;
    uint32_t arms = 0;  // since it was last checked whether it may
};

struct Cq {
    ibv_cq_ex shown{};
    transport::CqId id{};
    Owed completions;
    Owed asynchronous;
    transport::Completion current{};  // for the extended way to poll
    ibv_wc current_shown{};
    uint64_t wc_flags = 0;
    bool is_armed = false;  // no event since; its channel has room reserved for one

    ibv_cq* plain() { return reinterpret_cast<ibv_cq*>(&shown); }
};

struct Srq {
    ibv_srq shown{};
    transport::SrqId id{};
    ibv_srq_attr attributes{};
    ibv_srq_type type = IBV_SRQT_BASIC;
    ibv_xrcd* xrcd = nullptr;
    ibv_cq* cq = nullptr;
    Owed asynchronous;
};

struct XrcDomain {
    ibv_xrcd shown{};
    transport::XrcDomainId id{};
    const live::SoftwareAdapter* host =
        nullptr;              // of its adapter; differs from that of a forked parent
    uint32_t users = 1;       // number of opens by the program
    live::DomainFile file{};  // that represents it, if any
};

struct AddressHandle {
    ibv_ah shown{};
    live::Destination destination{};
    bool is_multicast = false;
    ibv_ah_attr attributes{};
};

// A request under construction, for the extended way to post.
struct PendingWork {
    ibv_send_wr request{};
    std::vector<ibv_sge> sges;
    std::vector<std::byte> inline_data;
};

struct QueuePair {
    ibv_qp_ex shown{};
    // Members that rdma-core has added to that structure since.
    void (*wr_flush)(ibv_qp_ex* qp, uint32_t rkey, uint64_t address, size_t length, uint8_t type,
                     uint8_t level) = nullptr;
    transport::Qpn qpn{};
    transport::QpType type = transport::QpType::rc;
    ibv_qp_init_attr init{};
    ibv_qp_attr attributes{};
    bool has_builders = false;
    uint64_t builders = 0;
    std::vector<PendingWork> pending;
    int pending_error = 0;
    bool is_explained = false;  // its first failure was explained
    Owed asynchronous;
    QueuePair* other = nullptr;  // the next handle of the same queue pair (ibv_open_qp)
    // Of one of XRC that another process has: the domain that both have open. The queue pair ends
    // with its owner.
    std::optional<transport::XrcDomainId> elsewhere;

    ibv_qp& plain() { return shown.qp_base; }
};

static_assert(offsetof(QueuePair, wr_flush) == sizeof(ibv_qp_ex));

template <class Object, class Shown>
Object& object_of(Shown* shown) {
    return *reinterpret_cast<Object*>(shown);
}

inline Context& context_of(ibv_context* context) {
    return *reinterpret_cast<Context*>(verbs_get_ctx(context));
}
// Throws EIO, as for an unplugged adapter, if the device belongs to the parent of a fork.
[[noreturn]] void refuse_parents_device();
inline live::SoftwareAdapter& host_of(ibv_context* context) {
    live::SoftwareAdapter* host = context_of(context).host;
    if (host == nullptr) [[unlikely]]
        refuse_parents_device();
    return *host;
}
inline Cq& cq_of(ibv_cq* cq) {
    return object_of<Cq>(cq);
}
inline QueuePair& qp_of(ibv_qp* qp) {
    return object_of<QueuePair>(qp);
}
inline ProtectionDomain& pd_of(ibv_pd* pd) {
    return object_of<ProtectionDomain>(pd);
}

// The errno of a refusal.
int errno_of(transport::Refusal refusal);

// Sets errno, for calls that return a pointer.
inline std::nullptr_t fail(int error) {
    errno = error;
    return nullptr;
}

}  // namespace tulle::verbs
