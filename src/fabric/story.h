// The story of a sender: what it waited for, one thing after another, since the beginning. Each of
// its packets takes along how far the story had come when the packet left.
//
// A story only grows, so how far it had come is a place in it, and nothing is copied: it lies in
// chapters of a fixed length that are kept while somebody points into them. A chapter begins with
// the sum of all before it, so old ones need not be kept. Other threads may read what is before
// their mark while the story goes on behind it.
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
    // How far a story had come.
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
    // The sender waited so long for an answer. What its packets waited for on the way explains that
    // wait first: without it the answer would have come so much earlier. The rest is `rest`.
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
    uint32_t marked_ = 0;  // what is before this may have been seen
    Mark mark_;            // the last one
};

}  // namespace tulle::fabric
