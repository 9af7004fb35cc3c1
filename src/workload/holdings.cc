#include "workload/holdings.h"

#include <algorithm>
#include <cstddef>

namespace tulle::workload {

size_t Holdings::find(uint64_t at) const {
    const auto after =
        std::upper_bound(stretches_.begin(), stretches_.end(), at,
                         [](uint64_t value, const Stretch& s) { return value < s.begin; });
    return static_cast<size_t>(after - stretches_.begin()) - 1;
}

void Holdings::cut(uint64_t at) {
    const size_t index = find(at);
    if (stretches_[index].begin == at) return;
    stretches_.insert(stretches_.begin() + static_cast<ptrdiff_t>(index) + 1,
                      {at, stretches_[index].list});
}

size_t Holdings::cut_out(Range range) {
    cut(range.begin);
    cut(range.end);
    return find(range.begin);
}

void Holdings::collect(Range range, const Lists& lists, std::vector<uint32_t>& tasks) const {
    if (range.is_empty()) return;
    for (size_t i = find(range.begin); i < stretches_.size(); ++i) {
        if (stretches_[i].begin >= range.end) break;
        lists.append_to(tasks, stretches_[i].list);
    }
}

void Holdings::replace(Range range, uint32_t task, Lists& lists) {
    if (range.is_empty()) return;
    const size_t first = cut_out(range);
    size_t last = first + 1;
    while (last < stretches_.size() && stretches_[last].begin < range.end) ++last;
    stretches_[first].list = lists.with(Lists::kEmpty, task);
    stretches_.erase(stretches_.begin() + static_cast<ptrdiff_t>(first) + 1,
                     stretches_.begin() + static_cast<ptrdiff_t>(last));
}

void Holdings::extend(Range range, uint32_t task, Lists& lists) {
    if (range.is_empty()) return;
    for (size_t i = cut_out(range); i < stretches_.size(); ++i) {
        if (stretches_[i].begin >= range.end) break;
        stretches_[i].list = lists.with(stretches_[i].list, task);
    }
}

}  // namespace tulle::workload
