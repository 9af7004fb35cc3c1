#include "report/measured.h"

#include <fmt/format.h>

#include "base/int128.h"
#include "base/units.h"
#include "report/compare/rows.h"
#include "report/table.h"
#include "workload/collectives/collective.h"

namespace tulle::report {
namespace {

constexpr const char* kUnits = "times in us, bandwidth in GB/s of 10^9 bytes, out of place";

// The last collective of that size; null if none was simulated.
const CollectiveFacts* simulated(const Facts& facts, const scenario::Measured& measured,
                                 uint64_t bytes) {
    const CollectiveFacts* found = nullptr;
    for (const CollectiveFacts& phase : facts.collectives) {
        if (!phase.finished || phase.bytes != bytes || !is_collective(phase.collective)) continue;
        if (measured.collective.empty() ||
            measured.collective == workload::name_of(phase.collective))
            found = &phase;
    }
    return found;
}

// How much longer the simulated time is, in thousandths.
uint64_t time_permille(base::Duration time, base::Duration measured) {
    return static_cast<uint64_t>(base::uint128_t{static_cast<uint64_t>(time.ps)} * 1000 /
                                 static_cast<uint64_t>(measured.ps));
}

}  // namespace

std::string measured_text(const Facts& facts, const scenario::Measured& measured) {
    Table table;
    table.row({"size", "simulated", "measured", "simulated/measured", "busbw GB/s", "measured"});
    size_t missing = 0;
    for (const scenario::MeasuredRow& row : measured.rows) {
        const CollectiveFacts* phase = simulated(facts, measured, row.bytes);
        missing += phase == nullptr ? 1 : 0;
        if (phase == nullptr) continue;
        const uint64_t permille = time_permille(phase->time, row.time);
        table.row({base::bytes_to_string(row.bytes), short_time(phase->time), short_time(row.time),
                   fmt::format("{}.{:03}", permille / 1000, permille % 1000),
                   gigabytes_text(phase->bus_bandwidth), gigabytes_text(row.bus_bandwidth)});
    }
    std::string text = fmt::format("\nMeasured: {}\n  read as: {}\n", measured.file, kUnits);
    if (missing < measured.rows.size()) text += table.text();
    if (missing > 0)
        text += fmt::format("  {} of its {} sizes{} were not simulated\n", missing,
                            measured.rows.size(),
                            measured.collective.empty() ? "" : " of " + measured.collective);
    return text;
}

Json measured_json(const Facts& facts, const scenario::Measured& measured) {
    Json rows = Json::array();
    for (const scenario::MeasuredRow& row : measured.rows) {
        const CollectiveFacts* phase = simulated(facts, measured, row.bytes);
        Json one = {{"bytes", row.bytes},
                    {"measured_us", microseconds(row.time)},
                    {"measured_busbw_GBps", gigabytes(row.bus_bandwidth)},
                    {"simulated_us", nullptr},
                    {"simulated_busbw_GBps", nullptr},
                    {"time_ratio", nullptr}};
        if (phase != nullptr) {
            one["simulated_us"] = microseconds(phase->time);
            one["simulated_busbw_GBps"] = gigabytes(phase->bus_bandwidth);
            one["time_ratio"] = ratio(time_permille(phase->time, row.time));
        }
        rows.push_back(std::move(one));
    }
    return {{"file", measured.file},
            {"collective", measured.collective},
            {"units", kUnits},
            {"rows", std::move(rows)}};
}

}  // namespace tulle::report
