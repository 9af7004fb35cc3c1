// Follows some packets through the fabric and accounts for their time; also notes who crosses which
// port. A run that wants to know why it took so long is run once more with a journal in each
// partition; without one none of this costs anything.
//
// Each hop adds what it took: bits on the line, the cable, the next switch's pipeline, and before
// them what the packet waited for. A cut-through switch passes the head on before the tail is here,
// so of such a line only the head's bits count.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "fabric/port.h"
#include "fabric/story.h"

namespace tulle::fabric {

// A port that was held for one part in so many of a time passes the reason on: what waits for it
// would have gone otherwise. Chosen: a port that is only full itself is held for less.
inline constexpr uint64_t kPassedOn = 5;

struct PacketAccount {
    Story::Mark story;  // of its sender, until the packet left
    Shares journey;     // since then
    Instant at{};       // accounted for until here
    Place marked_at = kNowhere;
    uint32_t connection = 0;                     // as whoever watches numbers it
    Rate first_rate = Rate::bits_per_second(1);  // of its sender's line
    // While it is in the queue of a switch.
    uint64_t held_ps = 0;          // of its lane, when it came
    uint32_t own_bytes_ahead = 0;  // of its own connection
    bool found_idle = false;       // nothing was ahead of it, and the line was free
};

struct LossRecord {
    Place place = kNowhere;
    Drop cause = Drop::buffer_full;
    uint32_t connection = 0;
    auto operator<=>(const LossRecord&) const = default;
};

// Somebody's messages went through a port.
struct CrossingRecord {
    Place place = kNowhere;
    uint32_t source = 0;  // endpoints
    uint32_t destination = 0;
    auto operator<=>(const CrossingRecord&) const = default;
};

class Journal {
public:
    explicit Journal(bool notes_crossings) : notes_crossings_(notes_crossings) {}

    // What one port did with a packet.
    struct Hop {
        Place place = kNowhere;
        Rate rate = Rate::bits_per_second(1);
        Instant begin{};  // of its bits on the line
        Instant end{};
        Duration retries{};  // of them, those that the link sent again
        Duration tail{};     // that a cut-through switch does not wait for
        Duration cable{};
        Duration pipeline{};    // of the switch behind it
        uint64_t held_ps = 0;   // of its lane, until now
        Place root = kNowhere;  // of what held its lane last
    };

    // A packet is watched from here on (Transit::kWatched). Others have no account, or that of
    // somebody before them.
    PacketAccount& open(uint32_t index);
    PacketAccount& account(uint32_t index) { return *accounts_[index]; }
    std::unique_ptr<PacketAccount> take(uint32_t index) { return std::move(accounts_[index]); }
    void put(uint32_t index, std::unique_ptr<PacketAccount> account);
    void copy(uint32_t from, uint32_t to);
    // Its memory is used again.
    void give_back(std::unique_ptr<PacketAccount> account) { spare_.push_back(std::move(account)); }

    void leave(uint32_t index, const Hop& hop);
    void lose(uint32_t index, Place place, Drop cause);
    bool notes_crossings() const { return notes_crossings_; }
    void cross(Place place, uint32_t source, uint32_t destination);

    // Credits: why the buffer of a lane has room again only now. A packet of it has left by a port
    // which, since the last one, was held itself for `held_ps` in all; or which had others to send.
    struct Leaving {
        uint32_t port = 0;  // of the cabling, with its place
        Place place = kNowhere;
        Place root = kNowhere;  // of what held it last
        uint64_t held_ps = 0;
        Instant now{};
    };
    void leave_buffer(uint32_t lane, const Leaving& leaving);
    Place credit_root(uint32_t lane) const {
        return lane < credit_roots_.size() ? credit_roots_[lane] : kNowhere;
    }

    const std::map<LossRecord, uint64_t>& losses() const { return losses_; }
    const std::set<CrossingRecord>& crossings() const { return crossings_; }

private:
    void wait(PacketAccount& account, const Hop& hop);

    std::unique_ptr<PacketAccount>& place_for(uint32_t index) {
        if (index >= accounts_.size()) accounts_.resize(index + 1);
        return accounts_[index];
    }

    bool notes_crossings_;
    std::vector<std::unique_ptr<PacketAccount>> accounts_;  // by packet of the store
    std::vector<std::unique_ptr<PacketAccount>> spare_;
    struct LastLeft {
        Instant at{};
        uint64_t held_ps = 0;
    };
    std::vector<LastLeft> last_left_;  // by port
    std::vector<Place> credit_roots_;  // by input and lane, as the cabling numbers them
    std::map<LossRecord, uint64_t> losses_;
    std::set<CrossingRecord> crossings_;
    // Of those, some by a hash: most messages go where one went before.
    std::vector<CrossingRecord> recent_ = std::vector<CrossingRecord>(1 << 14);
};

}  // namespace tulle::fabric
