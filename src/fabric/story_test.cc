#include "fabric/story.h"

#include <gtest/gtest.h>

namespace tulle::fabric {
namespace {

constexpr Duration kPiece{10};

int64_t queued_at(const Story::Mark& mark, Place place) {
    const Shares shares = mark.shares();
    for (const Share& share : shares.all())
        if (share.is_of(ShareKind::queue, place)) return share.time.ps;
    return 0;
}

TEST(story, a_mark_keeps_what_was_told_before_it) {
    Story story;
    story.add(ShareKind::queue, 1, kPiece);
    const Story::Mark early = story.mark();
    story.add(ShareKind::queue, 1, kPiece);
    story.add(ShareKind::queue, 1, kPiece);
    EXPECT_EQ(early.shares().total(), kPiece);
    EXPECT_EQ(story.mark().shares().total(), 3 * kPiece);
}

TEST(story, marks_of_every_length_add_up_whichever_chapter_they_are_in) {
    constexpr int64_t kTold = 500;
    Story story;
    std::vector<Story::Mark> marks;
    for (int64_t i = 0; i < kTold; ++i) {
        marks.push_back(story.mark());
        story.add(ShareKind::queue, static_cast<Place>(i % 3), kPiece);
    }
    for (int64_t i = 0; i < kTold; ++i) {
        const Story::Mark& mark = marks[static_cast<size_t>(i)];
        EXPECT_EQ(mark.shares().total(), i * kPiece);
        EXPECT_EQ(queued_at(mark, 0), (i + 2) / 3 * kPiece.ps);
    }
}

TEST(story, waits_on_the_way_explain_a_round_trip_first) {
    Shares journey;
    journey.add(ShareKind::propagation, 7, kPiece);
    journey.add(ShareKind::queue, 7, 4 * kPiece);
    Story story;
    story.add_round_trip(10 * kPiece, journey, ShareKind::window);
    EXPECT_EQ(queued_at(story.mark(), 7), 4 * kPiece.ps);
    EXPECT_EQ(story.mark().shares().total(), 10 * kPiece);
}

}  // namespace
}  // namespace tulle::fabric
