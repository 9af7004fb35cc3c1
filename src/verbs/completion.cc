#include "verbs/completion.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "live/clock.h"
#include "verbs/explain.h"
#include "verbs/guard.h"
#include "verbs/process.h"

namespace tulle::verbs {
namespace {

constexpr size_t kAtATime = 16;

bool is_received(const transport::Completion& completion) {
    return (static_cast<uint8_t>(completion.kind) & 0x80) != 0;
}

// Takes completions that are there or arrive during the poll. `shall_yield` is set after many polls
// in vain.
size_t find(Cq& cq, live::SoftwareAdapter& host, std::unique_lock<std::mutex>& guard,
            std::span<transport::Completion> into, bool& shall_yield) {
    host.posting().settle();
    size_t count = host.adapter().completions().poll(cq.id, into);
    if (count != 0) return count;
    host.progress().make(true);
    count = host.adapter().completions().poll(cq.id, into);
    const auto comes = [&] {
        count = host.adapter().completions().poll(cq.id, into);
        return count != 0;
    };
    if (count != 0 || (cq.is_armed && host.progress().look_before_sleep(guard, comes)))
        return count;
    shall_yield = host.progress().on_empty_poll();
    return 0;
}

size_t take(Cq& cq, live::SoftwareAdapter& host, std::unique_lock<std::mutex>& guard,
            std::span<transport::Completion> into, bool& shall_yield) {
    const size_t count = find(cq, host, guard, into, shall_yield);
    if (count != 0) host.progress().on_full_poll();
    if (count != 0 && is_received(into[0])) host.progress().on_received();
    return count;
}

uint64_t clock_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

ibv_cq* to_cq(ibv_cq_ex* cq) {
    return ibv_cq_ex_to_cq(cq);
}

// The extended way to poll: one completion at a time, its fields read on request.
int next_poll(ibv_cq_ex* shown) {
    Cq& cq = cq_of(to_cq(shown));
    live::SoftwareAdapter& host = host_of(shown->context);
    bool shall_yield = false;
    std::unique_lock guard(host.lock());
    if (take(cq, host, guard, std::span(&cq.current, 1), shall_yield) == 0) {
        guard.unlock();
        if (shall_yield) sched_yield();
        return ENOENT;
    }
    show(host, cq.current, cq.current_shown);
    shown->wr_id = cq.current_shown.wr_id;
    shown->status = cq.current_shown.status;
    return 0;
}

int start_poll(ibv_cq_ex* shown, ibv_poll_cq_attr* attributes) {
    if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
    return next_poll(shown);
}

void end_poll(ibv_cq_ex*) {}

const ibv_wc& current(ibv_cq_ex* shown) {
    return cq_of(to_cq(shown)).current_shown;
}

void set_readers(ibv_cq_ex& cq) {
    cq.start_poll = Guard<start_poll, Failure::error_number, void>::call;
    cq.next_poll = Guard<next_poll, Failure::error_number, void>::call;
    cq.end_poll = end_poll;
    cq.read_opcode = [](ibv_cq_ex* c) { return current(c).opcode; };
    cq.read_vendor_err = [](ibv_cq_ex* c) { return current(c).vendor_err; };
    cq.read_byte_len = [](ibv_cq_ex* c) { return current(c).byte_len; };
    cq.read_imm_data = [](ibv_cq_ex* c) { return current(c).imm_data; };
    cq.read_qp_num = [](ibv_cq_ex* c) { return current(c).qp_num; };
    cq.read_src_qp = [](ibv_cq_ex* c) { return current(c).src_qp; };
    cq.read_wc_flags = [](ibv_cq_ex* c) { return current(c).wc_flags; };
    cq.read_slid = [](ibv_cq_ex* c) { return uint32_t{current(c).slid}; };
    cq.read_sl = [](ibv_cq_ex* c) { return current(c).sl; };
    cq.read_dlid_path_bits = [](ibv_cq_ex* c) { return current(c).dlid_path_bits; };
    cq.read_completion_ts = [](ibv_cq_ex*) { return clock_ns(CLOCK_MONOTONIC); };
    cq.read_completion_wallclock_ns = [](ibv_cq_ex*) { return clock_ns(CLOCK_REALTIME); };
    cq.read_cvlan = [](ibv_cq_ex*) { return uint16_t{0}; };
    cq.read_flow_tag = [](ibv_cq_ex*) { return uint32_t{0}; };
    cq.read_tm_info = [](ibv_cq_ex*, ibv_wc_tm_info* info) { *info = {}; };
}

Cq* create(ibv_context* context, uint32_t entries, ibv_comp_channel* channel, void* user) {
    if (entries == 0 || entries > static_cast<uint32_t>(kMaxCqe)) {
        errno = EINVAL;
        return nullptr;
    }
    auto cq = std::make_unique<Cq>();
    ibv_cq_ex& shown = cq->shown;
    shown.context = context;
    shown.channel = channel;
    shown.cq_context = user;
    shown.cqe = static_cast<int>(entries);
    pthread_mutex_init(&shown.mutex, nullptr);
    pthread_cond_init(&shown.cond, nullptr);
    set_readers(shown);
    live::SoftwareAdapter& host = host_of(context);
    const std::lock_guard guard(host.lock());
    Process::of(host).make_room();
    cq->id = host.adapter().completions().create(entries);
    shown.handle = cq->id.value;
    Process::of(host).add(*cq);
    if (channel != nullptr) ++channel->refcnt;
    return cq.release();
}

bool is_nonblocking(const Channel& channel) {
    return (fcntl(channel.shown.fd, F_GETFL) & O_NONBLOCK) != 0;
}

// A bell is not yet an event. A program with a nonblocking channel may be woken by the bell itself
// and find nothing; one that blocks would wait in vain. Programs rarely change the mode, so the
// kernel is asked seldom.
void show_bell(Channel& channel, live::SoftwareAdapter& host) {
    constexpr uint32_t kOften = 4;
    constexpr uint32_t kSeldom = 64;
    if (channel.shows_bell) return;
    if (++channel.arms > kOften && channel.arms % kSeldom != 0) return;
    if (is_nonblocking(channel))
        channel.shows_bell = host.progress().show_bell_in(channel.set.get());
}

// Reserves room for the event now, so that it is not lost if memory runs out.
void arm(Cq& cq, Channel& channel, live::SoftwareAdapter& host) {
    if (!cq.is_armed) channel.events.add_place();
    cq.is_armed = true;
    show_bell(channel, host);
}

// Takes an event that a bell announces. Descriptors do not count it: nobody sleeps meanwhile.
std::optional<ibv_cq*> answer_bell(Channel& channel, live::SoftwareAdapter& host) {
    channel.events.begin_looking();
    {
        const std::lock_guard guard(host.lock());
        host.progress().answer_bell();
    }
    auto event = channel.events.take();
    channel.events.end_looking();
    return event;
}

// The oldest event; waits for one unless the channel is nonblocking. Null and errno if there is
// none.
std::optional<ibv_cq*> next_event(Channel& channel) {
    auto& events = channel.events;
    live::SoftwareAdapter& host = host_of(channel.shown.context);
    const auto is_there = [&] { return !events.is_empty(); };
    for (;;) {
        // A program that the bell may wake in vain may also find the count of an event that it has.
        if (auto event = channel.shows_bell ? events.take_counted() : events.take()) return event;
        events.forget_taken();
        // A bell that is shown has probably woken the program, so the mode does not matter yet.
        if (channel.shows_bell || is_nonblocking(channel)) {
            if (auto event = answer_bell(channel, host)) return event;
            if (is_nonblocking(channel)) {
                errno = EAGAIN;
                return std::nullopt;
            }
        }
        events.begin_looking();
        (void)host.progress().look_awhile(is_there);
        auto event = events.take();
        events.end_looking();
        if (event) return event;
        if (!host.progress().sleep(is_there, events.file())) return std::nullopt;
    }
}

}  // namespace

namespace {

// InfiniBand ports have LIDs.
uint32_t port_of_sender(live::SoftwareAdapter& host, const transport::Completion& completion) {
    if (host.identity().more_ports.empty()) return 1;
    const uint32_t port = host.world().ends_of(completion.source, completion.source_qp).port;
    return std::min(port, host.world().facts_of(completion.source).port_count);
}

}  // namespace

void show(live::SoftwareAdapter& host, const transport::Completion& completion, ibv_wc& shown) {
    if (completion.status != transport::Status::success) [[unlikely]]
        explain(host, completion);
    shown = {};
    shown.wr_id = completion.id;
    shown.status = static_cast<ibv_wc_status>(completion.status);
    shown.opcode = static_cast<ibv_wc_opcode>(completion.kind);
    shown.vendor_err = completion.vendor_error;
    shown.byte_len = completion.byte_count;
    shown.qp_num = live::is_elsewhere(completion.qpn)
                       ? completion.qpn.value & ~live::kElsewhere
                       : host.world().own().outside_of(completion.qpn).value;
    shown.src_qp = completion.source_qp.value;
    shown.pkey_index = completion.pkey_index;
    shown.sl = completion.service_level;
    if ((completion.flags & transport::kHasGrh) != 0) {
        shown.wc_flags |= IBV_WC_GRH;
        // On Ethernet, adapters report the kind of header here, and UCX reads it: RoCE v2, over
        // IPv4 or IPv6.
        const live::Peer* from = host.world().peer(completion.source);
        const bool is_six = from != nullptr && from->is_remote && !wire::is_ipv4(from->own_address);
        if (host.identity().is_ethernet) shown.sl = is_six ? 1 : 2;
    }
    if ((completion.flags & transport::kWithImmediate) != 0) {
        shown.wc_flags |= IBV_WC_WITH_IMM;
        shown.imm_data = htobe32(completion.immediate_or_rkey);
    }
    if ((completion.flags & transport::kWithInvalidate) != 0) {
        shown.wc_flags |= IBV_WC_WITH_INV;
        shown.invalidated_rkey = completion.immediate_or_rkey;
    }
    const live::Peer* peer = host.world().peer(completion.source);
    if (completion.source.value != 0 && peer != nullptr)
        shown.slid = peer->facts.lid_of(port_of_sender(host, completion)).value;
    else
        shown.slid = host.identity().lid_of(port_of_sender(host, completion)).value;
}

namespace {

// Polls in batches, because room for them is cleared first.
template <size_t AtATime>
int poll_some(ibv_cq* shown, int count, ibv_wc* completions) {
    Cq& cq = cq_of(shown);
    live::SoftwareAdapter& host = host_of(shown->context);
    std::array<transport::Completion, AtATime> found;
    int total = 0;
    bool shall_yield = false;
    std::unique_lock guard(host.lock());
    while (total < count) {
        const size_t room = std::min<size_t>(AtATime, static_cast<size_t>(count - total));
        const auto into = std::span(found).first(room);
        // Only an empty queue makes it look further.
        const size_t got = total == 0 ? take(cq, host, guard, into, shall_yield)
                                      : host.adapter().completions().poll(cq.id, into);
        for (size_t i = 0; i < got; ++i) show(host, found[i], completions[total++]);
        if (got < room) break;
    }
    guard.unlock();
    if (shall_yield) sched_yield();
    return total;
}

}  // namespace

// Programs that spin usually ask for one.
int poll_cq(ibv_cq* shown, int count, ibv_wc* completions) {
    return count <= 1 ? poll_some<1>(shown, count, completions)
                      : poll_some<kAtATime>(shown, count, completions);
}

int req_notify_cq(ibv_cq* shown, int solicited_only) {
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    using Wish = transport::CompletionQueue::Wish;
    Cq& cq = cq_of(shown);
    if (shown->channel != nullptr) arm(cq, object_of<Channel>(shown->channel), host);
    return errno_of(
        host.posting().arm_cq(cq.id, solicited_only != 0 ? Wish::solicited : Wish::any));
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
    constexpr uint64_t kOffered = uint64_t{IBV_WC_STANDARD_FLAGS} |
                                  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    constexpr uint32_t kKnown = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
    constexpr uint32_t kFlags =
        IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    if ((attributes->wc_flags & ~kOffered) != 0) return fail(EOPNOTSUPP);
    if ((attributes->comp_mask & ~kKnown) != 0) return fail(EINVAL);
    if ((attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 &&
        (attributes->flags & ~kFlags) != 0)
        return fail(EOPNOTSUPP);
    if (attributes->comp_vector >= static_cast<uint32_t>(context->num_comp_vectors))
        return fail(EINVAL);
    Cq* cq = create(context, attributes->cqe, attributes->channel, attributes->cq_context);
    return cq == nullptr ? nullptr : &cq->shown;
}

int modify_cq(ibv_cq*, ibv_modify_cq_attr*) {
    return EOPNOTSUPP;
}

int query_rt_values(ibv_context*, ibv_values_ex* values) {
    const uint32_t asked = values->comp_mask;
    values->comp_mask = 0;
    if ((asked & ~uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EINVAL;
    if ((asked & IBV_VALUES_MASK_RAW_CLOCK) == 0) return 0;
    // The unit is that of hca_core_clock: nanoseconds, all of them in the second field.
    values->raw_clock = {0, static_cast<long>(clock_ns(CLOCK_MONOTONIC))};
    values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    return 0;
}

}  // namespace tulle::verbs

using namespace tulle;
using namespace tulle::verbs;

TULLE_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
    auto channel = std::make_unique<Channel>();
    channel->set = live::Descriptor(epoll_create1(EPOLL_CLOEXEC));
    if (!channel->set || !channel->events.is_open() || !channel->events.add_to(channel->set.get()))
        return fail(EMFILE);
    channel->shown = {context, channel->set.get(), 0};
    return &channel.release()->shown;
}

TULLE_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
    if (channel->refcnt != 0) return EBUSY;
    {
        live::SoftwareAdapter& host = host_of(channel->context);
        const std::lock_guard guard(host.lock());
        host.progress().hide_bell_in(channel->fd);
    }
    delete &object_of<Channel>(channel);
    return 0;
}

TULLE_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* user,
                                   ibv_comp_channel* channel, int vector) {
    if (entries <= 0 || vector < 0 || vector >= context->num_comp_vectors) return fail(EINVAL);
    Cq* cq = create(context, static_cast<uint32_t>(entries), channel, user);
    return cq == nullptr ? nullptr : cq->plain();
}

