// One piece of work on several fabrics: the runs side by side, each with what is known of it. All
// writers of this folder take it, as those of one run take the facts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "report/compare/bill.h"
#include "report/compare/series.h"
#include "report/verdict.h"

namespace tulle::report {

// A run as it comes from a simulation.
struct FinishedRun {
    std::string fabric;  // as the comparison names it
    std::string value;   // of the key that is swept; empty where nothing is
    const sim::Setup* setup = nullptr;
    const sim::Result* result = nullptr;
    TimeSeries series{};
};

struct ComparedRun {
    std::string fabric;
    std::string value;
    std::unique_ptr<const Facts> facts;
    Verdict verdict;
    Bill bill;
    base::Histogram latency;  // picoseconds
    TimeSeries series;

    // "ib-ndr", or "ib-ndr at 64KiB".
    std::string name() const;
};

class Comparison {
public:
    // Setups and results must outlive the comparison. Of a sweep, runs of one value follow one
    // another.
    Comparison(const std::vector<FinishedRun>& finished, const scenario::Prices& prices);

    std::string scenario;
    std::string sweep_key;             // empty: no sweep
    std::vector<std::string> fabrics;  // in the order of the command line
    std::vector<std::string> values;   // of the sweep; one empty text where there is none
    std::vector<ComparedRun> runs;
    std::vector<std::string> missing;  // runs that did not come to their end: their names
    std::string prices_file;

    // None where it is missing.
    const ComparedRun* find(const std::string& fabric, const std::string& value) const;
    // In the order of the fabrics.
    std::vector<const ComparedRun*> runs_at(const std::string& value) const;
    // Indices of the runs of a value, the fastest first, those that failed last.
    std::vector<size_t> ranking(const std::string& value) const;
};

// By how many thousandths `run` took longer than `best`.
uint64_t behind_permille(const ComparedRun& run, const ComparedRun& best);
// Fabrics this close to one another are alike: less than what a setting of a switch changes.
inline constexpr uint64_t kAlikePermille = 50;

}  // namespace tulle::report
