// A file of another program, line by line and word by word. Blank lines, and lines that begin with
// '#', are skipped. Errors name the file and the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tulle::workload {

struct Line {
    uint32_t number = 0;  // from 1
    std::vector<std::string_view> words;
};

class Lines {
public:
    explicit Lines(std::string_view text) : rest_(text) {}

    // The next line that has words; false at the end.
    bool next(Line& line);

private:
    std::string_view rest_;
    uint32_t number_ = 0;
};

// "file:line: sentence".
base::Error located(std::string_view file, uint32_t line, std::string_view sentence);

// An unsigned whole number of at most `most`. `what` begins the error sentence.
base::Result<uint64_t> parse_number(std::string_view text, std::string_view what, uint64_t most);

}  // namespace tulle::workload