TULLE_EXPORT int ibv_resize_cq(ibv_cq* shown, int entries) {
    if (entries <= 0 || entries > kMaxCqe) return EINVAL;
    live::SoftwareAdapter& host = host_of(shown->context);
    const std::lock_guard guard(host.lock());
    const auto refusal =
        host.adapter().completions().resize(cq_of(shown).id, static_cast<uint32_t>(entries));
    if (refusal == transport::Refusal::none) shown->cqe = entries;
    return errno_of(refusal);
}

TULLE_EXPORT int ibv_destroy_cq(ibv_cq* shown) {
    Cq& cq = cq_of(shown);
    live::SoftwareAdapter& host = host_of(shown->context);
    {
        const std::lock_guard guard(host.lock());
        const auto refusal = host.adapter().completions().destroy(cq.id);
        if (refusal != transport::Refusal::none) return errno_of(refusal);
        Process::of(host).remove(cq);
    }
    if (shown->channel != nullptr) {
        auto& events = object_of<Channel>(shown->channel).events;
        if (cq.is_armed) events.remove_place();
        events.remove_if([&](ibv_cq* c) { return c == shown; });
        --shown->channel->refcnt;
    }
    context_of(shown->context).events.remove_if([&](const ibv_async_event& event) {
        return event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == shown;
    });
    cq.completions.wait();
    cq.asynchronous.wait();
    delete &cq;
    return 0;
}

TULLE_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) {
    const auto next = next_event(object_of<Channel>(channel));
    if (!next) return -1;
    cq_of(*next).completions.add();
    *cq = *next;
    *user = (*next)->cq_context;
    return 0;
}

TULLE_EXPORT void ibv_ack_cq_events(ibv_cq* cq, unsigned int count) {
    cq_of(cq).completions.pay(count);
}
