// One piece of work on several fabrics, with everything known about each run. All writers of this
// folder take it, as those of a single run take the facts.
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
    std::string fabric;  // its name in the comparison
    std::string value;   // of the swept setting; empty without a sweep
    const sim::Setup* setup = nullptr;
    const sim::Result* result = nullptr;
    TimeSeries series{};
};

// The result of one seed.
struct SeedTime {
    uint64_t seed = 0;
    bool complete = false;
    Duration span{};
};

// Of several seeds, the run with the median time represents all; if a run did not complete the
// work, the first such run does.
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
    // Setups and results must outlive the comparison. In a sweep, runs of one value are adjacent.
    Comparison(const std::vector<FinishedRun>& finished, const scenario::Prices& prices);

    std::string scenario;
    std::string sweep_key;        // empty: no sweep; for a grid both keys, separated by a comma
    std::vector<SweepAxis> axes;  // of a sweep: one, or two for a grid
    std::vector<std::string> fabrics;  // in the order of the command line
    std::vector<std::string> values;   // of the sweep; a single empty text without one
    std::vector<ComparedRun> runs;
    std::vector<std::string> missing;  // names of runs that did not finish
    std::string prices_file;
    bool has_sample_prices = false;

    // None if it is missing.
    const ComparedRun* find(const std::string& fabric, const std::string& value) const;
    // In the order of the fabrics.
    std::vector<const ComparedRun*> runs_at(const std::string& value) const;
    // Indices of the runs of a value, the fastest first, failed ones last.
    std::vector<size_t> ranking(const std::string& value) const;

    // Sets axes and sweep_key; none: no sweep.
    void set_axes(std::vector<SweepAxis> of);
    // "kmin = 50KB, kmax = 400KB".
    std::string place_text(const std::string& value) const;
    // The number of seeds that every fabric has.
    size_t seed_count() const;
};

// The value of a run in a grid, from the values of both axes, and the reverse.
std::string joined_value(const std::vector<std::string>& values);
std::vector<std::string> split_value(const std::string& value);

// Whether the times of two runs overlap over their seeds; the difference may then be chance. False
// if each has only one seed.
bool is_within_spread(const ComparedRun& a, const ComparedRun& b);
// How much longer `run` took than `best`, in thousandths, at the median; none if the difference is
// within the spread of their seeds.
uint64_t behind_permille(const ComparedRun& run, const ComparedRun& best);
// Fabrics this close count as equal: the difference is less than a setting of a switch makes.
inline constexpr uint64_t kAlikePermille = 50;

}  // namespace tulle::report
