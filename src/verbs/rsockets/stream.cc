#include "verbs/rsockets/stream.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "live/clock.h"

namespace tulle::verbs::rsockets {

// ---- news ---------------------------------------------------------------------------------------

// Events of the connection manager are rare once the connection exists: they are checked before a
// sleep, not on every call.
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
    if (incoming_.readable() > 0 || incoming_.is_at_end()) found |= POLLIN | POLLRDNORM;
    if (can_write() || writes_no_more_) found |= POLLOUT | POLLWRNORM;
    // Programs take it as the end, even of data that could still be read.
    if (incoming_.is_at_end() && writes_no_more_) found |= POLLHUP;
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
    if (received > 0 && state_ == State::connected && !Incoming::post_receives(id_->qp, received))
        fail(ECONNRESET);
    return any;
}

void Stream::on_completion(const ibv_wc& completion) {
    // The peer has closed its end, or is gone. What it wrote before counts.
    if (completion.status != IBV_WC_SUCCESS) {
        if (is_parted_)
            on_parted();
        else
            fail(ECONNRESET);
        outgoing_.forget();
        return;
    }
    if ((completion.opcode & IBV_WC_RECV) != 0) return on_message(be32toh(completion.imm_data));
    outgoing_.on_sent();
}

void Stream::on_message(uint32_t message) {
    if (state_ == State::over) return;  // nothing counts after an error
    may_talk_ = true;
    const uint32_t value = value_of(message);
    switch (kind_of(message)) {
        case Kind::data:
            if (!incoming_.take_data(value)) fail(ECONNRESET);
            return;
        case Kind::credit:
            if (!outgoing_.take_credit(static_cast<uint16_t>(value))) fail(ECONNRESET);
            return;
        case Kind::mapping: return;  // it is in the table
        case Kind::control:
            if (value == static_cast<uint32_t>(Control::shutdown)) incoming_.end();
            if (value == static_cast<uint32_t>(Control::disconnect)) on_parted();
            return;
    }
}

void Stream::on_parted() {
    is_parted_ = writes_no_more_ = true;
    incoming_.end();
}

// Announces a free half of the ring, or posted receives.
bool Stream::flush_control() {
    bool any = false;
    while (state_ == State::connected && may_talk_ && !is_parted_ && outgoing_.can_control()) {
        const bool has_half = incoming_.has_free_half();
        if (!has_half && !incoming_.owes_credit()) return any;
        const uint32_t credit = message(Kind::credit, incoming_.credit());
        incoming_.on_credit_given();
        const bool is_sent = has_half ? outgoing_.announce(credit, incoming_.announce_half())
                                      : outgoing_.post_control(credit);
        if (!is_sent) {
            fail(ECONNRESET);
            return any;
        }
        any = true;
    }
    return any;
}

// ---- sending ------------------------------------------------------------------------------------

bool Stream::can_write() const {
    return state_ == State::connected && may_talk_ && !writes_no_more_ && outgoing_.can_write();
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
        const auto written = outgoing_.write(from);
        if (written)
            done += *written;
        else
            fail(ECONNRESET);
    }
    progress(false);
    return static_cast<ssize_t>(done);
}

// ---- receiving ----------------------------------------------------------------------------------

ssize_t Stream::receive(Pieces into, int flags, Name* from) {
    if (from != nullptr) from->length = 0;  // as a connected socket does
    Guard guard(lock_);
    const bool is_peek = (flags & MSG_PEEK) != 0;
    const bool wants_all = (flags & MSG_WAITALL) != 0 && !is_peek;
    size_t done = 0;
    while (!into.empty()) {
        if (incoming_.readable() == 0) {
            if (state_ == State::fresh || state_ == State::listening) return -ENOTCONN;
            const int error = wait(guard, may_wait(flags), [&] {
                return incoming_.readable() > 0 || incoming_.is_at_end() || state_ == State::over;
            });
            if (error != 0) return done > 0 ? static_cast<ssize_t>(done) : -error;
        }
        if (incoming_.readable() == 0) break;
        done += incoming_.read(into, is_peek);
        if (!is_peek) (void)flush_control();
        if (!wants_all) break;
    }
    if (done == 0 && error_ != 0) return -take_error();
    return static_cast<ssize_t>(done);
}

// ---- parting ------------------------------------------------------------------------------------

// The last message, after all data. Does not wait for a peer that is gone, nor long for one that
// takes nothing: one that keeps to the protocol has receives for all it is sent.
void Stream::say_goodbye(Guard& guard, Control what) {
    constexpr base::Duration kPatience{10'000'000'000'000};  // 10 s, chosen
    const base::Instant until = live::now() + kPatience;
    const auto is_gone = [&] { return state_ != State::connected || is_parted_; };
    const auto may_speak = [&] { return may_talk_ && outgoing_.can_control(); };
    const auto may_end = [&] { return may_speak() || is_gone(); };
    if (wait(guard, true, may_end, until) != 0 || is_gone()) return;
    if (!outgoing_.post_control(message(Kind::control, static_cast<uint32_t>(what))))
        return fail(ECONNRESET);
    if (what == Control::shutdown) return;
    (void)wait(
        guard, true, [&] { return outgoing_.is_idle() || is_gone(); }, until);
}

int Stream::shutdown(int how) {
    Guard guard(lock_);
    progress(true);
    if (state_ != State::connected) return -ENOTCONN;
    if (how == SHUT_RD || how == SHUT_RDWR) incoming_.end();
    if (how == SHUT_RD) return 0;
    const bool was_open = !std::exchange(writes_no_more_, true);
    if (how == SHUT_RDWR)
        say_goodbye(guard, Control::disconnect);
    else if (was_open)
        say_goodbye(guard, Control::shutdown);
    return 0;
}

}  // namespace tulle::verbs::rsockets
