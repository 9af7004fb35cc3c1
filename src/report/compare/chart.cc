#include "report/compare/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/int128.h"

namespace tulle::report {
namespace {

constexpr size_t kLongestBar = 50;  // in columns
constexpr uint64_t kSteps = 8;
constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

std::string bar_of(uint64_t value, uint64_t most) {
    const auto steps = static_cast<uint64_t>(base::uint128_t{value} * kLongestBar * kSteps / most);
    std::string bar;
    for (uint64_t i = 0; i < steps / kSteps; ++i) bar += "█";
    return bar + kEighths[steps % kSteps];
}

}  // namespace

std::string bars(const std::vector<Bar>& bars, bool each_group_by_itself) {
    std::map<std::string, uint64_t> most;
    size_t group_width = 0;
    size_t name_width = 0;
    for (const Bar& bar : bars) {
        uint64_t& of_group = most[each_group_by_itself ? bar.group : ""];
        of_group = std::max({of_group, bar.value, uint64_t{1}});
        group_width = std::max(group_width, bar.group.size());
        name_width = std::max(name_width, bar.name.size());
    }
    std::string text;
    const std::string* group = nullptr;
    for (const Bar& bar : bars) {
        const bool is_new = group == nullptr || *group != bar.group;
        group = &bar.group;
        text += fmt::format("  {:<{}}  {:<{}}  {}{}{}\n", is_new ? bar.group : "", group_width,
                            bar.name, name_width,
                            bar_of(bar.value, most[each_group_by_itself ? bar.group : ""]),
                            bar.value == 0 ? "" : " ", bar.text);
    }
    return text;
}

}  // namespace tulle::report
