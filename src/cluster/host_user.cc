#include "cluster/host_user.h"

#include <algorithm>
#include <array>

namespace tulle::cluster {
namespace {

constexpr uint64_t kMemoryBytes = uint64_t{1} << 46;  // modelled: only addresses exist
constexpr uint64_t kTask = uint64_t{1} << 32;  // in the id of a request: it belongs to a program

// Orders by time, and at one instant by number, in whatever order postings were added.
bool is_later(const Posting& a, const Posting& b) {
    return a.at != b.at ? a.at > b.at : a.id > b.id;
}

}  // namespace

HostUser::HostUser(transport::Adapter& adapter, const transport::MemoryAccess& memory,
                   uint32_t endpoint, Duration send_latency, uint32_t mtu)
    : adapter_(adapter),
      memory_(memory),
      endpoint_(endpoint),
      send_latency_(send_latency),
      mtu_(mtu),
      pd_(adapter.memory().create_pd()),
      cq_(adapter.completions().create(1)) {
    const uint32_t rights =
        transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead;
    key_ = *adapter_.memory().register_region({pd_, 0, kMemoryBytes, nullptr, rights});
}

void HostUser::begin() {
    room_for_completions_ = completions_;
    TULLE_CHECK(adapter_.completions().resize(cq_, completions_) == transport::Refusal::none);
}

// An event is one packet or timer, and its completions are collected before the next event.
void HostUser::make_room_for(uint32_t count) {
    constexpr uint32_t kReceives = 16;  // returned at once by an error
    if (count + kReceives <= room_for_completions_) return;
    room_for_completions_ = std::max(completions_, count + kReceives);
    TULLE_CHECK(adapter_.completions().resize(cq_, room_for_completions_) ==
                transport::Refusal::none);
}

Instant HostUser::add(Posting posting) {
    posting.at = fetched_at(posting);
    postings_.push_back(posting);
    std::ranges::push_heap(postings_, is_later);
    return posting.at;
}

// When the first packet of a posting is in the adapter. A READ has nothing to fetch here. The
// requests of a queue pair stay in order.
Instant HostUser::fetched_at(const Posting& posting) {
    Instant at = posting.at + send_latency_;
    if (memory_.is_free()) return at;
    if (posting.work != transport::Work::read && posting.bytes > memory_.max_inline)
        at += memory_.fetch(std::min<uint64_t>(posting.bytes, mtu_));
    const uint32_t place = transport::Core::index_of(posting.qpn);
    if (place >= last_fetched_.size()) last_fetched_.resize(place + 1);
    return last_fetched_[place] = std::max(last_fetched_[place], at);
}

void HostUser::post_next(Instant now) {
    std::ranges::pop_heap(postings_, is_later);
    const Posting& posting = postings_.back();
    if (account_ != nullptr)
        account_->note(MessageNote::Kind::posted, now, posting.id, posting.is_task, posting.qpn);
    post(posting);
    postings_.pop_back();
}

void HostUser::post(const Posting& posting) {
    uint64_t left = posting.bytes;
    do {
        const uint64_t bytes = std::min(left, kMessageBytes);
        left -= bytes;
        const transport::Sge sge{0, static_cast<uint32_t>(bytes), posting.lkey};
        transport::SendRequest request;
        request.id = posting.is_task ? kTask | posting.id : posting.id;
        request.immediate = posting.id;
        request.work = posting.work;
        request.flags = left == 0 ? transport::kSignalled : 0;
        request.sges = std::span(&sge, 1);
        request.rkey = posting.rkey;
        if (datagrams_ != nullptr) datagrams_->address(posting.qpn, request);
        TULLE_CHECK(adapter_.post_send(posting.qpn, request) == transport::Refusal::none);
        ++messages_sent_;
    } while (left != 0);
}

void HostUser::collect(Instant now, Ends& ends) {
    std::array<transport::Completion, 16> completions;
    while (const size_t count = adapter_.completions().poll(cq_, completions))
        for (size_t i = 0; i < count; ++i) note(now, completions[i], ends);
}

void HostUser::note(Instant now, const transport::Completion& completion, Ends& ends) {
    using transport::CompletionKind;
    const bool has_arrived = completion.kind == CompletionKind::receive_write_with_immediate;
    if (has_arrived || completion.kind == CompletionKind::receive) ++messages_received_;
    if (completion.kind == CompletionKind::receive) return;
    const auto id = static_cast<uint32_t>(completion.id);
    const bool is_task = has_arrived || (completion.id & kTask) != 0;
    if (account_ != nullptr)
        account_->note(has_arrived ? MessageNote::Kind::arrived : MessageNote::Kind::completed, now,
                       has_arrived ? completion.immediate_or_rkey : id, is_task, completion.qpn);
    if (!is_task) return ends.flows.push_back({id, completion.status, now});
    ends.tasks.push_back({now, has_arrived ? completion.immediate_or_rkey : id, endpoint_,
                          completion.status, has_arrived});
    if (has_arrived) adapter_.post_receive(completion.qpn, {});
}

}  // namespace tulle::cluster
