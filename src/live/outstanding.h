// The queue pairs whose sends are not all answered. They decide whether this process must be woken
// for acknowledgements: only if one completes work whose completion raises an event, or lets more
// packets go. The program finds all others when it looks for completions.
#pragma once

#include <algorithm>
#include <new>
#include <vector>

#include "transport/adapter.h"

namespace tulle::live {

class Outstanding {
public:
    explicit Outstanding(transport::Adapter& adapter) : adapter_(adapter) {
        queue_pairs_.reserve(kMost);  // posting and arming must not fail for lack of memory
    }

    // The next completion of this queue raises an event, and one has been raised.
    void on_armed(transport::CqId cq) {
        try {
            if (cq.value >= is_armed_.size()) is_armed_.resize(cq.value + 1);
            is_armed_[cq.value] = true;
        } catch (const std::bad_alloc&) {
            is_unsure_ = true;
        }
    }
    void on_event(const transport::AdapterEvent& event) {
        if (event.kind == transport::EventKind::completion && event.subject < is_armed_.size())
            is_armed_[event.subject] = false;
    }

    void on_posted(wire::Qpn qpn) {
        if (is_full() || std::ranges::find(queue_pairs_, qpn) != queue_pairs_.end()) return;
        queue_pairs_.push_back(qpn);
    }

    bool need_answers(base::Instant now) {
        bool is_needed = is_full() || is_unsure_;
        std::erase_if(queue_pairs_, [&](wire::Qpn qpn) {
            const transport::QueuePair* qp = adapter_.queue_pairs().find(qpn);
            if (qp == nullptr) return true;
            const auto standing = adapter_.queue_pairs().standing(*qp, now);
            is_needed = is_needed || needs_answer(*qp, standing);
            return standing == transport::Standing::idle;
        });
        return is_needed;
    }

private:
    static constexpr size_t kMost = 16;  // chosen: beyond that all answers are needed

    bool is_full() const { return queue_pairs_.size() == kMost; }
    bool is_armed(transport::CqId cq) const {
        return cq.value < is_armed_.size() && is_armed_[cq.value];
    }
    bool needs_answer(const transport::QueuePair& qp, transport::Standing standing) {
        if (standing == transport::Standing::idle) return false;
        return standing != transport::Standing::answers || qp.drain_notify || is_armed(qp.send_cq);
    }

    transport::Adapter& adapter_;
    std::vector<wire::Qpn> queue_pairs_;
    std::vector<bool> is_armed_;  // by number of the completion queue
    bool is_unsure_ = false;      // there was no memory for that
};

}  // namespace tulle::live
