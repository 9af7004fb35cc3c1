#include "live/direct.h"

#include <algorithm>

#include "base/guarded_copy.h"
#include "live/clock.h"
#include "live/record.h"

namespace tulle::live {
namespace {

using transport::SendRequest;

constexpr uint64_t kMostBytes = 1 << 30;  // of one call; the kernel's limit is below twice this
constexpr uint64_t kMostKept = 64 << 10;  // larger ones gain nothing by waiting
// A call of the kernel for a list of WRITEs costs about as much as copying this many bytes for
// each.
constexpr size_t kMostThroughRing = 1024;
constexpr size_t kManyWrites = 8;

uint64_t length_of(const SendRequest& request) {
    if ((request.flags & transport::kInline) != 0) return request.inline_data.size();
    uint64_t sum = 0;
    for (const transport::Sge& sge : request.sges) sum += sge.length;
    return sum;
}

bool contains(uint64_t outer, uint64_t outer_length, uint64_t inner, uint64_t inner_length) {
    return inner >= outer && inner_length <= outer_length &&
           inner - outer <= outer_length - inner_length;
}

}  // namespace

// The responder's checks: the queue pair is connected to this one and allows the operation, the key
// belongs to its protection domain, and the region grants the right and contains the range.
bool DirectPath::is_allowed(const Grants& grants, const transport::QueuePair& qp,
                            Work& work) const {
    const SendRequest& request = work.request;
    const uint32_t needed = is_read_ ? transport::kRemoteRead : transport::kRemoteWrite;
    const QueuePairNote& note = grants.queue_pairs[place_of(peer_->board(), qp.dest_qpn)];
    if (note.number.load() != qp.dest_qpn.value || note.peer.load() != work.own_number.value ||
        note.peer_instance.load() != work.own_instance || (note.access.load() & needed) == 0)
        return false;
    const RegionNote* region = find_region(grants, request.rkey);
    if (region == nullptr || region->pd.load() != note.pd.load()) return false;
    const uint64_t address = region->address.load();
    if ((region->access.load() & needed) == 0 ||
        !contains(address, region->length.load(), request.remote_address, work.length))
        return false;
    work.place = region->host.load() + (request.remote_address - address);
    return true;
}

bool DirectPath::add_parts(transport::Adapter& adapter, const transport::QueuePair& qp,
                           Work& work) {
    const size_t first = parts_;
    uint64_t place = work.place;
    const auto put = [&](const std::byte* here, size_t length) {
        here_[parts_] = {const_cast<std::byte*>(here), length};
        there_[parts_++] = {reinterpret_cast<void*>(place), length};
        place += length;
    };
    if ((work.request.flags & transport::kInline) != 0) {
        put(work.inline_data.data(), work.length);
        work.parts = 1;
        return true;
    }
    const uint32_t access = is_read_ ? transport::kLocalWrite : 0u;
    for (const transport::Sge& sge : work.request.sges) {
        if (sge.length == 0) continue;
        const auto grant =
            adapter.memory().check(sge.lkey, qp.asker(), sge.address, sge.length, access);
        if (!grant || grant->host == nullptr || base::is_foreign(grant->host)) {
            parts_ = first;
            return false;
        }
        put(grant->host, sge.length);
    }
    work.parts = static_cast<uint32_t>(parts_ - first);
    return true;
}

bool DirectPath::prepare(transport::Adapter& adapter, Work& work) {
    const transport::QueuePair* qp = adapter.queue_pairs().find(work.qpn);
    // The queue pair may have failed since the work was kept.
    return qp != nullptr && qp->state == transport::QpState::rts &&
           is_allowed(peer_->grants(), *qp, work) && add_parts(adapter, *qp, work);
}

bool DirectPath::takes(const transport::QueuePair& qp, const SendRequest& request) {
    const bool is_read = request.work == transport::Work::read;
    if (!is_read && request.work != transport::Work::write) return false;
    const bool is_connected = qp.type == transport::QpType::rc || qp.type == transport::QpType::uc;
    if (!is_connected || qp.state != transport::QpState::rts || (is_read && qp.max_reads == 0) ||
        (is_read && qp.type == transport::QpType::uc))
        return false;
    if (request.sges.size() > std::min<size_t>(kMostSges, qp.send_size.sges)) return false;
    const bool is_inline = (request.flags & transport::kInline) != 0;
    if (is_inline && (is_read || request.inline_data.size() >
                                     std::min<size_t>(kMostInline, qp.send_size.inline_bytes)))
        return false;
    const uint64_t length = length_of(request);
    return length != 0 && length <= kMostBytes;
}

bool DirectPath::add(Peer& peer, transport::Adapter& adapter, const transport::QueuePair& qp,
                     wire::Qpn own_number, uint64_t own_instance, Ends ends,
                     const SendRequest& request) {
    const bool is_read = request.work == transport::Work::read;
    const bool is_inline = (request.flags & transport::kInline) != 0;
    const uint64_t length = length_of(request);
    if (count_ != 0 && (peer_ != &peer || is_read_ != is_read || count_ == kMostWork ||
                        bytes_ + length > kMostKept))
        (void)flush(adapter);
    if (qp.requester.oldest != qp.requester.end) return false;  // some of them go by packets
    peer_ = &peer;
    is_read_ = is_read;
    Work& work = work_[count_++];
    work.qpn = qp.number;
    work.own_number = own_number;
    work.own_instance = own_instance;
    work.ends = ends;
    work.request = request;
    work.length = static_cast<uint32_t>(length);
    if (is_inline) {
        std::ranges::copy(request.inline_data, work.inline_data.begin());
        work.request.inline_data = std::span(work.inline_data).first(length);
    } else {
        std::ranges::copy(request.sges, work.sges.begin());
        work.request.sges = std::span(work.sges).first(request.sges.size());
    }
    bytes_ += length;
    longest_ = std::max<size_t>(longest_, length);
    return true;
}

// A call that stops half way has met unmapped memory; all of its copies are then repeated.
bool DirectPath::copy() {
    size_t bytes = 0;
    for (size_t i = 0; i < parts_; ++i) bytes += here_[i].iov_len;
    const auto move = is_read_ ? process_vm_readv : process_vm_writev;
    return move(peer_->who.pid, here_.data(), parts_, there_.data(), parts_, 0) ==
           static_cast<ssize_t>(bytes);
}

// Counts as if packets had been sent. The target does not notice the copy, so we also count at its
// host.
void DirectPath::count(const Work& work, uint32_t mtu) {
    const CounterSlot::Transfer transfer{work.length, (work.length + mtu - 1) / mtu, is_read_};
    const auto own = static_cast<size_t>(work.ends.port - 1);
    const auto there = static_cast<size_t>(work.ends.peer_port - 1);
    if (counters_ != nullptr && own < kMaxPorts) counters_[own].count_at_initiator(transfer);
    if (there < peer_->counters.size()) peer_->counters[there].count_at_target(transfer);
}

bool DirectPath::goes_through_ring(base::Instant now) {
    if (is_read_ || longest_ > kMostThroughRing) return false;
    if (!peer_->stream.empty() || is_streaming_) return true;
    if (count_ < kManyWrites || !peer_->stream.is_open(now)) return false;
    if (!peer_->is_asleep()) return true;
    // WRITEs would wait long for a sleeping peer: these are copied now, and later ones find it
    // awake.
    const WriteRecord nothing{{RecordKind::write}, 0};
    if (std::byte* place = peer_->reserve_in_ring(sizeof nothing)) {
        std::memcpy(place, &nothing, sizeof nothing);
        peer_->flush();
    }
    return false;
}

namespace {

bool is_readable_now(std::span<const iovec> parts) {
    return std::ranges::all_of(parts, [](const iovec& part) {
        return base::is_readable_now(part.iov_base, part.iov_len);
    });
}

// Its source memory vanished during the copy: the record now names address 0, which is refused.
void spoil(std::byte* record) {
    const WriteRecord nowhere{{RecordKind::write}, 0};
    std::memcpy(record, &nowhere, sizeof nowhere);
}

}  // namespace

// Puts as many WRITEs into the ring as it has room for.
size_t DirectPath::put_in_ring(size_t count, base::Instant now) {
    if (peer_->stream.empty()) peer_->stream.note_progress(now);
    const iovec* part = here_.data();
    size_t put = 0;
    for (; put < count; ++put) {
        const Work& work = work_[put];
        if (!is_readable_now({part, work.parts})) break;  // goes by packets, and is refused there
        const WriteRecord record{{RecordKind::write}, work.place};
        std::byte* to = peer_->reserve_in_ring(sizeof record + work.length);
        if (to == nullptr) break;
        std::byte* const head = to;
        std::memcpy(to, &record, sizeof record);
        to += sizeof record;
        for (uint32_t i = 0; i < work.parts; ++i, ++part) {
            if (!base::guarded_copy(to, part->iov_base, part->iov_len)) spoil(head);
            to += part->iov_len;
        }
        peer_->stream.push(
            {work.qpn, work.length, work.request.id, work.request.flags, peer_->position()});
    }
    if (peer_->stream.is_open(now))
        peer_->flush();
    else
        peer_->publish();
    if (put != 0 && std::ranges::find(awaited_, peer_) == awaited_.end()) awaited_.push_back(peer_);
    return put;
}

// Whether the work fails before it is sent: its local memory does not match its keys, or is
// unmapped.
bool DirectPath::fails_here(transport::Adapter& adapter, Work& work) {
    const transport::QueuePair* qp = adapter.queue_pairs().find(work.qpn);
    parts_ = 0;
    return qp == nullptr || !add_parts(adapter, *qp, work) ||
           !is_readable_now(std::span(here_).first(work.parts));
}

// Failed work completes at once, but not before work that was posted earlier. So this waits for a
// while for a reader that is still doing a WRITE.
void DirectPath::await_stream(transport::Adapter& adapter) {
    constexpr base::Duration kMostPatience{2'000'000'000};  // 2 ms, chosen
    for (const base::Instant end = now() + kMostPatience; now() < end && !peer_->stream.empty();) {
        take_back(*peer_, now());
        complete_done(adapter, *peer_, now());
    }
}

bool DirectPath::flush(transport::Adapter& adapter) {
    if (count_ == 0) return false;
    parts_ = 0;
    const base::Instant time = now();
    complete_done(adapter, *peer_, time);
    const bool through_ring = goes_through_ring(time);
    if (!through_ring) settle(adapter, time);
    std::atomic<uint32_t>& at_work = peer_->outgoing().at_work;
    at_work.fetch_add(1);  // odd: from here on owners keep their regions
    size_t allowed = 0;
    if (through_ring || peer_->stream.empty())
        while (allowed < count_ && prepare(adapter, work_[allowed])) ++allowed;
    if (through_ring)
        allowed = put_in_ring(allowed, time);
    else if (allowed != 0 && !copy())
        allowed = 0;
    at_work.fetch_add(1);
    if (allowed < count_ && !peer_->stream.empty() && fails_here(adapter, work_[allowed]))
        await_stream(adapter);
    for (size_t i = 0; i < count_; ++i) {
        const Work& work = work_[i];
        if (i < allowed) count(work, adapter.queue_pairs().find(work.qpn)->mtu);
        if (i >= allowed)
            (void)adapter.post_send(work.qpn, work.request);
        else if (!through_ring)
            adapter.complete_elsewhere(work.qpn, work.request, work.length);
    }
    const bool is_sent_by_packets = allowed != count_;
    count_ = bytes_ = longest_ = 0;
    return is_sent_by_packets;
}

// ---- WRITEs in rings ----------------------------------------------------------------------------

namespace {

void complete(transport::Adapter& adapter, const StreamedWrite& write, transport::Status status) {
    SendRequest request;
    request.id = write.id;
    request.flags = write.flags;
    request.work = transport::Work::write;
    adapter.complete_elsewhere(write.qpn, request, write.length, status);
}

// Fails a WRITE as if its packets got no answer, or a refusal.
void fail(transport::Adapter& adapter, const StreamedWrite& write, transport::Status status) {
    const bool is_first = adapter.queue_pairs().find(write.qpn)->state != transport::QpState::error;
    complete(adapter, write, is_first ? status : transport::Status::flushed);
    transport::QpAttributes attributes;
    attributes.state = transport::QpState::error;
    if (is_first) (void)adapter.queue_pairs().modify(write.qpn, attributes, transport::kState);
}

// A refused WRITE ends its connection: work that was posted after it is flushed.
void flush_rest(transport::Adapter& adapter, WriteStream& stream, const StreamedWrite& write) {
    using transport::Status;
    complete(adapter, write, Status::remote_access_error);
    stream.remove_if([&](const StreamedWrite& later) {
        if (later.qpn != write.qpn) return false;
        complete(adapter, later, Status::flushed);
        return true;
    });
    transport::QpAttributes attributes;
    attributes.state = transport::QpState::error;
    (void)adapter.queue_pairs().modify(write.qpn, attributes, transport::kState);
}

}  // namespace

void DirectPath::take_back(Peer& peer, base::Instant now) {
    peer.stream.take_back(peer.outgoing(), peer.position(), peer.who.pid, now);
}

void DirectPath::complete_done(transport::Adapter& adapter, Peer& peer, base::Instant now) {
    WriteStream& stream = peer.stream;
    RingMemory& ring = peer.outgoing();
    const uint64_t refused = ring.refused_count.load(std::memory_order_relaxed);
    while (const StreamedWrite* done = stream.oldest_done(ring)) {
        const StreamedWrite write = *done;
        stream.pop();
        stream.note_progress(now);
        if (!stream.was_refused(ring, write)) {
            complete(adapter, write, transport::Status::success);
            continue;
        }
        flush_rest(adapter, stream, write);
    }
    if (stream.empty()) stream.forget_refusals(ring, refused);
}

void DirectPath::settle(transport::Adapter& adapter, base::Instant now) {
    std::erase_if(awaited_, [&](Peer* peer) {
        WriteStream& stream = peer->stream;
        complete_done(adapter, *peer, now);
        if (stream.is_taking_back() || stream.is_stuck(now)) {
            take_back(*peer, now);
            complete_done(adapter, *peer, now);
        }
        return stream.empty() && !stream.is_taking_back();
    });
}

void DirectPath::leave(transport::Adapter& adapter, Peer& peer, base::Instant now) {
    if (peer_ == &peer) (void)flush(adapter);
    if (std::erase(awaited_, &peer) != 0) complete_done(adapter, peer, now);
    for (WriteStream& stream = peer.stream; !stream.empty(); stream.pop())
        fail(adapter, *stream.oldest(), transport::Status::retry_exceeded);
}

void DirectPath::stop(transport::Adapter& adapter, wire::Qpn qpn, bool is_told) {
    for (Peer* peer : awaited_)
        peer->stream.remove_if([&](const StreamedWrite& write) {
            if (write.qpn != qpn) return false;
            if (is_told) complete(adapter, write, transport::Status::flushed);
            return true;
        });
}

}  // namespace tulle::live
