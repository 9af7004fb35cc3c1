#include "wire/text.h"

#include <gtest/gtest.h>

namespace tulle::wire {
namespace {

TEST(Text, addresses_are_written_as_people_write_them) {
    EXPECT_EQ(to_string(MacAddress{{2, 0, 0, 0xab, 0, 1}}), "02:00:00:ab:00:01");
    EXPECT_EQ(to_string(Ipv4Address{{10, 77, 0, 255}}), "10.77.0.255");
}

TEST(Text, gids_follow_rfc_5952) {
    EXPECT_EQ(to_string(Gid{}), "::");
    EXPECT_EQ(to_string(Gid{{0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}), "fd77::2");
    EXPECT_EQ(to_string(Gid{{0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4}}), "0:1::1:2:3:4");
    EXPECT_EQ(to_string(Gid{{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 0, 0, 8}}), "1:2:3:4:5:6:0:8");
    EXPECT_EQ(to_string(gid_of(Ipv4Address{{10, 77, 0, 2}})), "::ffff:10.77.0.2");
}

}  // namespace
}  // namespace tulle::wire
