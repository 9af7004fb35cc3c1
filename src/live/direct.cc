#include "live/direct.h"

#include <algorithm>

namespace tulle::live {
namespace {

using transport::SendRequest;

constexpr uint64_t kMostBytes = 1 << 30;  // of one call; the kernel takes less than two of these

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

// The responder's checks: the queue pair is the peer's of this one and offers the operation, the
// key is of its protection domain, and the region gives the right and holds the range.
bool DirectPath::is_allowed(const Board& board, const transport::QueuePair& qp,
                            wire::Qpn own_number, uint64_t own_instance, const SendRequest& request,
                            uint32_t length, uint64_t& place) const {
    const uint32_t needed =
        request.work == transport::Work::read ? transport::kRemoteRead : transport::kRemoteWrite;
    const QueuePairNote& note = board.queue_pairs[qp.dest_qpn.value % kQueuePairs];
    if (note.number.load() != qp.dest_qpn.value || note.peer.load() != own_number.value ||
        note.peer_instance.load() != own_instance || (note.access.load() & needed) == 0)
        return false;
    const RegionNote* region = find_region(board, request.rkey);
    if (region == nullptr || region->pd.load() != note.pd.load()) return false;
    const uint64_t address = region->address.load();
    if ((region->access.load() & needed) == 0 ||
        !contains(address, region->length.load(), request.remote_address, length))
        return false;
    place = region->host.load() + (request.remote_address - address);
    return true;
}

bool DirectPath::add_parts(transport::Adapter& adapter, const transport::QueuePair& qp,
                           const SendRequest& request, uint64_t place) {
    const size_t first = parts_;
    const auto put = [&](std::byte* here, size_t length) {
        here_[parts_] = {here, length};
        there_[parts_++] = {reinterpret_cast<void*>(place), length};
        place += length;
    };
    if ((request.flags & transport::kInline) != 0) {
        put(const_cast<std::byte*>(request.inline_data.data()), request.inline_data.size());
        return true;
    }
    const uint32_t access = is_read_ ? transport::kLocalWrite : 0u;
    for (const transport::Sge& sge : request.sges) {
        if (sge.length == 0) continue;
        const auto grant =
            adapter.memory().check(sge.lkey, qp.asker(), sge.address, sge.length, access);
        if (!grant || grant->host == nullptr) {
            parts_ = first;
            return false;
        }
        put(grant->host, sge.length);
    }
    return true;
}

void DirectPath::keep(wire::Qpn qpn, const SendRequest& request, uint32_t length) {
    Work& work = work_[count_++];
    work.qpn = qpn;
    work.request = request;
    work.length = length;
    if ((request.flags & transport::kInline) != 0) {
        std::ranges::copy(request.inline_data, work.inline_data.begin());
        work.request.inline_data = std::span(work.inline_data).first(request.inline_data.size());
        here_[parts_ - 1].iov_base = work.inline_data.data();
    } else {
        std::ranges::copy(request.sges, work.sges.begin());
        work.request.sges = std::span(work.sges).first(request.sges.size());
    }
    bytes_ += length;
}

bool DirectPath::add(Peer& peer, transport::Adapter& adapter, const transport::QueuePair& qp,
                     wire::Qpn own_number, uint64_t own_instance, const SendRequest& request) {
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
    if (length == 0 || length > kMostBytes) return false;
    if (count_ != 0 && (peer_ != &peer || is_read_ != is_read || count_ == kMostWork ||
                        parts_ + kMostSges > kMostParts || bytes_ + length > kMostBytes))
        flush(adapter);
    if (count_ == 0) {
        peer_ = &peer;
        is_read_ = is_read;
        peer.outgoing().at_work.fetch_add(1);  // odd: from here on regions stay
    }
    uint64_t place = 0;
    const bool added = is_allowed(peer.board(), qp, own_number, own_instance, request,
                                  static_cast<uint32_t>(length), place) &&
                       add_parts(adapter, qp, request, place);
    if (added) keep(qp.number, request, static_cast<uint32_t>(length));
    if (count_ == 0) peer.outgoing().at_work.fetch_add(1);
    return added;
}

// A call that stops half way has met memory that is not there; what it did is done again.
bool DirectPath::copy() {
    const auto move = is_read_ ? process_vm_readv : process_vm_writev;
    const ssize_t moved = move(peer_->pid, here_.data(), parts_, there_.data(), parts_, 0);
    return moved == static_cast<ssize_t>(bytes_);
}

void DirectPath::flush(transport::Adapter& adapter) {
    if (count_ == 0) return;
    const bool done = copy();
    peer_->outgoing().at_work.fetch_add(1);
    for (size_t i = 0; i < count_; ++i) {
        const Work& work = work_[i];
        if (done)
            adapter.complete_elsewhere(work.qpn, work.request, work.length);
        else
            (void)adapter.post_send(work.qpn, work.request);
    }
    count_ = parts_ = bytes_ = 0;
}

}  // namespace tulle::live
