#include "scenario/tree.h"

#include <gtest/gtest.h>

namespace tulle::scenario {
namespace {

std::string error_of(std::string_view text) {
    const auto tree = parse_tree(text, "f.yaml");
    return tree ? "read" : tree.error().message;
}

TEST(tree, keeps_lines_and_texts_as_they_were_written) {
    const auto tree = parse_tree("# head\na: 0x10\nb:\n  - yes\n  - {c: 1:30}\n", "f.yaml");
    ASSERT_TRUE(tree.ok()) << tree.error().message;
    EXPECT_EQ(tree->find("a")->text, "0x10");
    EXPECT_EQ(tree->find("a")->line, 2u);
    const Value& list = *tree->find("b");
    EXPECT_EQ(list.items[0].text, "yes");
    EXPECT_EQ(list.items[1].find("c")->text, "1:30");
    EXPECT_EQ(list.items[1].find("c")->line, 5u);
    EXPECT_EQ(tree->find("d"), nullptr);
}

TEST(tree, an_empty_text_is_an_empty_map) {
    const auto tree = parse_tree("# nothing\n", "f.yaml");
    ASSERT_TRUE(tree.ok());
    EXPECT_TRUE(tree->is_map());
    EXPECT_TRUE(tree->keys.empty());
}

TEST(tree, what_is_no_plain_yaml_is_refused_with_its_line) {
    EXPECT_EQ(error_of("a: 1\nb: 2\na: 3\n"),
              "f.yaml:3: 'a' is written twice; the first is in line 1");
    EXPECT_EQ(error_of("a: &x 1\nb: *x\n"),
              "f.yaml:1: anchors and aliases are not read; write the value out");
    EXPECT_EQ(error_of("a: 1\n---\nb: 1\n"), "f.yaml:2: a second document begins here; write one");
    EXPECT_EQ(error_of("a:\n  b: 1\n c: 2\n"),
              "f.yaml:3: this is no YAML: this line begins further left or right than those "
              "it belongs to");
    EXPECT_EQ(error_of("a: [1, 2\n"), "f.yaml:2: this is no YAML: a [ is not closed by a ]");
    EXPECT_EQ(error_of("[a, b]: 1\n"), "f.yaml:1: a key must be a word");
    EXPECT_EQ(error_of("? " + std::string(2'000, 'k') + "\n: 1\n"),
              "f.yaml:1: a key must be a word");
    EXPECT_EQ(error_of(std::string_view("a: \0", 4)),
              "f.yaml:1: this is no text: it has bytes of zero");
}

TEST(tree, a_stray_comma_does_not_last_for_ever) {
    EXPECT_EQ(error_of(" ,"), "f.yaml:1: a second document begins here; write one");
}

TEST(tree, what_people_mistype_in_yaml_is_said_in_plain_words) {
    EXPECT_EQ(error_of("a: {b: 1\n"), "f.yaml:2: this is no YAML: a { is not closed by a }");
    EXPECT_EQ(error_of("a: 1\n\tb: 1\n"),
              "f.yaml:2: this is no YAML: a tab indents this line; write spaces");
    EXPECT_EQ(error_of("name: one: two\n"),
              "f.yaml:1: this is no YAML: a ':' cannot stand here; mind the indentation (no tabs), "
              "and put texts with ': ' in quotes");
}

TEST(tree, an_empty_value_has_the_line_of_its_key) {
    const auto tree = parse_tree("a: 1\nb:\n\nc: 2\n", "f.yaml");
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree->find("b")->line, 2u);
}

TEST(tree, deep_nesting_ends_with_a_sentence) {
    EXPECT_EQ(error_of(std::string(100'000, '[')),
              "f.yaml:1: lists and maps are nested 500 deep; write fewer levels");
    std::string deep;
    for (int i = 0; i < 2'000; ++i) deep += "- ";
    EXPECT_NE(error_of(deep), "read");
}

TEST(tree, a_text_that_is_too_long_is_refused_before_it_is_parsed) {
    EXPECT_EQ(error_of(std::string(kMostTextBytes + 1, ' ')),
              "f.yaml:1: the text has 4194305 bytes; at most 4194304 are read, and bulk traffic "
              "belongs into flow files");
}

TEST(tree, is_written_again_with_everything_in_its_line) {
    const std::string text = "\nhosts:\n  - a\n  - {name: it's, x: ~}\n\ncables: [[a, 'b c']]\n";
    const auto tree = parse_tree(text, "f.yaml");
    ASSERT_TRUE(tree.ok());
    const auto again = parse_tree(to_yaml(*tree), "g.yaml");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->find("hosts")->items[1].find("name")->text, "it's");
    EXPECT_EQ(again->find("hosts")->items[1].line, 4u);
    EXPECT_EQ(again->find("hosts")->items[1].find("x")->kind, Value::Kind::nothing);
    EXPECT_EQ(again->find("cables")->line, 6u);
    EXPECT_EQ(again->find("cables")->items[0].items[1].text, "b c");
}

}  // namespace
}  // namespace tulle::scenario
