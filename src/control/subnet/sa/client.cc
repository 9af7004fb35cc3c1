#include "control/subnet/sa/client.h"

#include <algorithm>
#include <span>

namespace tulle::control {
namespace {

constexpr base::Duration kAnswerTimeout{1'000'000'000'000};  // a second
constexpr uint8_t kMostTries = 4;
constexpr uint8_t kMostTriesAgain = 16;  // of all registrations together; chosen

// What names a registration: the group and port, the service, or the subscription.
std::vector<std::byte> name_of(const SaQuestion& question) {
    if (question.attribute == wire::kSaInformInfo) {
        auto info = *wire::parse<wire::InformInfo>(question.record);
        info.subscribe = 1;
        std::vector<std::byte> bytes(wire::InformInfo::kSize);
        wire::write(info, bytes);
        return bytes;
    }
    const size_t size = question.attribute == wire::kSaMcMemberRecord ? 32 : 26;
    return {question.record.begin(), question.record.begin() + static_cast<ptrdiff_t>(std::min(
                                                                   size, question.record.size()))};
}

bool is_registration(const SaQuestion& question) {
    const bool changes =
        question.method == wire::kMethodSet || question.method == wire::kMethodDelete;
    return changes && question.record.size() >= 32 &&
           (question.attribute == wire::kSaMcMemberRecord ||
            question.attribute == wire::kSaServiceRecord ||
            question.attribute == wire::kSaInformInfo);
}

}  // namespace

void SaClient::ask(base::Instant now, uint16_t to, const SaQuestion& question) {
    if (is_pending_ && is_again_) again_.push_front(question_);
    is_again_ = false;
    answer_.reset();
    begin(now, to, question);
}

void SaClient::register_again(uint16_t to) {
    again_to_ = to;
    again_at_ = {};
    again_tries_ = 0;
    again_.assign(registered_.begin(), registered_.end());
}

void SaClient::note_registration(const SaQuestion& question) {
    if (!is_registration(question)) return;
    const auto name = name_of(question);
    std::erase_if(registered_, [&](const SaQuestion& known) {
        return known.attribute == question.attribute && name_of(known) == name;
    });
    const bool ends = question.method == wire::kMethodDelete ||
                      (question.attribute == wire::kSaInformInfo &&
                       wire::parse<wire::InformInfo>(question.record)->subscribe == 0);
    if (!ends) registered_.push_back(question);
}

void SaClient::begin(base::Instant now, uint16_t to, const SaQuestion& question) {
    question_ = question;
    is_pending_ = true;
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

// A registration that the new master refuses is tried again: a group may need its maker first.
void SaClient::finish(base::Instant now, SaAnswer answer) {
    is_pending_ = false;
    deadline_ = base::Instant::never();
    sender_.reset();
    const bool is_good = answer.has_come && answer.status == wire::kStatusOk;
    if (is_again_) {
        if (!is_good && ++again_tries_ < kMostTriesAgain) {
            again_.push_back(question_);
            again_at_ = now + kAnswerTimeout;
        }
        return;
    }
    if (is_good) note_registration(question_);
    answer.mads = mads_;
    answer_ = std::move(answer);
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
    deadline_ = is_pending_ ? now + kAnswerTimeout : base::Instant::never();
    const uint16_t status = mad.status();
    const size_t stride = size_t{8} * sa_header_of(mad).attribute_offset;
    if (is_rmpp(mad)) {  // repeated segments of a complete answer too: they need an ACK
        if (auto back = receiver_.take(mad)) out_.push_back({to_, *back});
        if (receiver_.is_complete() && is_pending_)
            finish(now, {true, status, stride, receiver_.data()});
        return;
    }
    if (!is_pending_) return;
    const auto data = mad.bytes().subspan(wire::kSaDataOffset);
    std::vector<std::byte> record;
    if (status == wire::kStatusOk)
        record.assign(data.begin(),
                      data.begin() + static_cast<ptrdiff_t>(std::min(stride, data.size())));
    finish(now, {true, status, record.size(), record});
}

void SaClient::on_timer(base::Instant now) {
    if (sender_) sender_->on_timer(now);
    if (!is_pending_ || now < deadline_) return;
    if (tries_ >= kMostTries) return finish(now, {});
    send(now);
}

std::optional<GmpOut> SaClient::poll_transmit(base::Instant now) {
    std::optional<GmpOut> out;
    if (out_.empty() && !is_pending_ && !again_.empty() && now >= again_at_) {
        const SaQuestion next = again_.front();
        again_.pop_front();
        is_again_ = true;
        begin(now, again_to_, next);
    }
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
    if (!is_pending_ && !again_.empty()) next = std::min(next, again_at_);
    if (sender_) next = std::min(next, sender_->next_deadline());
    return next;
}

}  // namespace tulle::control
