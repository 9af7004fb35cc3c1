#include "base/fields.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tulle::base {
namespace {

struct Inner {
    int a = 1;
    std::array<uint8_t, 4> b{};
};

struct Mixed {
    std::string name = "x";
    Inner inner;
    std::optional<Inner> perhaps;
    std::vector<Inner> many = {{}, {}};
    std::shared_ptr<const Mixed> next;
    bool last = true;
};

static_assert(kFieldCount<Inner> == 2);
static_assert(kFieldCount<Mixed> == 6);

TEST(Fields, are_visited_once_each_in_the_order_of_their_declaration) {
    const Mixed mixed;
    std::vector<const void*> seen;
    visit_fields(mixed, [&](const auto& field) { seen.push_back(&field); });
    const std::vector<const void*> all = {&mixed.name, &mixed.inner, &mixed.perhaps,
                                          &mixed.many, &mixed.next,  &mixed.last};
    EXPECT_EQ(seen, all);
}

}  // namespace
}  // namespace tulle::base
