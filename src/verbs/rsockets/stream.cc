#include "verbs/rsockets/stream.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tulle::verbs::rsockets {

// ---- news ---------------------------------------------------------------------------------------

// Events of the connection manager are rare once it stands: they are looked for before anybody
// sleeps, not each time.
bool Stream::take_news(bool thoroughly) {
    bool any = false;
    if (thoroughly || state_ != State::connected || !may_talk_) any |= take_events();
    if (cq_ == nullptr || state_ != State::connected) return any;
    if (thoroughly && is_armed_ && take_channel_event(channel_)) {
        is_armed_ = false;
        any = true;
    }
    any |= take_completions();
    any |= flush_control();
    return any;
}

void Stream::arm() {
    if (cq_ == nullptr || state_ != State::connected || is_armed_) return;
    is_armed_ = ibv_req_notify_cq(cq_, 0) == 0;
}

void Stream::add_files(std::vector<pollfd>& files) const {
    if (events_ != nullptr) files.push_back({events_->fd, POLLIN, 0});
    if (channel_ != nullptr) files.push_back({channel_->fd, POLLIN, 0});
}

short Stream::ready(short wanted) const {
    short found = 0;
    switch (state_) {
        case State::fresh: return wanted & POLLOUT ? POLLOUT | POLLHUP : POLLHUP;
        case State::listening: return requests_.empty() ? short{0} : short{POLLIN};
        case State::connecting: return 0;
        case State::connected: break;
        case State::over: found = error_ != 0 ? POLLERR : 0;
    }
    if (readable_ > 0 || is_at_end()) found |= POLLIN | POLLRDNORM;
    if (can_write() || writes_no_more_) found |= POLLOUT | POLLWRNORM;
    // Programs take it as the end, also of what could still be read.
    if (is_at_end() && writes_no_more_) found |= POLLHUP;
    return static_cast<short>(found & (wanted | POLLERR | POLLHUP));
}

// ---- completions --------------------------------------------------------------------------------

bool Stream::take_completions() {
    constexpr int kBatch = 16;
    std::array<ibv_wc, kBatch> completions;
    uint32_t received = 0;
    bool any = false;
    for (int count = kBatch; count == kBatch && cq_ != nullptr;) {
        count = ibv_poll_cq(cq_, kBatch, completions.data());
        for (int i = 0; i < count; ++i) {
            const ibv_wc& one = completions[static_cast<size_t>(i)];
            any = true;
            if (one.status == IBV_WC_SUCCESS && (one.opcode & IBV_WC_RECV) != 0) ++received;
            on_completion(one);
        }
    }
    if (received > 0 && state_ == State::connected && !post_receives(received)) fail(ECONNRESET);
    return any;
}

void Stream::on_completion(const ibv_wc& completion) {
    // The peer has closed its end, or is gone. What it had written before counts.
    if (completion.status != IBV_WC_SUCCESS) {
        if (is_parted_)
            on_parted();
        else
            fail(ECONNRESET);
        sent_.clear();
        return;
    }
    if ((completion.opcode & IBV_WC_RECV) != 0) return on_message(be32toh(completion.imm_data));
    if (sent_.empty()) return;
    ring_used_ -= sent_.front().ring_bytes;
    if (sent_.front().is_control) --controls_out_;
    sent_.pop_front();
}

void Stream::on_message(uint32_t message) {
    may_talk_ = true;
    switch (kind_of(message)) {
        case Kind::data: return on_data(value_of(message));
        case Kind::credit: return on_credit(value_of(message));
        case Kind::mapping: return;  // it lies in the table
        case Kind::control: return on_control(value_of(message));
    }
}

void Stream::on_data(uint32_t bytes) {
    if (bytes > shown_bytes_) return fail(ECONNRESET);
    shown_bytes_ -= bytes;
    readable_ += bytes;
    ++received_;
}

