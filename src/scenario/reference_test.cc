#include "scenario/reference.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "scenario/files_test.h"

namespace tulle::scenario {
namespace {

// To write the page anew: TULLE_UPDATE=1 build/release/scenario_test --gtest_filter='reference.*'
TEST(reference, the_page_of_the_language_is_what_the_tables_say) {
    const std::string path = TULLE_SOURCE_DIR "/docs/SCENARIO.md";
    if (std::getenv("TULLE_UPDATE") != nullptr) std::ofstream(path) << reference();
    const auto page = read_source_file(path);
    ASSERT_TRUE(page.ok());
    EXPECT_EQ(*page, reference()) << "write it anew with TULLE_UPDATE=1";
}

}  // namespace
}  // namespace tulle::scenario
