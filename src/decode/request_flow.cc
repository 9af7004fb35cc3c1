#include "decode/request_flow.h"

#include <algorithm>
#include <array>
#include <utility>

#include "decode/facts.h"
#include "wire/syndrome.h"

namespace tulle::decode {
namespace {

constexpr std::array<uint32_t, 5> kMtus = {256, 512, 1024, 2048, 4096};

// The most packets in flight (a READ of 4 GiB takes as many numbers). A sequence number further
// away belongs to a new connection of the same queue pair.
constexpr uint64_t kPlausibleJump = 1 << 20;
// How far below the first number seen a sender may return to packets from before the capture.
constexpr uint64_t kBeforeCapture = 4096;
constexpr uint64_t kCircle = uint64_t{wire::kPsnMask} + 1;

wire::Psn wrap(uint64_t at) {
    return wire::Psn{static_cast<uint32_t>(at & wire::kPsnMask)};
}

bool begins_message(uint8_t opcode) {
    const wire::Position position = wire::opcode_info(opcode).position;
    return position == wire::Position::first || position == wire::Position::only;
}

bool ends_message(uint8_t opcode) {
    const wire::Position position = wire::opcode_info(opcode).position;
    return position == wire::Position::last || position == wire::Position::only;
}

bool shows_mtu(const wire::Frame& frame) {
    const wire::Position position = frame.transport.info().position;
    return position == wire::Position::first || position == wire::Position::middle;
}

bool is_read_response(wire::Operation operation) {
    return operation >= wire::Operation::read_response_first &&
           operation <= wire::Operation::read_response_only;
}

// Whether only its own response completes the operation.
bool needs_response(uint8_t opcode) {
    switch (kind_of(wire::operation_of(opcode))) {
        case OperationKind::send:
        case OperationKind::write: return false;
        default: return true;
    }
}

uint32_t packets_of(uint64_t bytes, uint32_t mtu) {
    return static_cast<uint32_t>(std::max<uint64_t>(1, (bytes + mtu - 1) / mtu));
}

}  // namespace

void RequestFlow::on_request(const wire::Frame& frame, When when, Noticed& noticed) {
    if (shows_mtu(frame)) learn_mtu(payload_bytes(frame));
    if (key_.service == wire::Service::uc)
        on_unreliable(frame, when, noticed);
    else
        on_reliable(frame, when, noticed);
}

void RequestFlow::on_reliable(const wire::Frame& frame, When when, Noticed& noticed) {
    const wire::Psn psn = frame.transport.bth.psn;
    if (!is_plausible(psn)) restart(psn, noticed);
    const uint64_t at = unwrap(psn);
    if (at < next_) return on_seen_before(at, frame, when, noticed);
    if (!settle_span(at)) noticed.psn_gap = static_cast<uint32_t>(at - next_);
    resending_ = false;
    record(at, frame, when, 1, noticed);
}

// A number below the next new one: retransmitted, or overtaken on the way.
void RequestFlow::on_seen_before(uint64_t at, const wire::Frame& frame, When when,
                                 Noticed& noticed) {
    if (const auto sent = sent_.find(at); sent != sent_.end()) {
        ++sent->second.times_sent;
        noticed.message = sent->second.message;
        noticed.retransmission = true;
    } else if (const auto it = covering(at); it != awaited_.end()) {
        ++it->second.operation.retransmitted_packets;
        noticed.message = Message{wrap(it->first), it->second.operation.begin.packet};
        noticed.retransmission = true;
    } else if (at <= answered_) {
        noticed.retransmission = true;
    } else if (resending_) {
        noticed.retransmission = true;
        record(at, frame, when, 2, noticed);
    } else {
        noticed.out_of_order = true;
        record(at, frame, when, 1, noticed);
    }
    if (noticed.retransmission) resending_ = true;
}

void RequestFlow::record(uint64_t at, const wire::Frame& frame, When when, uint32_t times_sent,
                         Noticed& noticed) {
    const wire::TransportHeaders& headers = frame.transport;
    if (needs_response(headers.opcode())) return await(at, frame, when, times_sent, noticed);
    Sent sent;
    sent.opcode = headers.opcode();
    sent.payload_bytes = payload_bytes(frame);
    sent.times_sent = times_sent;
    sent.when = when;
    sent.message = message_of(at, headers.opcode(), when);
    sent.reth = headers.reth;
    if (headers.has(wire::kImmDt)) sent.immediate_or_key = headers.imm_dt.immediate.value;
    if (headers.has(wire::kIeth)) sent.immediate_or_key = headers.ieth.rkey.value;
    noticed.message = sent.message;
    sent_.emplace(at, sent);
    next_ = std::max(next_, at + 1);
    if (sent_.size() > kMostSent) {
        const auto oldest = sent_.begin();
        join(oldest->first, oldest->second, Outcome::unanswered, oldest->second.when,
             noticed.completed);
        sent_.erase(oldest);
    }
}

void RequestFlow::await(uint64_t at, const wire::Frame& frame, When when, uint32_t times_sent,
                        Noticed& noticed) {
    const wire::TransportHeaders& headers = frame.transport;
    Awaited awaited;
    FollowedOperation& operation = awaited.operation;
    operation = begin_operation(headers.opcode(), at, when);
    operation.retransmitted_packets = times_sent - 1;
    if (headers.has(wire::kReth)) {
        operation.address = headers.reth.virtual_address;
        operation.rkey = headers.reth.rkey;
        operation.bytes = headers.reth.dma_length;
    } else {
        operation.address = headers.atomic_eth.virtual_address;
        operation.rkey = headers.atomic_eth.rkey;
        operation.bytes = 8;
        operation.swap_or_add = headers.atomic_eth.swap_or_add.value;
        if (operation.kind == OperationKind::compare_swap)
            operation.compare = headers.atomic_eth.compare.value;
    }
    if (operation.kind != OperationKind::read) operation.packets = 1;
    if (operation.kind == OperationKind::read && operation.bytes > kMtus.front())
        awaited.span = mtu_ == 0 ? 0 : packets_of(operation.bytes, mtu_);
    awaited.next_response = at;
    noticed.message = Message{wrap(at), when.packet};
    const auto it = awaited_.emplace(at, awaited).first;
    next_ = std::max(next_, at + 1);
    if (awaited.span == 0)  // the minimum; set_span() and settle_span() correct it
        next_ = std::max(next_, at + packets_of(operation.bytes, kMtus.back()));
    else
        set_span(it, awaited.span);
    if (awaited_.size() > kMostAwaited) {
        const FollowedOperation oldest = awaited_.begin()->second.operation;
        complete(oldest, Outcome::unanswered, oldest.end, noticed.completed);
        awaited_.erase(awaited_.begin());
    }
}

// An unreliable receiver takes packets in order only. After a gap it drops the message and
// continues with the next first packet (IBTA vol 1, 9.8.2).
void RequestFlow::on_unreliable(const wire::Frame& frame, When when, Noticed& noticed) {
    const wire::Psn psn = frame.transport.bth.psn;
    const uint8_t opcode = frame.transport.opcode();
    if (!is_plausible(psn)) restart(psn, noticed);
    const uint64_t at = unwrap(psn);
    if (at != next_) {
        noticed.psn_gap = at > next_ ? static_cast<uint32_t>(at - next_) : 0;
        noticed.out_of_order = at < next_;
        close(Outcome::dropped, when, noticed.completed);
    }
    next_ = at + 1;
    if (!open_ && !begins_message(opcode)) return;  // the rest of a dropped message
    Sent sent;
    sent.opcode = opcode;
    sent.payload_bytes = payload_bytes(frame);
    sent.when = when;
    sent.message = message_of(at, opcode, when);
    sent.reth = frame.transport.reth;
    sent.immediate_or_key = frame.transport.imm_dt.immediate.value;
    noticed.message = sent.message;
    join(at, sent, Outcome::delivered, when, noticed.completed);
}

void RequestFlow::on_response(const wire::Frame& frame, When when, Noticed& noticed) {
    const wire::TransportHeaders& headers = frame.transport;
    if (!started_) return;
    if (shows_mtu(frame)) learn_mtu(payload_bytes(frame));
    const uint64_t at = unwrap(headers.bth.psn);
    if (headers.has(wire::kAeth)) {
        const uint8_t syndrome = headers.aeth.syndrome.value;
        if (wire::ack_kind(syndrome) != wire::AckKind::ack)
            return on_nak(at, syndrome, when, noticed);
    }
    const bool first_answer = at > answered_;
    bool news = acknowledge(at, when, noticed);
    news = on_awaited_response(at, frame, when, noticed) || news;
    if (!news && !first_answer) noticed.retransmission = true;
}

// A NAK acknowledges all packets before the one it names (IBTA vol 1, 9.7.5.2.8).
void RequestFlow::on_nak(uint64_t at, uint8_t syndrome, When when, Noticed& noticed) {
    acknowledge(at - 1, when, noticed);
    if (wire::ack_kind(syndrome) == wire::AckKind::rnr_nak) return on_rnr_nak(at);
    const uint8_t code = wire::ack_code(syndrome);
    if (code == static_cast<uint8_t>(wire::NakCode::psn_sequence_error)) {
        resending_ = true;
        return;
    }
    refuse(at, code, when, noticed);
}

void RequestFlow::on_rnr_nak(uint64_t at) {
    resending_ = true;
    if (const auto sent = sent_.find(at); sent != sent_.end())
        ++sent->second.rnr_naks;
    else if (const auto it = covering(at); it != awaited_.end())
        ++it->second.operation.rnr_naks;
}

// The message of this packet has failed, with all its packets.
void RequestFlow::refuse(uint64_t at, uint8_t code, When when, Noticed& noticed) {
    const size_t before = noticed.completed.size();
    if (const auto it = covering(at); it != awaited_.end()) {
        complete(it->second.operation, Outcome::nak, when, noticed.completed);
        awaited_.erase(it);
    } else if (sent_.contains(at)) {
        bool ended = false;
        while (!ended && !sent_.empty()) {
            const auto sent = sent_.begin();
            ended = ends_message(sent->second.opcode);
            join(sent->first, sent->second, Outcome::nak, when, noticed.completed);
            sent_.erase(sent);
        }
        if (!ended) close(Outcome::nak, when, noticed.completed);
    }
    for (size_t i = before; i < noticed.completed.size(); ++i) noticed.completed[i].nak_code = code;
}

// True if the response brought something new.
bool RequestFlow::on_awaited_response(uint64_t at, const wire::Frame& frame, When when,
                                      Noticed& noticed) {
    const auto it = covering(at);
    if (it == awaited_.end()) return false;
    FollowedOperation& operation = it->second.operation;
    noticed.message = Message{wrap(it->first), operation.begin.packet};
    const wire::Operation response = wire::operation_of(frame.transport.opcode());
    if (operation.kind == OperationKind::read)
        return is_read_response(response) && on_read_response(it, at, frame, when, noticed);

    const bool is_atomic =
        operation.kind == OperationKind::compare_swap || operation.kind == OperationKind::fetch_add;
    if (is_atomic && response != wire::Operation::atomic_acknowledge) return false;
    if (is_atomic) operation.original = frame.transport.atomic_ack_eth.original.value;
    complete(operation, Outcome::acknowledged, when, noticed.completed);
    awaited_.erase(it);
    return true;
}

// A requester takes the packets of a READ response in order only. After a gap it must request the
// missing ones again.
bool RequestFlow::on_read_response(AwaitedMap::iterator it, uint64_t at, const wire::Frame& frame,
                                   When when, Noticed& noticed) {
    Awaited& awaited = it->second;
    const uint64_t previous = std::exchange(awaited.latest_response, at);
    if (at < awaited.next_response) return false;
    if (at > awaited.next_response) {
        if (at != previous + 1) noticed.psn_gap = static_cast<uint32_t>(at - awaited.next_response);
        return true;
    }
    awaited.next_response = at + 1;
    awaited.operation.last_psn = wrap(at);
    awaited.operation.end = when;
    ++awaited.operation.packets;
    if (!ends_message(frame.transport.opcode())) return true;
    if (awaited.span == 0) set_span(it, static_cast<uint32_t>(at - it->first + 1));
    complete(awaited.operation, Outcome::acknowledged, when, noticed.completed);
    awaited_.erase(it);
    return true;
}

// Removes what is acknowledged. Returns true if there was anything.
bool RequestFlow::acknowledge(uint64_t up_to, When when, Noticed& noticed) {
    bool news = false;
    while (!sent_.empty() && sent_.begin()->first <= up_to) {
        const auto sent = sent_.begin();
        join(sent->first, sent->second, Outcome::acknowledged, when, noticed.completed);
        sent_.erase(sent);
        news = true;
    }
    answered_ = std::max(answered_, std::min(up_to, next_ - 1));
    return news;
}

// Adds a packet to the open operation; the last packet completes it.
void RequestFlow::join(uint64_t at, const Sent& sent, Outcome outcome, When when,
                       std::vector<FollowedOperation>& done) {
    const bool begins = begins_message(sent.opcode);
    if (begins) close(outcome, when, done);
    if (!open_) {
        open_ = begin_operation(sent.opcode, at, sent.when);
        open_->whole = begins;
        open_next_ = at;
    }
    if (at != open_next_) open_->whole = false;
    open_next_ = at + 1;
    if (begins && open_->kind == OperationKind::write) {
        open_->address = sent.reth.virtual_address;
        open_->rkey = sent.reth.rkey;
        open_->bytes = sent.reth.dma_length;
    } else if (!open_->address) {
        open_->bytes += sent.payload_bytes;
    }
    open_->last_psn = wrap(at);
    ++open_->packets;
    open_->retransmitted_packets += sent.times_sent - 1;
    open_->rnr_naks += sent.rnr_naks;
    open_->end = sent.when;
    const uint16_t headers = wire::opcode_info(sent.opcode).headers;
    if ((headers & wire::kImmDt) != 0) open_->immediate = sent.immediate_or_key;
    if ((headers & wire::kIeth) != 0) open_->invalidated = wire::RKey{sent.immediate_or_key};
    if (!ends_message(sent.opcode)) return;
    complete(*open_, outcome, when, done);
    open_.reset();
}

// Ends an operation whose last packet was never seen.
void RequestFlow::close(Outcome outcome, When when, std::vector<FollowedOperation>& done) {
    if (!open_) return;
    open_->whole = false;
    complete(*open_, outcome, when, done);
    open_.reset();
}

void RequestFlow::complete(FollowedOperation operation, Outcome outcome, When when,
                           std::vector<FollowedOperation>& done) {
    operation.outcome = outcome;
    operation.source_qp = source_qp_;
    operation.end = when;
    if (outcome == Outcome::unanswered && operation.rnr_naks != 0)
        operation.outcome = Outcome::rnr_nak;
    else if (outcome == Outcome::unanswered && operation.kind == OperationKind::read &&
             operation.packets != 0)
        operation.outcome = Outcome::incomplete;
    done.push_back(std::move(operation));
}

FollowedOperation RequestFlow::begin_operation(uint8_t opcode, uint64_t at, When when) const {
    FollowedOperation operation;
    operation.kind = kind_of(wire::operation_of(opcode));
    operation.service = key_.service;
    operation.source = key_.source;
    operation.destination = key_.destination;
    operation.dest_qp = wire::Qpn{key_.qp};
    operation.first_psn = operation.last_psn = wrap(at);
    operation.begin = operation.end = when;
    return operation;
}

Message RequestFlow::message_of(uint64_t at, uint8_t opcode, When when) const {
    if (!begins_message(opcode)) {
        const auto previous = sent_.find(at - 1);
        if (previous != sent_.end() && !ends_message(previous->second.opcode))
            return previous->second.message;
        if (open_ && open_next_ == at) return {open_->first_psn, open_->begin.packet};
    }
    return {wrap(at), when.packet};
}

bool RequestFlow::awaits(const wire::Frame& response) const {
    if (!started_) return false;
    const uint64_t at = unwrap(response.transport.bth.psn);
    const wire::Operation operation = wire::operation_of(response.transport.opcode());
    const auto it = covering(at);
    if (operation != wire::Operation::acknowledge) return it != awaited_.end();
    if (it != awaited_.end()) return true;  // a NAK
    return !sent_.empty() && at >= sent_.begin()->first && at < next_;
}

bool RequestFlow::knows(const wire::Frame& response) const {
    if (!started_) return false;
    const uint64_t at = unwrap(response.transport.bth.psn);
    return covering(at) != awaited_.end() || (at >= origin_ && at < next_);
}

void RequestFlow::learn_mtu(uint32_t payload_bytes) {
    if (std::find(kMtus.begin(), kMtus.end(), payload_bytes) == kMtus.end()) return;
    mtu_ = payload_bytes;
    if (awaited_.empty()) return;
    const auto latest = std::prev(awaited_.end());
    if (latest->second.span == 0)
        set_span(latest, packets_of(latest->second.operation.bytes, mtu_));
}

void RequestFlow::finish(std::vector<FollowedOperation>& operations) {
    for (auto& [at, sent] : sent_) join(at, sent, Outcome::unanswered, sent.when, operations);
    if (open_) close(Outcome::unanswered, open_->end, operations);
    for (auto& [at, awaited] : awaited_) {
        complete(awaited.operation, Outcome::unanswered, awaited.operation.end, operations);
    }
    sent_.clear();
    awaited_.clear();
}

bool RequestFlow::is_plausible(wire::Psn psn) const {
    if (!started_) return false;
    const uint64_t at = unwrap(psn);
    return at + kBeforeCapture >= origin_ && at + kPlausibleJump >= next_ &&
           at <= next_ + kPlausibleJump;
}

void RequestFlow::restart(wire::Psn psn, Noticed& noticed) {
    noticed.new_sequence = started_;
    finish(noticed.completed);
    started_ = true;
    resending_ = false;
    origin_ = next_ = kCircle + psn.value;
    answered_ = next_ - 1;
}

// The 64-bit number nearest to the expected one with these low 24 bits.
uint64_t RequestFlow::unwrap(wire::Psn psn) const {
    const uint32_t ahead = wire::psn_distance(wrap(next_), psn);
    return wire::psn_before(psn, wrap(next_)) ? next_ - (kCircle - ahead) : next_ + ahead;
}

// A new request at this number. If the READ before it has an unknown span, the distance determines
// it. Returns true if there is no gap.
bool RequestFlow::settle_span(uint64_t next_request) {
    if (!awaited_.empty()) {
        const auto latest = std::prev(awaited_.end());
        const uint64_t bytes = latest->second.operation.bytes;
        const uint64_t span = next_request - latest->first;
        if (latest->second.span == 0) {
            const auto fits = [&](uint32_t mtu) { return packets_of(bytes, mtu) == span; };
            if (std::any_of(kMtus.begin(), kMtus.end(), fits))
                set_span(latest, static_cast<uint32_t>(span));
            if (std::count_if(kMtus.begin(), kMtus.end(), fits) == 1)
                mtu_ = *std::find_if(kMtus.begin(), kMtus.end(), fits);
        }
    }
    return next_request == next_;
}

void RequestFlow::set_span(AwaitedMap::iterator it, uint32_t span) {
    it->second.span = span;
    it->second.operation.last_psn = wrap(it->first + span - 1);
    next_ = std::max(next_, it->first + span);
}

RequestFlow::AwaitedMap::const_iterator RequestFlow::covering(uint64_t at) const {
    auto it = awaited_.upper_bound(at);
    if (it == awaited_.begin()) return awaited_.end();
    --it;
    const Awaited& awaited = it->second;
    const uint32_t span =
        awaited.span != 0 ? awaited.span : packets_of(awaited.operation.bytes, kMtus.front());
    return at < it->first + span ? it : awaited_.end();
}

RequestFlow::AwaitedMap::iterator RequestFlow::covering(uint64_t at) {
    const auto it = std::as_const(*this).covering(at);
    return awaited_.erase(it, it);  // converts a const_iterator; erases nothing
}

}  // namespace tulle::decode
