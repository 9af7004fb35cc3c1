// Requests of a manager: a queue, of which up to a window are pending. A request without an answer
// is sent again, and given up after some retries.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "control/subnet/subnet.h"

namespace tulle::control {

// A request to a node, or with a port, to the node behind that port.
struct SmpRequest {
    uint32_t node = kNone;  // kNone: the first probe, to the manager's own node
    uint8_t behind = 0;
    uint16_t attribute = 0;
    uint32_t modifier = 0;
    bool is_set = false;
    uint8_t wanted_state = 0;    // of a port
    bool is_congestion = false;  // of the class congestion control, routed by LID
};

struct WindowSettings {
    uint32_t size = 64;
    uint8_t retries = 3;
    base::Duration timeout{};
};

class SmpWindow {
public:
    explicit SmpWindow(WindowSettings settings) : settings_(settings) {}

    struct Outgoing {
        SmpRequest request;
        uint32_t transaction = 0;
    };

    void ask(const SmpRequest& request) { queue_.push_back(request); }
    void clear();
    std::optional<Outgoing> poll(base::Instant now);
    // Takes the request that an answer belongs to; nothing: it was repeated or given up.
    std::optional<SmpRequest> take_answered(uint32_t transaction);
    // Repeats the requests that timed out; returns those that are given up.
    std::vector<SmpRequest> on_timer(base::Instant now);

    bool is_empty() const { return queue_.empty() && pending_.empty(); }
    bool can_send() const {
        return !resend_.empty() || (!queue_.empty() && pending_.size() < settings_.size);
    }
    base::Instant next_deadline() const {
        return deadlines_.empty() ? base::Instant::never() : deadlines_.begin()->first.first;
    }
    uint64_t repeated() const { return repeated_; }

private:
    struct Pending {
        SmpRequest request;
        base::Instant deadline;
        uint8_t tries = 0;
    };

    void put(base::Instant now, uint32_t transaction, const SmpRequest& request, uint8_t tries);

    WindowSettings settings_;
    std::deque<SmpRequest> queue_;
    std::unordered_map<uint32_t, Pending> pending_;                     // by transaction
    std::map<std::pair<base::Instant, uint32_t>, uint32_t> deadlines_;  // by time and transaction
    std::deque<uint32_t> resend_;  // transactions to send again after a timeout
    uint32_t transaction_ = 0;
    uint64_t repeated_ = 0;
};

}  // namespace tulle::control
