// Follows watched packets through the fabric and accounts for their time. It also notes whose
// messages cross which port. To explain why a run took so long, the run is repeated with a journal
// in each partition. Without a journal, none of this costs anything.
//
// Each hop adds the time that it took: bits on the line, the cable, the pipeline of the next
// switch, and before them the packet's wait. A cut-through switch forwards the head before the tail
// has arrived, so only the head's bits count on the line to it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "fabric/port.h"
#include "fabric/story.h"

namespace tulle::fabric {

// A port that was held for at least 1/kPassedOn of a time passes the blame on: otherwise the
// packets that wait for it would have left. Chosen: a port that is only full itself is held for
// less.
inline constexpr uint64_t kPassedOn = 5;

struct PacketAccount {
    Story::Mark story;                           // of its sender, until the packet left
    Shares journey;                              // since the packet left
    Instant at{};                                // its time is accounted for until here
    Rate first_rate = Rate::bits_per_second(1);  // of its sender's line
    // While the packet is in the queue of a switch.
    uint64_t held_ps = 0;          // of its lane, when the packet arrived
    uint32_t own_bytes_ahead = 0;  // of its own connection
    bool found_idle = false;       // nothing was ahead of it, and the line was free
};

// A packet to this queue pair was lost.
struct LossRecord {
    Place place = kNowhere;
    Drop cause = Drop::buffer_full;
    uint32_t endpoint = 0;
    uint32_t qpn = 0;
    auto operator<=>(const LossRecord&) const = default;
};

// Messages from `source` to `destination` went through a port.
struct CrossingRecord {
    Place place = kNowhere;
    uint32_t source = 0;  // endpoints
    uint32_t destination = 0;
    auto operator<=>(const CrossingRecord&) const = default;
};

class Journal {
public:
    // `follows_few`: see sim/time_account.h.
    explicit Journal(bool notes_crossings, bool follows_few = false)
        : notes_crossings_(notes_crossings), follows_few_(follows_few) {}

    // What one port did with a packet.
    struct Hop {
        Place place = kNowhere;
        Rate rate = Rate::bits_per_second(1);
        Instant begin{};  // of its bits on the line
        Instant end{};
        Duration retries{};  // of that time, what the link's repeats took
        Duration tail{};     // what a cut-through switch does not wait for
        Duration cable{};
        Duration pipeline{};    // of the next switch
        uint64_t held_ps = 0;   // of its lane, until now
        Place root = kNowhere;  // of what held its lane last
    };

    // Watches a packet from here on (Transit::kWatched). Other packets have no account, or a stale
    // one of an earlier packet.
    PacketAccount& open(uint32_t index);
    PacketAccount& account(uint32_t index) { return *accounts_[index]; }
    std::unique_ptr<PacketAccount> take(uint32_t index) { return std::move(accounts_[index]); }
    void put(uint32_t index, std::unique_ptr<PacketAccount> account);
    void copy(uint32_t from, uint32_t to, bool is_watched);
    // Keeps the account's memory for reuse.
    void give_back(std::unique_ptr<PacketAccount> account) { spare_.push_back(std::move(account)); }

    void leave(uint32_t index, const Hop& hop);
    void lose(const wire::Packet& packet, Place place, Drop cause);
    bool notes_crossings() const { return notes_crossings_; }
    bool follows_few() const { return follows_few_; }

    // Where a packet was marked, watched or not. An answer names the place of the last mark that
    // its sender got, or none. Of other packets nothing is known.
    void mark(uint32_t index, Place place) {
        if (index >= marked_at_.size()) marked_at_.resize(index + 1, kNowhere);
        marked_at_[index] = place;
    }
    Place marked_at(uint32_t index) const {
        return index < marked_at_.size() ? marked_at_[index] : kNowhere;
    }
    void cross(Place place, uint32_t source, uint32_t destination);

    // Credits: notes why the buffer of a lane has room again only now. A packet of it has left
    // through a port. The reason is the root of what held that port, if it was held for a good part
    // of the time since its last packet, or else the port itself. `held_ps` is its total so far.
    struct Leaving {
        uint32_t port = 0;  // of the cabling, with its place
        Place place = kNowhere;
        Place root = kNowhere;  // of what held it last
        uint64_t held_ps = 0;
        Instant now{};
    };
    void leave_buffer(uint32_t lane, const Leaving& leaving);
    void set_credit_root(uint32_t lane, Place root) {
        if (lane >= credit_roots_.size()) credit_roots_.resize(lane + 1, kNowhere);
        credit_roots_[lane] = root;
    }
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
    bool follows_few_;
    std::vector<std::unique_ptr<PacketAccount>> accounts_;  // by packet of the store
    std::vector<Place> marked_at_;                          // the same
    std::vector<std::unique_ptr<PacketAccount>> spare_;
    struct LastLeft {
        Instant at{};
        uint64_t held_ps = 0;
    };
    std::vector<LastLeft> last_left_;  // by port
    std::vector<Place> credit_roots_;  // by input and lane, as the cabling numbers them
    std::map<LossRecord, uint64_t> losses_;
    std::set<CrossingRecord> crossings_;
    // A cache of some of them by hash: most messages go where an earlier one went.
    std::vector<CrossingRecord> recent_ = std::vector<CrossingRecord>(1 << 14);
};

}  // namespace tulle::fabric
