// Reads whole files as text.
#pragma once

#include <string>

#include "base/result.h"

namespace tulle::cli {

// Reads the whole file; "-" is standard input. Refuses files far larger than any settings file.
base::Result<std::string> read_file(const std::string& path);

// Notes that an open file is an input, so that no output replaces it. read_file() does it itself.
void note_input(int descriptor);
// Whether a file is one of those, under whatever name.
bool is_input(const std::string& path);

}  // namespace tulle::cli
