#include "live/board.h"

#include <gtest/gtest.h>

#include <memory>

namespace tulle::live {
namespace {

TEST(BoardTest, a_region_is_found_by_its_key_until_it_is_removed) {
    auto grants = std::make_unique<Grants>();
    put_region(*grants, 0x1234, 7, 3, 0x1000, 64, 0x2000);
    const RegionNote* note = find_region(*grants, 0x1234);
    ASSERT_NE(note, nullptr);
    EXPECT_EQ(note->pd.load(), 7u);
    EXPECT_EQ(note->host.load(), 0x2000u);
    EXPECT_EQ(find_region(*grants, 0x1235), nullptr);
    EXPECT_TRUE(remove_region(*grants, 0x1234));
    EXPECT_EQ(find_region(*grants, 0x1234), nullptr);
    EXPECT_FALSE(remove_region(*grants, 0x1234));
}

TEST(BoardTest, thousands_of_regions_have_a_place_and_the_key_zero_has_none) {
    auto grants = std::make_unique<Grants>();
    uint32_t found = 0;
    for (uint32_t i = 1; i <= 8000; ++i) put_region(*grants, i * 2654435761u, 1, 1, i, 1, i);
    for (uint32_t i = 1; i <= 8000; ++i) {
        const RegionNote* note = find_region(*grants, i * 2654435761u);
        if (note != nullptr && note->address.load() == i) ++found;
    }
    EXPECT_GT(found, 7900u);
    put_region(*grants, 0, 1, 1, 1, 1, 1);
    EXPECT_EQ(find_region(*grants, 0), nullptr);
}

TEST(BoardTest, a_domain_is_found_until_it_is_removed_and_leaves_its_place_to_nobody_else) {
    auto grants = std::make_unique<Grants>();
    EXPECT_FALSE(has_domain(*grants, 0));
    EXPECT_FALSE(has_domain(*grants, 7));
    put_domain(*grants, 7);
    put_domain(*grants, 7 + kDomainPlaces);
    EXPECT_TRUE(has_domain(*grants, 7));
    EXPECT_FALSE(has_domain(*grants, 7 + kDomainPlaces));
    remove_domain(*grants, 7 + kDomainPlaces);
    EXPECT_TRUE(has_domain(*grants, 7));
    remove_domain(*grants, 7);
    EXPECT_FALSE(has_domain(*grants, 7));
}

TEST(BoardTest, a_number_of_the_world_says_which_process_and_which_queue_pair) {
    const wire::Qpn own{0x300123};  // the third use of place 0x123
    const wire::Qpn shown = outside(own, 0xab);
    EXPECT_EQ(slot_of(shown), 0xabu);
    EXPECT_EQ(inside(shown), own);
    EXPECT_NE(outside(own, 1), outside(own, 2));
}

TEST(BoardTest, the_newest_objection_to_a_requester_is_found_and_old_ones_make_room) {
    auto grants = std::make_unique<Grants>();
    const wire::Qpn first{0x1002};
    const wire::Qpn second{0x2003};
    EXPECT_FALSE(find_objection(*grants, first));
    transport::Objection objection;
    objection.cause = transport::Objection::Cause::out_of_bounds;
    objection.rkey = 7;
    put_objection(*grants, first, objection);
    objection.cause = transport::Objection::Cause::unknown_key;
    objection.rkey = 8;
    put_objection(*grants, first, objection);
    EXPECT_EQ(find_objection(*grants, first)->rkey, 8u);
    EXPECT_EQ(find_objection(*grants, first)->cause, transport::Objection::Cause::unknown_key);
    EXPECT_FALSE(find_objection(*grants, second));
    for (uint32_t i = 0; i < kObjections; ++i) put_objection(*grants, second, objection);
    EXPECT_FALSE(find_objection(*grants, first));
    EXPECT_TRUE(find_objection(*grants, second));
}

TEST(BoardTest, an_xrc_domain_is_found_by_its_file_until_it_is_removed) {
    auto grants = std::make_unique<Grants>();
    const DomainFile file{3, 99};
    EXPECT_FALSE(has_xrc_domain(*grants, file));
    put_xrc_domain(*grants, file);
    put_xrc_domain(*grants, {4, 99});
    EXPECT_TRUE(has_xrc_domain(*grants, file));
    remove_xrc_domain(*grants, file);
    EXPECT_FALSE(has_xrc_domain(*grants, file));
    EXPECT_TRUE(has_xrc_domain(*grants, {4, 99}));
    EXPECT_FALSE(has_xrc_domain(*grants, {}));
}

TEST(BoardTest, an_xrc_queue_is_found_until_it_is_removed_and_leaves_its_place_to_the_first) {
    auto grants = std::make_unique<Grants>();
    const XrcQueue queue{5, {3, 99}};
    put_xrc_queue(*grants, 0x20001, queue);
    put_xrc_queue(*grants, 0x20001 + kXrcQueues, {6, {3, 98}});
    EXPECT_EQ(find_xrc_queue(*grants, 0x20001), queue);
    EXPECT_FALSE(find_xrc_queue(*grants, 0x20001 + kXrcQueues));
    EXPECT_FALSE(find_xrc_queue(*grants, 0));
    EXPECT_FALSE(remove_xrc_queue(*grants, 0x20001 + kXrcQueues));
    EXPECT_TRUE(remove_xrc_queue(*grants, 0x20001));
    EXPECT_FALSE(find_xrc_queue(*grants, 0x20001));
}

}  // namespace
}  // namespace tulle::live
