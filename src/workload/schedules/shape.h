// What the schedules of all shapes have: streams of messages, and who takes part.
//
// A shape is a class with closed forms for one algorithm. Class Schedule (workload/schedule.h)
// holds one of them. A shape derives from Shape and hides those functions that differ for it; none
// is virtual.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "workload/collectives/collective.h"
#include "workload/placement.h"
#include "workload/range.h"

namespace tulle::workload {

struct Stream {
    static constexpr uint32_t kNoTurn = 0xffff'ffff;

    uint32_t peer = 0;  // a member
    Tier tier = Tier::scale_out;
    uint16_t channel = 0;
    // The inlet of the peer where its messages arrive; no other stream uses it.
    uint32_t inlet = 0;
    uint64_t messages = 0;
    // Message k waits until message k - window is known to have arrived; 0: no limit.
    uint32_t window = 0;
    // The stream opens when turn `gate` of the same member ends. A turn ends with the last message
    // of the stream whose `turn` it is.
    uint32_t gate = kNoTurn;
    uint32_t turn = kNoTurn;
};

// One message of a stream.
struct StreamMessage {
    struct Need {
        uint32_t inlet = 0;
        uint32_t place = 0;  // index among its needs
        uint64_t message = 0;
    };
    static constexpr size_t kMostNeeds = 4;

    uint64_t number = 0;     // index among all messages of the phase; some are unused
    uint64_t bytes = 0;      // of data
    bool continues = false;  // belongs to the step of the message before it
    uint32_t need_count = 0;
    std::array<Need, kMostNeeds> needs{};
    // Of a message with more needs: those from this place on are asked for when the listed ones
    // have been met. 0: there are no others.
    uint32_t later_needs = 0;

    void wait_for(uint32_t inlet, uint64_t message) {
        needs[need_count] = {inlet, need_count, message};
        ++need_count;
    }
};

// Lists needs of a message that has many: those from a place on, as many as fit.
class NeedList {
public:
    NeedList(StreamMessage& message, uint32_t first) : message_(message), first_(first) {
        message_.need_count = message_.later_needs = 0;
    }
    // The message waits for messages [begin, end) at the inlet.
    void wait_for(uint32_t inlet, uint64_t begin, uint64_t end) {
        wait_for_each(inlet, end - begin, [begin](uint64_t i) { return begin + i; });
    }
    // The same for `count` messages, in any order.
    template <class MessageAt>
    void wait_for_each(uint32_t inlet, uint64_t count, MessageAt&& message_at) {
        const uint64_t known = std::min<uint64_t>(count, first_ - std::min(first_, place_));
        place_ += static_cast<uint32_t>(known);
        for (uint64_t i = known; i < count && message_.later_needs == 0; ++i, ++place_) {
            if (message_.need_count == StreamMessage::kMostNeeds)
                message_.later_needs = place_;
            else
                message_.needs[message_.need_count++] = {inlet, place_, message_at(i)};
        }
    }

private:
    StreamMessage& message_;
    uint32_t first_ = 0;
    uint32_t place_ = 0;
};

// Messages [first, end) of a stream repeat with this period: they have the same dependencies in
// both directions, and sizes within a byte. Period 0: nothing repeats.
struct Repetition {
    uint64_t period = 0;
    uint64_t first = 0;
    uint64_t end = 0;
};

// The stream whose messages arrive at an inlet.
struct StreamSource {
    uint32_t member = 0;
    uint32_t stream = 0;
};

struct ShapeCounts {
    uint32_t streams = 0;                  // of each member
    uint32_t inlets = 0;                   // of each member
    uint64_t messages = 0;                 // of all members
    uint64_t numbers = 0;                  // all message numbers are below this
    uint64_t smallest_bytes = UINT64_MAX;  // of a message
};

class Shape {
public:
    Shape(const CollectiveOptions& options, const Placement& placement)
        : options_(options), placement_(placement), members_(placement.size()) {}

    const ShapeCounts& counts() const { return counts_; }

    // As in Schedule, for a shape that has few needs, no turns and no repetition.
    void list_needs(uint32_t, uint32_t, uint64_t, uint32_t, StreamMessage&) const {}
    static constexpr uint32_t most_needs() { return StreamMessage::kMostNeeds; }
    std::pair<uint32_t, uint32_t> opened_by(uint32_t, uint32_t) const { return {0, 0}; }
    uint32_t ends_turn(uint32_t, uint32_t) const { return 0; }
    Repetition repetition(uint32_t, uint64_t) const { return {}; }
    static constexpr bool repeats_throughout() { return false; }
    bool may_feed(uint32_t, uint32_t) const { return true; }

protected:
    Range channel_data(uint16_t channel) const {
        return part({0, options_.bytes}, options_.channels, channel);
    }
    // Notes the size of the smallest piece, if a block is cut into `pieces`.
    void note_smallest(uint64_t block, uint64_t pieces) {
        counts_.smallest_bytes = std::min(counts_.smallest_bytes, block / pieces);
    }
    // The window of a stream.
    uint32_t window_between(uint32_t from, uint32_t to) const {
        const bool is_inside = placement_.tier(from, to) == Tier::scale_up;
        const Chunking& chunking = options_.chunking;
        return is_inside && chunking.inside_window != 0 ? chunking.inside_window : chunking.window;
    }

    const CollectiveOptions& options_;
    const Placement& placement_;
    uint32_t members_ = 0;
    ShapeCounts counts_;
};

}  // namespace tulle::workload
