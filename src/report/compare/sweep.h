// What a sweep found on each fabric: the best value, which others are as good, and how far the
// worst is behind.
//
// Where all values are the same work, the best takes the least time. Where they are not (another
// size, more hosts), time says nothing: then it is the value with the most bus bandwidth, or,
// without collectives, the one closest to the limit. A difference within the spread of the seeds is
// none, and of one seed so is one that the comparison of fabrics would call alike.
#pragma once

#include <string>
#include <vector>

#include "report/compare/comparison.h"

namespace tulle::report {

struct BestValue {
    std::string fabric;
    std::string value;  // empty: it makes no difference, or none completed the work
    std::string sentence;
    std::vector<std::string> evidence;  // fields of the JSON
};

// In the order of the fabrics; nothing without a sweep.
std::vector<BestValue> best_values(const Comparison& comparison);

// A column of a sweep.
struct Measure {
    std::string name;
    uint64_t (*value)(const ComparedRun& run, size_t phase) = nullptr;
    std::string (*text)(const ComparedRun& run, size_t phase) = nullptr;
    size_t phase = 0;
    bool is_time = false;
};

// Bus bandwidth of each collective, then time: what is drawn.
std::vector<Measure> main_measures(const Comparison& comparison);
// What happened besides: links held up, marks, the deepest queue, the price.
std::vector<Measure> other_measures(const Comparison& comparison);

// "1.23 ms", of several seeds "1.23 ms ±4.5 %".
std::string spread_text(const ComparedRun& run);

}  // namespace tulle::report
