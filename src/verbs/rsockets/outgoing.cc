#include "verbs/rsockets/outgoing.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tulle::verbs::rsockets {
namespace {

Target swapped(const Target& t) {
    return {__builtin_bswap64(t.address), __builtin_bswap32(t.key), __builtin_bswap32(t.length)};
}

}  // namespace

bool is_big_endian() {
    return htobe16(1) == 1;
}

bool Outgoing::allocate(ibv_pd* pd, const Options& options) {
    constexpr int kOpen = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    options_ = options;
    const size_t table = kTargets * sizeof(Target) + options.io_mappings * sizeof(Mapping);
    if (!table_.allocate(pd, table, kOpen) ||
        !ring_.allocate(pd, options.send_bytes, IBV_ACCESS_LOCAL_WRITE))
        return false;
    std::memset(table_.data(), 0, table);
    return true;
}

void Outgoing::release() {
    ring_.release();
    table_.release();
    sent_.clear();
    targets_.clear();
    write_at_ = ring_used_ = 0;
    controls_out_ = 0;
    sent_messages_ = 0;
    next_target_ = 1;
}

Target Outgoing::table() const {
    return {reinterpret_cast<uint64_t>(table_.data()), table_.rkey(), kTargets};
}

void Outgoing::begin(ibv_qp* qp, const Greeting& greeting) {
    qp_ = qp;
    swaps_table_ = ((greeting.flags & kBigEndian) != 0) != is_big_endian();
    peer_table_ = from_network(greeting.targets);
    peer_mappings_ = (greeting.flags & kTakesMappings) != 0 ? greeting.mappings : 0;
    targets_.push_back(from_network(greeting.data));
    next_entry_ = 1 % peer_table_.length;
    credit_ = be16toh(greeting.credits);
}

// ---- data ---------------------------------------------------------------------------------------

bool Outgoing::can_write() const {
    return !targets_.empty() && sent_messages_ != credit_ && has_room();
}

std::optional<size_t> Outgoing::write(Pieces& from) {
    Target& target = targets_.front();
    ibv_sge sge{};
    size_t count = std::min<size_t>(from.left(), target.length);
    std::array<std::byte, 128> small;
    Sent sent;
    if (count <= std::min<size_t>(options_.inline_bytes, small.size())) {
        from.copy_to(small.data(), count);
        sge = {reinterpret_cast<uint64_t>(small.data()), static_cast<uint32_t>(count), 0};
    } else {
        count = stage(from, count, sge);
        sent.ring_bytes = static_cast<uint32_t>(count);
    }
    const auto bytes = static_cast<uint32_t>(count);
    if (!post(message(Kind::data, bytes), &sge, target, sent)) return std::nullopt;
    ++sent_messages_;
    target.address += bytes;
    target.length -= bytes;
    if (target.length == 0) targets_.pop_front();
    return count;
}

std::optional<size_t> Outgoing::write_to(const Target& target, Pieces& from) {
    ibv_sge sge{};
    const size_t count = stage(from, target.length, sge);
    if (!post(std::nullopt, &sge, target, {static_cast<uint32_t>(count), false}))
        return std::nullopt;
    return count;
}

// Copies into the ring, as much as fits contiguously.
size_t Outgoing::stage(Pieces& from, size_t most, ibv_sge& sge) {
    const size_t room = std::min(ring_.size() - ring_used_, ring_.size() - write_at_);
    std::byte* place = ring_.data() + write_at_;
    const size_t count = from.copy_to(place, std::min(most, room));
    sge = {reinterpret_cast<uint64_t>(place), static_cast<uint32_t>(count), ring_.lkey()};
    write_at_ = (write_at_ + count) % ring_.size();
    ring_used_ += count;
    return count;
}

void Outgoing::on_sent() {
    if (sent_.empty()) return;
    ring_used_ -= sent_.front().ring_bytes;
    if (sent_.front().is_control) --controls_out_;
    sent_.pop_front();
}

// ---- tables -------------------------------------------------------------------------------------

bool Outgoing::announce(uint32_t credit, const Target& half) {
    const Target shown = swaps_table_ ? swapped(half) : half;
    const Target entry{peer_table_.address + next_entry_ * sizeof(Target), peer_table_.key, 0};
    if (!post_control(credit, &shown, sizeof shown, entry)) return false;
    next_entry_ = (next_entry_ + 1) % peer_table_.length;
    return true;
}

bool Outgoing::announce(uint32_t index, const Mapping& mapping) {
    Mapping entry = mapping;
    if (swaps_table_) entry = {__builtin_bswap64(mapping.offset), swapped(mapping.where)};
    const uint64_t place =
        peer_table_.address + peer_table_.length * sizeof(Target) + index * sizeof(Mapping);
    return post_control(message(Kind::mapping, index), &entry, sizeof entry,
                        {place, peer_table_.key, 0});
}

// The peer's mapping there: the rest of that buffer, from the offset on.
std::optional<Target> Outgoing::mapped_at(uint64_t offset) const {
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

// New buffers are in the table when the message arrives. The peer may be writing the next entry
// right now: an entry counts only when it is complete.
bool Outgoing::take_credit(uint16_t credit) {
    credit_ = credit;
    auto* entries = reinterpret_cast<Target*>(table_.data());
    for (uint32_t i = 0; i < kTargets; ++i) {
        Target& entry = entries[next_target_];
        if (entry.address == 0 || entry.key == 0 || entry.length == 0) break;
        if (targets_.size() == kTargets) return false;
        targets_.push_back(entry);
        entry = {};
        next_target_ = (next_target_ + 1) % kTargets;
    }
    return true;
}

// ---- messages -----------------------------------------------------------------------------------

bool Outgoing::post(std::optional<uint32_t> immediate, ibv_sge* from, const Target& to, Sent sent) {
    ibv_send_wr request{};
    ibv_send_wr* bad = nullptr;
    request.opcode = immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.imm_data = htobe32(immediate.value_or(0));
    request.sg_list = from;
    request.num_sge = from != nullptr ? 1 : 0;
    const bool is_in_ring = sent.ring_bytes > 0;
    request.send_flags = is_in_ring || from == nullptr ? 0u : unsigned{IBV_SEND_INLINE};
    request.wr.rdma.remote_addr = to.address;
    request.wr.rdma.rkey = to.key;
    if (ibv_post_send(qp_, &request, &bad) != 0) return false;
    sent_.push_back(sent);
    if (sent.is_control) ++controls_out_;
    return true;
}

bool Outgoing::post_control(uint32_t immediate, const void* what, uint32_t bytes,
                            const Target& to) {
    ibv_sge from{reinterpret_cast<uint64_t>(what), bytes, 0};
    return post(immediate, bytes > 0 ? &from : nullptr, to, {.is_control = true});
}

}  // namespace tulle::verbs::rsockets
