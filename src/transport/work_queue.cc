#include "transport/work_queue.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace tulle::transport {

namespace {

uint32_t places_at_first(const SendQueueSize& size) {
    const uint32_t places =
        size.at_first == 0 ? size.requests : std::min(size.at_first, size.requests);
    return std::bit_ceil(std::max(1u, places));
}

}  // namespace

SendQueue::SendQueue(const SendQueueSize& size)
    : size_(size),
      mask_(places_at_first(size) - 1),
      works_(mask_ + 1),
      sges_(size_t{mask_ + 1} * size.sges),
      inline_(size_t{mask_ + 1} * size.inline_bytes) {}

// Doubles the places, and moves each request to the place of its number.
void SendQueue::grow(uint32_t oldest, uint32_t end) {
    SendQueueSize larger = size_;
    larger.at_first = 2 * (mask_ + 1);
    SendQueue grown(larger);
    for (uint32_t number = oldest; number != end; ++number) {
        grown[number] = (*this)[number];
        const size_t from = number & mask_;
        const size_t to = number & grown.mask_;
        std::copy_n(sges_.begin() + static_cast<ptrdiff_t>(from * size_.sges), size_.sges,
                    grown.sges_.begin() + static_cast<ptrdiff_t>(to * size_.sges));
        std::copy_n(inline_.begin() + static_cast<ptrdiff_t>(from * size_.inline_bytes),
                    size_.inline_bytes,
                    grown.inline_.begin() + static_cast<ptrdiff_t>(to * size_.inline_bytes));
    }
    *this = std::move(grown);
}

bool SendQueue::put(uint32_t number, const SendRequest& request) {
    const bool is_inline = (request.flags & kInline) != 0;
    if (request.sges.size() > size_.sges) return false;
    if (is_inline && request.inline_data.size() > size_.inline_bytes) return false;

    SendWork& work = (*this)[number];
    work = SendWork{.id = request.id,
                    .remote_address = request.remote_address,
                    .compare_or_add = request.compare_or_add,
                    .swap = request.swap,
                    .length = 0,
                    .rkey = request.rkey,
                    .immediate = request.immediate,
                    .first_psn = {},
                    .packets = 0,
                    .work = request.work,
                    .flags = request.flags,
                    .sge_count = static_cast<uint8_t>(request.sges.size()),
                    .flush_placement = request.flush_placement,
                    .flush_selectivity = request.flush_selectivity,
                    .is_done = false,
                    .remote_srq = request.remote_srq,
                    .ee_context = request.ee_context,
                    .datagram = request.datagram,
                    .binding = request.binding};
    uint64_t length = 0;
    if (is_inline) {
        work.sge_count = 0;
        length = request.inline_data.size();
        std::copy(request.inline_data.begin(), request.inline_data.end(),
                  inline_.begin() + static_cast<ptrdiff_t>((number & mask_) * size_.inline_bytes));
    } else {
        for (const Sge& sge : request.sges) length += sge.length;
        std::copy(request.sges.begin(), request.sges.end(),
                  sges_.begin() + static_cast<ptrdiff_t>((number & mask_) * size_.sges));
    }
    // A message has at most 2^31 bytes (IBTA vol 1, 9.7.7.2.1).
    if (length > uint64_t{1} << 31) return false;
    work.length = static_cast<uint32_t>(length);
    return true;
}

std::span<const Sge> SendQueue::sges(uint32_t number) const {
    return std::span(sges_).subspan((number & mask_) * size_.sges, (*this)[number].sge_count);
}

std::span<const std::byte> SendQueue::inline_data(uint32_t number) const {
    return std::span(inline_).subspan((number & mask_) * size_.inline_bytes,
                                      (*this)[number].length);
}

ReceiveQueue::ReceiveQueue(uint32_t requests, uint32_t sges)
    : max_sges_(sges), capacity_(requests) {
    add_places(requests);
}

void ReceiveQueue::add_places(uint32_t count) {
    const auto before = static_cast<uint32_t>(works_.size());
    works_.resize(size_t{before} + count);
    sges_.resize(works_.size() * max_sges_);
    for (uint32_t place = before + count; place-- > before;) {
        works_[place].next = free_;
        free_ = place;
    }
}

Refusal ReceiveQueue::resize(uint32_t requests) {
    if (requests < used_) return Refusal::invalid_argument;
    if (requests > works_.size()) add_places(requests - static_cast<uint32_t>(works_.size()));
    capacity_ = requests;
    return Refusal::none;
}

Refusal ReceiveQueue::post(const ReceiveRequest& request) {
    if (request.sges.size() > max_sges_) return Refusal::invalid_argument;
    if (used_ >= capacity_) return Refusal::queue_full;
    ++used_;
    const uint32_t place = free_;
    ReceiveWork& work = works_[place];
    free_ = work.next;
    work = {request.id, static_cast<uint32_t>(request.sges.size()), kNone};
    std::copy(request.sges.begin(), request.sges.end(),
              sges_.begin() + static_cast<ptrdiff_t>(size_t{place} * max_sges_));
    if (last_ == kNone)
        first_ = place;
    else
        works_[last_].next = place;
    last_ = place;
    ++waiting_;
    return Refusal::none;
}

uint32_t ReceiveQueue::take() {
    if (first_ == kNone) return kNone;
    const uint32_t place = first_;
    first_ = works_[place].next;
    if (first_ == kNone) last_ = kNone;
    --waiting_;
    return place;
}

void ReceiveQueue::give_back(uint32_t place) {
    works_[place].next = first_;
    first_ = place;
    if (last_ == kNone) last_ = place;
    ++waiting_;
}

void ReceiveQueue::release(uint32_t place) {
    --used_;
    works_[place].next = free_;
    free_ = place;
}

std::span<const Sge> ReceiveQueue::sges(uint32_t place) const {
    return std::span(sges_).subspan(size_t{place} * max_sges_, works_[place].sge_count);
}

}  // namespace tulle::transport
