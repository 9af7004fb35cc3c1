#include "cli/run/summary.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <vector>

#include "live/counter_names.h"

namespace tulle::cli {

std::string counted_in(const std::string& counters_file) {
    std::vector<uint64_t> words(live::kCountersBytes / sizeof(uint64_t));
    std::ifstream file(counters_file, std::ios::binary);
    file.read(reinterpret_cast<char*>(words.data()), live::kCountersBytes);
    if (!file) return {};
    std::string text;
    for (const live::CounterName& counter : live::kCounterNames)
        if (const uint64_t value = live::value_of(words.data(), counter); value != 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counter.name, value);
    return text;
}

}  // namespace tulle::cli
