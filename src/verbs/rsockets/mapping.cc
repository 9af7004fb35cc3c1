// Buffers of the program that the peer writes directly (riomap, riowrite). Their addresses are
// written into a table at the peer, as new buffers of a stream are.
#include <sys/mman.h>

#include <algorithm>
#include <limits>

#include "verbs/rsockets/stream.h"

namespace tulle::verbs::rsockets {

int Stream::publish(Guard& guard, int index, const Mapping& mapping) {
    const auto is_over = [&] { return state_ != State::connected || is_parted_; };
    if (const int error =
            wait(guard, true, [&] { return (may_talk_ && outgoing_.can_control()) || is_over(); }))
        return error;
    if (is_over()) return ENOTCONN;
    if (outgoing_.announce(static_cast<uint32_t>(index), mapping)) return 0;
    fail(ECONNRESET);
    return ECONNRESET;
}

off_t Stream::map(void* memory, size_t length, int protection, off_t offset) {
    Guard guard(lock_);
    if (state_ != State::connected) return -ENOTCONN;
    if (length == 0 || length > std::numeric_limits<uint32_t>::max()) return -EINVAL;
    const bool is_open = (protection & PROT_WRITE) != 0;
    int index = -1;
    if (is_open) {
        const auto is_taken = [&](int wanted) {
            return std::ranges::any_of(mapped_, [&](const Mapped& m) { return m.index == wanted; });
        };
        for (index = 0; is_taken(index); ++index) continue;
        if (static_cast<uint32_t>(index) >= outgoing_.peer_mappings()) return -ENOBUFS;
    }
    const int access = IBV_ACCESS_LOCAL_WRITE | (is_open ? IBV_ACCESS_REMOTE_WRITE : 0);
    ibv_mr* region = ibv_reg_mr(id_->pd, memory, length, access);
    if (region == nullptr) return -errno;
    const auto address = reinterpret_cast<uint64_t>(memory);
    const uint64_t known_by = offset == -1 ? address : static_cast<uint64_t>(offset);
    const Mapping mapping{known_by, {address, region->rkey, static_cast<uint32_t>(length)}};
    if (const int error = is_open ? publish(guard, index, mapping) : 0) {
        ibv_dereg_mr(region);
        return -error;
    }
    mapped_.push_back({region, known_by, index});
    return static_cast<off_t>(known_by);
}

int Stream::unmap(void* memory, size_t length) {
    Guard guard(lock_);
    const auto found = std::ranges::find_if(mapped_, [&](const Mapped& m) {
        return m.region->addr == memory && m.region->length == length;
    });
    if (found == mapped_.end()) return -EINVAL;
    const Mapped gone = *found;
    mapped_.erase(found);
    if (gone.index >= 0) (void)publish(guard, gone.index, {});
    return ibv_dereg_mr(gone.region) == 0 ? 0 : -errno;
}

ssize_t Stream::write_mapped(Pieces from, off_t offset, int flags) {
    Guard guard(lock_);
    size_t done = 0;
    while (!from.empty()) {
        const auto is_over = [&] { return state_ != State::connected || writes_no_more_; };
        const int error = wait(guard, may_wait(flags),
                               [&] { return is_over() || (may_talk_ && outgoing_.has_room()); });
        if (error != 0) return done > 0 ? static_cast<ssize_t>(done) : -error;
        if (is_over()) return done > 0 ? static_cast<ssize_t>(done) : -EPIPE;
        const auto target = outgoing_.mapped_at(static_cast<uint64_t>(offset) + done);
        if (!target) return done > 0 ? static_cast<ssize_t>(done) : -EINVAL;
        const auto written = outgoing_.write_to(*target, from);
        if (!written) {
            fail(ECONNRESET);
            return -ECONNRESET;
        }
        done += *written;
    }
    return static_cast<ssize_t>(done);
}

}  // namespace tulle::verbs::rsockets
