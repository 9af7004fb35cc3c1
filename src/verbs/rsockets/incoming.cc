#include "verbs/rsockets/incoming.h"

#include <algorithm>

namespace tulle::verbs::rsockets {

bool Incoming::allocate(ibv_pd* pd, const Options& options) {
    const size_t half = options.receive_bytes / 2;
    if (!ring_.allocate(pd, 2 * half, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE))
        return false;
    queue_ = options.receive_queue;
    freed_bytes_ = 2 * half;
    return true;
}

void Incoming::release() {
    ring_.release();
    read_at_ = readable_ = shown_bytes_ = freed_bytes_ = show_at_ = 0;
    received_ = credited_ = 0;
    has_ended_ = false;
}

bool Incoming::post_receives(ibv_qp* qp, uint32_t count) {
    ibv_recv_wr request{};
    ibv_recv_wr* bad = nullptr;
    for (; count > 0; --count)
        if (ibv_post_recv(qp, &request, &bad) != 0) return false;
    return true;
}

bool Incoming::take_data(uint32_t bytes) {
    if (bytes > shown_bytes_) return false;
    shown_bytes_ -= bytes;
    readable_ += bytes;
    ++received_;
    return true;
}

size_t Incoming::read(Pieces& into, bool is_peek) {
    size_t at = read_at_;
    size_t copied = 0;
    while (copied < readable_ && !into.empty()) {
        const size_t piece = std::min(readable_ - copied, ring_.size() - at);
        const size_t count = into.copy_from(ring_.data() + at, piece);
        copied += count;
        at = (at + count) % ring_.size();
    }
    if (is_peek) return copied;
    read_at_ = at;
    readable_ -= copied;
    freed_bytes_ += copied;
    return copied;
}

Target Incoming::announce_half() {
    const size_t half = ring_.size() / 2;
    const Target shown{reinterpret_cast<uint64_t>(ring_.data()) + show_at_, ring_.rkey(),
                       static_cast<uint32_t>(half)};
    freed_bytes_ -= half;
    shown_bytes_ += half;
    show_at_ = (show_at_ + half) % ring_.size();
    return shown;
}

bool Incoming::owes_credit() const {
    return static_cast<uint16_t>(received_ - credited_) >= queue_ / 2;
}

}  // namespace tulle::verbs::rsockets
