#include "workload/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tulle::workload {
namespace {

constexpr std::string_view kBlanks = " \t\r";

void split(std::string_view text, std::vector<std::string_view>& words) {
    words.clear();
    size_t begin = text.find_first_not_of(kBlanks);
    while (begin != std::string_view::npos) {
        const size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(kBlanks, end);
    }
}

}  // namespace

bool Lines::next(Line& line) {
    while (!rest_.empty()) {
        const size_t end = std::min(rest_.find('\n'), rest_.size());
        split(rest_.substr(0, end), line.words);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        line.number = ++number_;
        if (!line.words.empty() && line.words.front().front() != '#') return true;
    }
    return false;
}

base::Error located(std::string_view file, uint32_t line, std::string_view sentence) {
    return {fmt::format("{}:{}: {}", file, line, sentence)};
}

base::Result<uint64_t> parse_number(std::string_view text, std::string_view what, uint64_t most) {
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (!text.empty() && stop == end && error == std::errc() && value <= most) return value;
    return base::Error{
        fmt::format("{} '{}' is no whole number from 0 to {}", what, text.substr(0, 40), most)};
}

}  // namespace tulle::workload
