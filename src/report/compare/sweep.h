// The result of a sweep on each fabric: the best value, which others are as good, and how far
// behind the worst is.
//
// If all values are the same work, the best takes the least time. If they are not (another size,
// more hosts), times cannot be compared: the best is then the value with the most bus bandwidth or,
// without collectives, the one closest to the limit. A difference within the spread of the seeds
// does not count. With one seed, a difference that counts as equal between fabrics does not count
// either.
#pragma once

#include <string>
#include <vector>

#include "report/compare/comparison.h"

namespace tulle::report {

struct BestValue {
    std::string fabric;
    std::string value;  // empty: no difference, or no value completed the work
    std::string sentence;
    std::vector<std::string> evidence;  // fields of the JSON
};

// In the order of the fabrics; empty without a sweep.
std::vector<BestValue> best_values(const Comparison& comparison);

// A column of a sweep.
struct Measure {
    std::string name;
    uint64_t (*value)(const ComparedRun& run, size_t phase) = nullptr;
    std::string (*text)(const ComparedRun& run, size_t phase) = nullptr;
    size_t phase = 0;
    bool is_time = false;
};

// Bus bandwidth of each collective, then time; for charts.
std::vector<Measure> main_measures(const Comparison& comparison);
// Further columns: links held up, marks, the deepest queue, the price.
std::vector<Measure> other_measures(const Comparison& comparison);

// "1.23 ms", of several seeds "1.23 ms ±4.5 %".
std::string spread_text(const ComparedRun& run);

}  // namespace tulle::report
