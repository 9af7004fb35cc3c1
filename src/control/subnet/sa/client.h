// A client of subnet administration. It sends a question, in segments if it is long, reassembles
// the answer, and acknowledges the reports that it subscribed to.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "control/subnet/sa/administration.h"

namespace tulle::control {

struct SaQuestion {
    uint8_t method = wire::kMethodGet;
    uint16_t attribute = 0;
    uint64_t mask = 0;
    std::vector<std::byte> record;
};

struct SaAnswer {
    bool has_come = false;  // false: given up
    uint16_t status = 0;
    size_t stride = 0;  // from one record to the next
    std::vector<std::byte> bytes;
    uint64_t mads = 0;  // sent and received for this answer

    size_t count() const { return stride == 0 ? 0 : bytes.size() / stride; }
    template <wire::Header H>
    H record(size_t i) const {
        return *wire::parse<H>(wire::Bytes(bytes).subspan(i * stride));
    }
};

// Makes a question that holds a record.
template <wire::Header H>
SaQuestion question_of(uint8_t method, uint16_t attribute, uint64_t mask, const H& record) {
    SaQuestion question{method, attribute, mask, std::vector<std::byte>(H::kSize)};
    wire::write(record, question.record);
    return question;
}

class SaClient {
public:
    // `to`: the LID of the manager. One question at a time.
    void ask(base::Instant now, uint16_t to, const SaQuestion& question);
    // Repeats the groups that it joined, its services and subscriptions, when it asks nothing else.
    void register_again(uint16_t to);
    void on_mad(base::Instant now, uint16_t from, const MadBytes& mad);
    void on_timer(base::Instant now);
    std::optional<GmpOut> poll_transmit(base::Instant now);
    base::Instant next_deadline() const;

    // The answer to the last question; nothing: still pending.
    const std::optional<SaAnswer>& answer() const { return answer_; }
    // Notices reported since the last call.
    std::vector<wire::Notice> take_notices() { return std::exchange(notices_, {}); }

private:
    void begin(base::Instant now, uint16_t to, const SaQuestion& question);
    void send(base::Instant now);
    void finish(base::Instant now, SaAnswer answer);
    void note_registration(const SaQuestion& question);

    SaQuestion question_;
    bool is_pending_ = false;
    bool is_again_ = false;  // the question repeats a registration
    std::vector<SaQuestion> registered_;
    std::deque<SaQuestion> again_;
    base::Instant again_at_{};  // not before
    uint8_t again_tries_ = 0;
    uint16_t again_to_ = 0;
    uint16_t to_ = 0;
    uint64_t transaction_ = 0;
    MadBytes request_;
    std::vector<std::byte> record_;
    std::optional<RmppSender> sender_;
    bool has_turned_ = false;  // the long question has arrived, the answer may follow
    RmppReceiver receiver_;
    std::optional<SaAnswer> answer_;
    std::deque<GmpOut> out_;
    std::vector<wire::Notice> notices_;
    uint64_t mads_ = 0;
    uint8_t tries_ = 0;
    base::Instant deadline_ = base::Instant::never();
};

}  // namespace tulle::control
