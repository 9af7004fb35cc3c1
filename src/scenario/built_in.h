// Files of the project that are compiled in, so that they are found from any folder.
#pragma once

#include <span>
#include <string_view>

namespace tulle::scenario {

struct BuiltInText {
    std::string_view name;  // name of the file, without folder and extension
    std::string_view text;
};

// The files of examples/, and cost/sample.yaml.
std::span<const BuiltInText> built_in_examples();
std::span<const BuiltInText> built_in_texts();

// The text of a file that is known to exist.
std::string_view built_in_text(std::string_view name);

}  // namespace tulle::scenario