// New buffers are in the table when the message comes. The peer may be writing the next one right
// now: an entry counts when all of it is there.
void Stream::on_credit(uint32_t credit) {
    credit_ = static_cast<uint16_t>(credit);
    auto* entries = reinterpret_cast<Target*>(table_.data());
    for (uint32_t i = 0; i < kTargets; ++i) {
        Target& entry = entries[next_target_];
        if (entry.address == 0 || entry.key == 0 || entry.length == 0) return;
        targets_.push_back(entry);
        entry = {};
        next_target_ = (next_target_ + 1) % kTargets;
    }
}

void Stream::on_control(uint32_t what) {
    if (what == static_cast<uint32_t>(Control::shutdown)) peer_is_done_ = true;
    if (what == static_cast<uint32_t>(Control::disconnect)) on_parted();
}

void Stream::on_parted() {
    is_parted_ = peer_is_done_ = writes_no_more_ = true;
}

bool Stream::post_receives(uint32_t count) {
    ibv_recv_wr request{};
    ibv_recv_wr* bad = nullptr;
    for (; count > 0; --count)
        if (ibv_post_recv(id_->qp, &request, &bad) != 0) return false;
    return true;
}

// ---- messages -----------------------------------------------------------------------------------

bool Stream::post_write(std::optional<uint32_t> immediate, ibv_sge* from, const Target& to,
                        Sent sent) {
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
    if (ibv_post_send(id_->qp, &request, &bad) != 0) {
        fail(ECONNRESET);
        return false;
    }
    sent_.push_back(sent);
    if (sent.is_control) ++controls_out_;
    return true;
}

bool Stream::post_control(uint32_t immediate, const void* what, uint32_t bytes, const Target& to) {
    ibv_sge from{reinterpret_cast<uint64_t>(what), bytes, 0};
    return post_write(immediate, bytes > 0 ? &from : nullptr, to, {.is_control = true});
}

// Shows a free half of the ring, or that receives were posted. Half a queue of messages is waited
// for, so that one message of credit serves many.
bool Stream::flush_control() {
    bool any = false;
    while (state_ == State::connected && may_talk_ && !is_parted_ && controls_out_ < kControls) {
        const bool has_half = freed_bytes_ >= receive_ring_.size() / 2;
        const auto uncredited = static_cast<uint16_t>(received_ - credited_);
        if (!has_half && uncredited < options_.receive_queue / 2) return any;
        if (!give_credit()) return any;
        any = true;
    }
    return any;
}

bool Stream::give_credit() {
    const uint32_t credit =
        message(Kind::credit, static_cast<uint16_t>(received_ + options_.receive_queue));
    const size_t half = receive_ring_.size() / 2;
    credited_ = received_;
    if (freed_bytes_ < half) return post_control(credit, nullptr, 0, {});
    Target shown{reinterpret_cast<uint64_t>(receive_ring_.data()) + show_at_, receive_ring_.rkey(),
                 static_cast<uint32_t>(half)};
    if (swaps_table_)
        shown = {__builtin_bswap64(shown.address), __builtin_bswap32(shown.key),
                 __builtin_bswap32(shown.length)};
    const Target entry{peer_table_.address + next_entry_ * sizeof(Target), peer_table_.key, 0};
    if (!post_control(credit, &shown, sizeof shown, entry)) return false;
    freed_bytes_ -= half;
    shown_bytes_ += half;
    show_at_ = (show_at_ + half) % receive_ring_.size();
    next_entry_ = (next_entry_ + 1) % peer_table_.length;
    return true;
}

// ---- sending ------------------------------------------------------------------------------------

bool Stream::has_room_to_send() const {
    return sent_.size() < options_.send_queue && ring_used_ < send_ring_.size();
}

bool Stream::can_write() const {
    return state_ == State::connected && may_talk_ && !writes_no_more_ && !targets_.empty() &&
           sent_messages_ != credit_ && has_room_to_send();
}

// Into the send ring, as much as lies there in one piece.
size_t Stream::stage(Pieces& from, size_t most, ibv_sge& sge) {
    const size_t room = std::min(send_ring_.size() - ring_used_, send_ring_.size() - write_at_);
    std::byte* place = send_ring_.data() + write_at_;
    const size_t count = from.copy_to(place, std::min(most, room));
    sge = {reinterpret_cast<uint64_t>(place), static_cast<uint32_t>(count), send_ring_.lkey()};
    write_at_ = (write_at_ + count) % send_ring_.size();
    ring_used_ += count;
    return count;
}

