#include "control/subnet/sa/client.h"

#include <algorithm>
#include <span>

namespace tulle::control {
namespace {

constexpr base::Duration kAnswerTimeout{1'000'000'000'000};  // a second
constexpr uint8_t kMostTries = 4;

}  // namespace

void SaClient::ask(base::Instant now, uint16_t to, const SaQuestion& question) {
    wire::SaMad mad;
    mad.header.base_version = 1;
    mad.header.class_version = 2;
    mad.header.management_class.value = wire::kClassSubnetAdministration;
    mad.header.method.value = question.method;
    mad.header.transaction_id.value = ++transaction_;
    mad.header.attribute_id.value = question.attribute;
    mad.sa.component_mask.value = question.mask;
    const size_t size = std::min(question.record.size(), mad.data.size());
    std::copy_n(question.record.begin(), size, std::as_writable_bytes(std::span(mad.data)).begin());
    wire::write(mad, request_.bytes());
    record_ = question.record;
    to_ = to;
    answer_.reset();
    mads_ = 0;
    tries_ = 0;
    send(now);
}

// Each try has its own transaction number, so segments of two answers cannot mix.
void SaClient::send(base::Instant now) {
    if (++tries_ > 1) {
        auto mad = *wire::parse<wire::SaMad>(request_.bytes());
        mad.header.transaction_id.value = ++transaction_;
        wire::write(mad, request_.bytes());
    }
    receiver_ = {};
    sender_.reset();
    has_turned_ = false;
    deadline_ = now + kAnswerTimeout;
    if (record_.size() <= wire::kSaDataSize)
        out_.push_back({to_, request_});
    else
        sender_.emplace(request_, record_);
}

void SaClient::finish(SaAnswer answer) {
    answer.mads = mads_;
    answer_ = std::move(answer);
    deadline_ = base::Instant::never();
    sender_.reset();
}

void SaClient::on_mad(base::Instant now, uint16_t from, const MadBytes& mad) {
    if (mad.method() == wire::kMethodReport && mad.attribute() == wire::kSaNotice) {
        notices_.push_back(
            wire::parse<wire::ForwardedNotice>(mad.bytes().subspan(wire::kSaDataOffset))->notice);
        MadBytes back = mad;
        back.answer(wire::kStatusOk);
        out_.push_back({from, back});
        return;
    }
    if (from != to_ || mad.transaction() != request_.transaction()) return;
    ++mads_;
    if (is_rmpp(mad) && rmpp_of(mad).type != wire::kRmppData) {
        if (!sender_) return;
        sender_->on_answer(now, mad);
        if (!sender_->is_done() || sender_->has_failed() || has_turned_) return;
        has_turned_ = true;  // 13.6.6.3: now the other side is the sender
        MadBytes turn = rmpp_answer(request_, wire::kRmppAck, wire::kRmppOk, 0, kRmppWindow);
        turn.answer(wire::kStatusOk);
        out_.push_back({to_, turn});
        return;
    }
    if ((mad.method() & wire::kMethodResponse) == 0) return;
    deadline_ = answer_ ? base::Instant::never() : now + kAnswerTimeout;
    const uint16_t status = mad.status();
    const size_t stride = size_t{8} * sa_header_of(mad).attribute_offset;
    if (is_rmpp(mad)) {  // repeated segments of a complete answer too: they need an ACK
        if (auto back = receiver_.take(mad)) out_.push_back({to_, *back});
        if (receiver_.is_complete() && !answer_) finish({true, status, stride, receiver_.data()});
        return;
    }
    if (answer_) return;
    const auto data = mad.bytes().subspan(wire::kSaDataOffset);
    std::vector<std::byte> record;
    if (status == wire::kStatusOk)
        record.assign(data.begin(),
                      data.begin() + static_cast<ptrdiff_t>(std::min(stride, data.size())));
    finish({true, status, record.size(), record});
}

void SaClient::on_timer(base::Instant now) {
    if (sender_) sender_->on_timer(now);
    if (answer_ || now < deadline_) return;
    if (tries_ >= kMostTries) return finish({});
    send(now);
}

std::optional<GmpOut> SaClient::poll_transmit(base::Instant now) {
    std::optional<GmpOut> out;
    if (!out_.empty()) {
        out = out_.front();
        out_.pop_front();
    } else if (sender_) {
        if (const auto mad = sender_->poll(now)) out = GmpOut{to_, *mad};
    }
    mads_ += out.has_value();
    return out;
}

base::Instant SaClient::next_deadline() const {
    base::Instant next = deadline_;
    if (sender_) next = std::min(next, sender_->next_deadline());
    return next;
}

}  // namespace tulle::control
