#include "cli/set_up.h"

#include <gtest/gtest.h>

namespace tulle::cli {
namespace {

TEST(Set_up, says_what_it_does_how_long_and_how_much_memory_that_takes) {
    EXPECT_EQ(set_up_text("reading the scenario", 12, uint64_t{3} << 29),
              "setting up: reading the scenario, 12 s, 1.5 GiB");
}

TEST(Set_up, ends_once_however_often_it_is_told) {
    cli::SetUp set_up("tulle test");
    set_up.say("nothing");
    set_up.end();
    set_up.end();
}

}  // namespace
}  // namespace tulle::cli