size_t Stream::write_some(Pieces& from) {
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
    if (!post_write(message(Kind::data, bytes), &sge, target, sent)) return 0;
    ++sent_messages_;
    target.address += bytes;
    target.length -= bytes;
    if (target.length == 0) targets_.pop_front();
    return count;
}

ssize_t Stream::send(Pieces from, int flags, const Name*) {
    Guard guard(lock_);
    size_t done = 0;
    while (!from.empty()) {
        if (!can_write()) {
            const int error = wait(guard, may_wait(flags), [&] {
                return can_write() || writes_no_more_ ||
                       (state_ != State::connected && state_ != State::connecting);
            });
            if (error != 0) return done > 0 ? static_cast<ssize_t>(done) : -error;
        }
        if (!can_write()) {
            if (done > 0) return static_cast<ssize_t>(done);
            if (state_ == State::fresh || state_ == State::listening) return -ENOTCONN;
            return error_ != 0 ? -take_error() : -EPIPE;
        }
        done += write_some(from);
    }
    progress(false);
    return static_cast<ssize_t>(done);
}

// ---- receiving ----------------------------------------------------------------------------------

bool Stream::is_at_end() const {
    return readable_ == 0 && (peer_is_done_ || reads_no_more_);
}

size_t Stream::read_some(Pieces& into, bool is_peek) {
    size_t at = read_at_;
    size_t copied = 0;
    while (copied < readable_ && !into.empty()) {
        const size_t piece = std::min(readable_ - copied, receive_ring_.size() - at);
        const size_t count = into.copy_from(receive_ring_.data() + at, piece);
        copied += count;
        at = (at + count) % receive_ring_.size();
    }
    if (is_peek) return copied;
    read_at_ = at;
    readable_ -= copied;
    freed_bytes_ += copied;
    (void)flush_control();
    return copied;
}

ssize_t Stream::receive(Pieces into, int flags, Name* from) {
    if (from != nullptr) from->length = 0;  // as a connected socket does
    Guard guard(lock_);
    const bool is_peek = (flags & MSG_PEEK) != 0;
    const bool wants_all = (flags & MSG_WAITALL) != 0 && !is_peek;
    size_t done = 0;
    while (!into.empty()) {
        if (readable_ == 0) {
            if (state_ == State::fresh || state_ == State::listening) return -ENOTCONN;
            const int error = wait(guard, may_wait(flags), [&] {
                return readable_ > 0 || is_at_end() || state_ == State::over;
            });
            if (error != 0) return done > 0 ? static_cast<ssize_t>(done) : -error;
        }
        if (readable_ == 0) break;
        done += read_some(into, is_peek);
        if (!wants_all) break;
    }
    if (done == 0 && error_ != 0) return -take_error();
    return static_cast<ssize_t>(done);
}

// ---- parting ------------------------------------------------------------------------------------

// The last word, after all that was sent. A peer that is gone is not waited for.
void Stream::say_goodbye(Guard& guard, Control what) {
    const auto is_gone = [&] { return state_ != State::connected || is_parted_; };
    const auto may_speak = [&] { return may_talk_ && controls_out_ < kControls; };
    if (wait(guard, true, [&] { return may_speak() || is_gone(); }) != 0 || is_gone()) return;
    (void)post_control(message(Kind::control, static_cast<uint32_t>(what)), nullptr, 0, {});
    if (what == Control::shutdown) return;
    (void)wait(guard, true, [&] { return sent_.empty() || is_gone(); });
}

int Stream::shutdown(int how) {
    Guard guard(lock_);
    progress(true);
    if (state_ != State::connected) return -ENOTCONN;
    if (how == SHUT_RD || how == SHUT_RDWR) reads_no_more_ = true;
    if (how == SHUT_RD) return 0;
    const bool was_open = !std::exchange(writes_no_more_, true);
    if (how == SHUT_RDWR)
        say_goodbye(guard, Control::disconnect);
    else if (was_open)
        say_goodbye(guard, Control::shutdown);
    return 0;
}

}  // namespace tulle::verbs::rsockets
