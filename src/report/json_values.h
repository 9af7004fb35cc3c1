// JSON objects, for reports that contain other reports.
#pragma once

#include <nlohmann/json.hpp>

#include "report/verdict.h"

namespace tulle::report {

using Json = nlohmann::ordered_json;

// The content of `tulle sim --json` for one run.
Json run_json(const Facts& facts, const Verdict& verdict);
std::string json_text(const Json& json);

inline Json ratio(uint64_t permille) {
    return static_cast<double>(permille) / 1000;
}
inline Json microseconds(Duration duration) {
    return static_cast<double>(duration.ps) / 1'000'000;
}
// From bytes per second, with three decimals.
inline Json gigabytes(uint64_t bytes_per_second) {
    return static_cast<double>(bytes_per_second / 1'000'000) / 1000;
}

}  // namespace tulle::report
