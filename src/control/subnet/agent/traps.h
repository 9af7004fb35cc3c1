// Traps that a node sends until a manager represses them (IBTA vol 1, 13.4.9 and 14.2.5.1), and the
// queue of notices for a manager that polls for them.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "wire/mad/notice.h"

namespace tulle::control {

class Traps {
public:
    struct Trap {
        wire::Notice notice;
        uint64_t transaction = 0;
        base::Instant at{};  // when it is sent next
    };

    // At most one trap of each kind is pending. A newer one replaces it under its own transaction
    // number, so a TrapRepress for the older one does not silence it.
    void raise(base::Instant now, const wire::Notice& notice);
    void repress(uint64_t transaction);
    // Returns the next trap that is due. It is due again after an interval.
    std::optional<Trap> take(base::Instant now);
    base::Instant next_deadline() const;
    bool are_repressed() const { return traps_.empty(); }

    // The oldest notice, or an empty one.
    wire::Notice notice() const;
    void drop_notice() {
        if (!notices_.empty()) notices_.pop_front();
    }

private:
    std::vector<Trap> traps_;
    std::deque<wire::Notice> notices_;
    uint64_t transaction_ = 0;
};

}  // namespace tulle::control
