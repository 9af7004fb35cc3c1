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

// A run as it comes from a simulation. Runs of one fabric and value differ by their seed.
struct FinishedRun {
    std::string fabric;  // as the comparison names it
    std::string value;   // of the key that is swept; empty where nothing is
    const sim::Setup* setup = nullptr;
    const sim::Result* result = nullptr;
    TimeSeries series{};
};

// What one seed gave.
struct SeedTime {
    uint64_t seed = 0;
    bool complete = false;
    Duration span{};
};

// Of several seeds, the run with the median time stands for all; if one did not complete the work,
// the first that did not.
struct ComparedRun {
    std::string fabric;
    std::string value;
    std::vector<SeedTime> seeds;  // as they came; at least one
    std::unique_ptr<const Facts> facts;
    Verdict verdict;
    Bill bill;
    base::Histogram latency;  // picoseconds
    TimeSeries series;

    // "ib-ndr", or "ib-ndr at 64KiB".
    std::string name() const;
    Duration least() const;  // of all seeds
    Duration most() const;
    uint64_t peak_queue_bytes() const;  // of any link
};

// A setting that is swept.
struct SweepAxis {
    std::string key;
    std::vector<std::string> values;
};

class Comparison {
public:
    // Setups and results must outlive the comparison. Of a sweep, runs of one value follow one
    // another.
    Comparison(const std::vector<FinishedRun>& finished, const scenario::Prices& prices);

    std::string scenario;
    std::string sweep_key;             // empty: no sweep; of a grid both, with a comma between
    std::vector<SweepAxis> axes;       // of a sweep: one, or two of a grid
    std::vector<std::string> fabrics;  // in the order of the command line
    std::vector<std::string> values;   // of the sweep; one empty text where there is none
    std::vector<ComparedRun> runs;
    std::vector<std::string> missing;  // runs that did not come to their end: their names
    std::string prices_file;
    bool has_sample_prices = false;

    // None where it is missing.
    const ComparedRun* find(const std::string& fabric, const std::string& value) const;
    // In the order of the fabrics.
    std::vector<const ComparedRun*> runs_at(const std::string& value) const;
    // Indices of the runs of a value, the fastest first, those that failed last.
    std::vector<size_t> ranking(const std::string& value) const;

    // Sets axes and sweep_key; none: no sweep.
    void set_axes(std::vector<SweepAxis> of);
    // "kmin = 50KB, kmax = 400KB".
    std::string place_text(const std::string& value) const;
    // How many seeds each fabric has at least one run of.
    size_t seed_count() const;
};

// The value of a run of a grid, from those of both axes, and back.
std::string joined_value(const std::vector<std::string>& values);
std::vector<std::string> split_value(const std::string& value);

// Whether what two runs took over their seeds overlaps: then the difference may be chance. Never so
// where each has but one seed.
bool is_within_spread(const ComparedRun& a, const ComparedRun& b);
// By how many thousandths `run` took longer than `best`, both at their median; none if the
// difference is within the spread of their seeds.
uint64_t behind_permille(const ComparedRun& run, const ComparedRun& best);
// Fabrics this close to one another are alike: less than what a setting of a switch changes.
inline constexpr uint64_t kAlikePermille = 50;

}  // namespace tulle::report
