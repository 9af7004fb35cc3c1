#include "cli/wrap.h"

#include <gtest/gtest.h>

namespace tulle::cli {
namespace {

TEST(Wrap, a_line_that_fits_stays_as_it_is) {
    EXPECT_EQ(wrap("one  two\n\nthree", 8), "one  two\n\nthree");
}

TEST(Wrap, a_long_line_breaks_between_words_and_goes_on_further_in) {
    EXPECT_EQ(wrap("  one two three\nfour\n", 9), "  one two\n    three\nfour\n");
}

TEST(Wrap, columns_of_a_table_keep_their_distance_within_a_row) {
    EXPECT_EQ(wrap("a    b    c", 8), "a    b\n  c");
}

TEST(Wrap, a_word_that_is_longer_than_a_line_stays_whole) {
    EXPECT_EQ(wrap("a longer_than_that b", 6), "a\n  longer_than_that\n  b");
}

TEST(Wrap, a_character_counts_once_however_many_bytes_it_has) {
    EXPECT_EQ(wrap("äöü äöü", 7), "äöü äöü");
}

}  // namespace
}  // namespace tulle::cli
