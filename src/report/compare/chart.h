// Bars in a terminal: eight steps a column, so that a difference of one in four hundred shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tulle::report {

struct Bar {
    std::string group;  // told once, before the first bar of it
    std::string name;
    uint64_t value = 0;  // 0: there is none
    std::string text;    // behind the bar
};

// The longest bar is the largest value of all, or of its group.
std::string bars(const std::vector<Bar>& bars, bool each_group_by_itself);

}  // namespace tulle::report
