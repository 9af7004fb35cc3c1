#include "base/words.h"

#include <gtest/gtest.h>

#include <array>

namespace tulle::base {
namespace {

constexpr std::array<std::string_view, 6> kKnown = {"name",  "topology", "qos",
                                                    "quiet", "quick",    "watchdog_timeout"};

TEST(words, a_mistyped_word_is_answered_with_the_nearest_one) {
    EXPECT_EQ(nearest("topolgy", kKnown), "topology");
    EXPECT_EQ(nearest("nmae", kKnown), "name");
    EXPECT_EQ(nearest("quit", kKnown), "quiet");
    EXPECT_EQ(did_you_mean("topolgy", kKnown, "no"), "did you mean 'topology'?");
}

TEST(words, the_beginning_of_one_word_only_is_that_word) {
    EXPECT_EQ(nearest("watch", kKnown), "watchdog_timeout");
    EXPECT_EQ(nearest("qui", kKnown), "");
}

TEST(words, short_words_must_be_closer) {
    EXPECT_EQ(nearest("time", kKnown), "");  // two letters away from "name"
    EXPECT_EQ(nearest("foo", kKnown), "");   // two letters away from "qos"
    EXPECT_EQ(nearest(std::string(100, 'x'), kKnown), "");
}

TEST(words, a_word_like_none_is_answered_with_the_list) {
    EXPECT_EQ(unknown_word("zzz", std::span(kKnown).first(3)),
              "'zzz' is unknown here; write one of name, topology, qos");
    EXPECT_EQ(unknown_word("qoz", kKnown), "'qoz' is unknown here; did you mean 'qos'?");
}

}  // namespace
}  // namespace tulle::base
