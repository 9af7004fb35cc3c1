// The story of a sender: what it has waited for since the beginning, in order. Each of its packets
// carries a mark of how far the story was when the packet left.
//
// A story only grows, so a mark is a position in it, and nothing is copied. The story is stored in
// chapters of a fixed length, which are kept while a mark points into them. A chapter begins with
// the sum of all before it, so old ones need not be kept. Other threads may read what is before
// their mark while the story grows behind it.
#pragma once

#include <array>
#include <memory>

#include "fabric/shares.h"

namespace tulle::fabric {

class Story {
    struct Chapter {
        static constexpr uint32_t kLength = 64;
        Shares before;
        std::array<Share, kLength> told;
    };

public:
    // A position in a story.
    class Mark {
    public:
        Mark() = default;
        Shares shares() const {
            if (chapter_ == nullptr) return {};
            Shares sum = chapter_->before;
            for (uint32_t i = 0; i < count_; ++i) sum.add(chapter_->told[i]);
            return sum;
        }

    private:
        friend class Story;
        std::shared_ptr<const Chapter> chapter_;
        uint32_t count_ = 0;
    };

    void add(ShareKind kind, Place place, Duration time) {
        if (time.ps == 0) return;
        if (count_ > marked_ && chapter_->told[count_ - 1].is_of(kind, place)) {
            chapter_->told[count_ - 1].time += time;
            return;
        }
        if (chapter_ == nullptr || count_ == Chapter::kLength) begin_chapter();
        chapter_->told[count_++] = {kind, place, time};
    }
    // The sender waited this long for an answer. The waits of its packets on the way (`journey`)
    // explain that time first: without them the answer would have come that much earlier. The
    // remainder counts as `rest`.
    void add_round_trip(Duration wait, const Shares& journey, ShareKind rest) {
        for (const Share& share : journey.all()) {
            if (!is_wait(share.kind)) continue;
            const Duration part = std::min(wait, share.time);
            add(share.kind, share.place, part);
            wait = wait - part;
        }
        add(rest, kNowhere, wait);
    }

    const Mark& mark() {
        if (mark_.chapter_ != chapter_) mark_.chapter_ = chapter_;
        mark_.count_ = marked_ = count_;
        return mark_;
    }

private:
    void begin_chapter() {
        auto next = std::make_shared<Chapter>();
        if (chapter_ != nullptr) next->before = mark().shares();
        chapter_ = std::move(next);
        count_ = marked_ = 0;
    }

    std::shared_ptr<Chapter> chapter_;
    uint32_t count_ = 0;
    uint32_t marked_ = 0;  // entries before this may have been read
    Mark mark_;            // the last mark
};

}  // namespace tulle::fabric
