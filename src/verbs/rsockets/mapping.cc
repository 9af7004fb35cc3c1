// Buffers of the program that the peer writes directly (riomap, riowrite). Their places are written
// into a table of the peer, as new buffers of a stream are.
#include <sys/mman.h>

#include <algorithm>
#include <limits>

#include "verbs/rsockets/stream.h"

namespace tulle::verbs::rsockets {
namespace {

Mapping swapped(const Mapping& m) {
    return {__builtin_bswap64(m.offset),
            {__builtin_bswap64(m.where.address), __builtin_bswap32(m.where.key),
             __builtin_bswap32(m.where.length)}};
}

}  // namespace

int Stream::publish(Guard& guard, int index, const Mapping& mapping) {
    const auto is_over = [&] { return state_ != State::connected || is_parted_; };
    if (const int error = wait(
            guard, true, [&] { return (may_talk_ && controls_out_ < kControls) || is_over(); }))
        return error;
    if (is_over()) return ENOTCONN;
    const Mapping entry = swaps_table_ ? swapped(mapping) : mapping;
    const auto number = static_cast<uint32_t>(index);
    const uint64_t place =
        peer_table_.address + peer_table_.length * sizeof(Target) + number * sizeof(Mapping);
    return post_control(message(Kind::mapping, number), &entry, sizeof entry,
                        {place, peer_table_.key, 0})
               ? 0
               : ECONNRESET;
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
        if (static_cast<uint32_t>(index) >= peer_mappings_) return -ENOBUFS;
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

// What the peer has mapped there: the rest of that buffer, from the offset on.
std::optional<Target> Stream::mapped_at(uint64_t offset) const {
    const auto* entries =
        reinterpret_cast<const Mapping*>(table_.data() + kTargets * sizeof(Target));
    for (uint32_t i = 0; i < options_.io_mappings; ++i) {
        const Mapping entry = entries[i];  // a copy: the peer may write it
        if (offset < entry.offset || offset - entry.offset >= entry.where.length) continue;
        const uint64_t into = offset - entry.offset;
        return Target{entry.where.address + into, entry.where.key,
                      entry.where.length - static_cast<uint32_t>(into)};
    }
    return std::nullopt;
}

ssize_t Stream::write_mapped(Pieces from, off_t offset, int flags) {
    Guard guard(lock_);
    size_t done = 0;
    while (!from.empty()) {
        const auto is_over = [&] { return state_ != State::connected || writes_no_more_; };
        const int error = wait(guard, may_wait(flags),
                               [&] { return is_over() || (may_talk_ && has_room_to_send()); });
        if (error != 0) return done > 0 ? static_cast<ssize_t>(done) : -error;
        if (is_over()) return done > 0 ? static_cast<ssize_t>(done) : -EPIPE;
        const auto target = mapped_at(static_cast<uint64_t>(offset) + done);
        if (!target) return done > 0 ? static_cast<ssize_t>(done) : -EINVAL;
        ibv_sge sge{};
        const size_t count = stage(from, target->length, sge);
        if (!post_write(std::nullopt, &sge, *target, {static_cast<uint32_t>(count), false}))
            return -ECONNRESET;
        done += count;
    }
    return static_cast<ssize_t>(done);
}

}  // namespace tulle::verbs::rsockets
