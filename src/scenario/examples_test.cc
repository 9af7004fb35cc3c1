// Every file of examples/ is a scenario that can be read.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "scenario/files_test.h"

namespace tulle::scenario {
namespace {

std::vector<std::string> example_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(TULLE_SOURCE_DIR "/examples"))
        if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

TEST(examples, are_all_read) {
    const std::vector<std::string> files = example_files();
    EXPECT_GE(files.size(), 20u);
    for (const std::string& file : files) {
        const auto text = read_source_file(file);
        const auto setup = read_scenario(*text, file, read_source_file);
        ASSERT_TRUE(setup.ok()) << setup.error().message;
        EXPECT_FALSE(setup->name.empty()) << file;
        EXPECT_FALSE(setup->flows.empty() && setup->program.empty()) << file;
    }
}

}  // namespace
}  // namespace tulle::scenario
