// Files of the project that are compiled in: they are found wherever the program is started.
#pragma once

#include <span>
#include <string_view>

namespace tulle::scenario {

struct BuiltInText {
    std::string_view name;  // of the file, without folder and ending
    std::string_view text;
};

// The files of examples/, and cost/sample.yaml.
std::span<const BuiltInText> built_in_examples();
std::span<const BuiltInText> built_in_texts();

// One of either that is known to be there.
std::string_view built_in_text(std::string_view name);

}  // namespace tulle::scenario
