#include "report/compare/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/int128.h"
#include "base/units.h"
#include "report/control.h"

namespace tulle::report {
namespace {

using Cell = std::function<std::string(const ComparedRun&)>;

struct Row {
    std::string label;
    Cell cell;
    bool is_of_processors = false;  // left out if none was used
};

// Of one phase that ended.
template <class Text>
Cell phase_cell(size_t phase, Text text) {
    return [phase, text](const ComparedRun& run) -> std::string {
        const CollectiveFacts* found = phase_of(run, phase);
        return found != nullptr && found->finished ? text(*found) : "-";
    };
}

void add_collective(size_t phase, const CollectiveFacts& first, std::vector<Row>& rows) {
    rows.push_back({fmt::format("{}, {}", first.name, base::bytes_to_string(first.bytes)),
                    phase_cell(phase, [](const auto& found) { return short_time(found.time); })});
    if (is_collective(first.collective))
        rows.push_back({"  algbw, busbw GB/s", phase_cell(phase, [](const auto& found) {
                            return fmt::format("{} {}", gigabytes_text(found.algorithm_bandwidth),
                                               gigabytes_text(found.bus_bandwidth));
                        })});
    rows.push_back({"  of the limit", phase_cell(phase, [](const auto& found) {
                        return percent_text(found.limit_permille);
                    })});
}

// What senders waited for, and the lane with the longest waits.
std::string held_up_by(const ComparedRun& run) {
    const Facts& facts = *run.facts;
    std::map<uint8_t, Duration> by_lane;
    for (const sim::Blame& blame : facts.result.blames) by_lane[blame.lane] += blame.paused;
    const auto most =
        std::max_element(by_lane.begin(), by_lane.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == by_lane.end()) return "-";
    return facts.has_credits() ? fmt::format("credits, VL {}", most->first)
                               : fmt::format("PFC, prio {}", most->first);
}

// With many phases, such as all sizes of a test, each has a row.
void add_collectives(const std::vector<const ComparedRun*>& runs, std::vector<Row>& rows) {
    constexpr size_t kMostInFull = 3;
    const std::vector<CollectiveFacts>& phases = runs.front()->facts->collectives;
    const auto counts = [](const CollectiveFacts& phase) {
        return has_bandwidth(phase.collective) && phase.purpose == workload::Purpose::general;
    };
    const auto count = std::count_if(phases.begin(), phases.end(), counts);
    for (size_t i = 0; i < phases.size(); ++i) {
        if (!counts(phases[i])) continue;
        if (static_cast<size_t>(count) <= kMostInFull) {
            add_collective(i, phases[i], rows);
            continue;
        }
        rows.push_back(
            {fmt::format("{}, {}, busbw", phases[i].name, base::bytes_to_string(phases[i].bytes)),
             phase_cell(i, [](const auto& found) {
                 return fmt::format("{} GB/s", gigabytes_text(found.bus_bandwidth));
             })});
    }
}

// Performance per price: the cheaper of two equally fast fabrics is better.
std::string tokens_for_price(const ComparedRun& run, size_t index) {
    const Bill& bill = run.bill;
    if (!bill.is_whole() || bill.price == 0) return "-";
    const base::uint128_t tokens = run.facts->trainings[index].tokens_per_second;
    const auto hundredths =
        static_cast<uint64_t>(tokens * 100 * 1000 * 1000 / bill.price);  // thousandths a unit
    return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

void add_trainings(const std::vector<const ComparedRun*>& runs, std::vector<Row>& rows) {
    const Bill& bill = runs.front()->bill;
    for (size_t i = 0; i < runs.front()->facts->trainings.size(); ++i) {
        const auto cell = [i](auto text) {
            return [i, text](const ComparedRun& run) -> std::string {
                if (i >= run.facts->trainings.size()) return "-";
                const TrainingFacts& facts = run.facts->trainings[i];
                return facts.finished ? text(run, facts) : "-";
            };
        };
        rows.push_back({fmt::format("{}: MFU", runs.front()->facts->trainings[i].name),
                        cell([](const auto&, const auto& facts) {
                            return percent_text(facts.mfu_permille);
                        })});
        rows.push_back({"  tokens/s", cell([](const auto&, const auto& facts) {
                            return std::to_string(facts.tokens_per_second);
                        })});
        rows.push_back({"  waits for the network", cell([](const auto&, const auto& facts) {
                            return percent_text(
                                facts.permille(facts.step - facts.computing - facts.bubble));
                        })});
        rows.push_back(
            {fmt::format("  tokens/s for 1000 {} of network{}", bill.currency,
                         bill.is_sample ? ", sample price" : ""),
             cell([i](const auto& run, const auto&) { return tokens_for_price(run, i); })});
    }
}

void add_servings(const std::vector<const ComparedRun*>& runs, std::vector<Row>& rows) {
    for (size_t i = 0; i < runs.front()->facts->servings.size(); ++i) {
        const auto cell = [i](auto text) {
            return [i, text](const ComparedRun& run) -> std::string {
                if (i >= run.facts->servings.size()) return "-";
                const ServingFacts& facts = run.facts->servings[i];
                return facts.finished ? text(facts.found) : "-";
            };
        };
        const auto time = [&](Duration ServingFigures::*which) {
            return cell([which](const auto& found) { return short_time(found.*which); });
        };
        rows.push_back({fmt::format("{}: first token p50", runs.front()->facts->servings[i].name),
                        time(&ServingFigures::first_token_p50)});
        rows.push_back({"  first token p99", time(&ServingFigures::first_token_p99)});
        rows.push_back({"  between tokens p50", time(&ServingFigures::between_p50)});
        rows.push_back({"  between tokens p99", time(&ServingFigures::between_p99)});
        rows.push_back({"  tokens/s", cell([](const auto& found) {
                            return std::to_string(found.tokens_per_second);
                        })});
        rows.push_back({"  goodput, requests/s", cell([](const auto& found) {
                            return thousandths_text(found.goodput_per_1000s);
                        })});
    }
}

// Only for fabrics with a simulated control plane.
void add_control(const std::vector<const ComparedRun*>& runs, std::vector<Row>& rows) {
    const auto is_given = [](const ComparedRun* run) {
        return run->facts->result.control.is_given();
    };
    if (std::ranges::all_of(runs, is_given)) return;
    const auto cell = [](auto text) {
        return [text](const ComparedRun& run) -> std::string {
            const sim::ControlResult& control = run.facts->result.control;
            return control.is_given() ? "-" : text(*run.facts, control);
        };
    };
    const auto messages = [](const sim::ControlResult& control) {
        uint64_t sum = 0;
        for (const sim::RepairResult& repair : control.repairs) sum += repair.repair.messages;
        return sum;
    };
    rows.push_back({"comes up in, messages", cell([](const Facts&, const auto& control) {
                        return fmt::format("{}, {}", short_time(control.bring_up),
                                           control.bring_up_messages);
                    })});
    rows.push_back(
        {"routes dead for", cell([](const Facts& facts, const auto& control) -> std::string {
             if (control.repairs.empty()) return "-";
             const auto longest = longest_repair(facts);
             return longest ? short_time(*longest) : "not repaired";
         })});
    rows.push_back({"  packets lost by it", cell([](const Facts& facts, const auto&) {
                        return std::to_string(lost_by_faults(facts));
                    })});
    rows.push_back({"  messages to repair", cell([messages](const Facts&, const auto& control) {
                        return std::to_string(messages(control));
                    })});
}

std::vector<Row> rows_of(const std::vector<const ComparedRun*>& runs) {
    const auto totals = [](auto&& value) {
        return [value](const ComparedRun& run) { return std::to_string(value(run)); };
    };
    const auto latency = [](uint64_t parts, uint64_t out_of) {
        return [=](const ComparedRun& run) {
            const auto ps = static_cast<int64_t>(run.latency.percentile(parts, out_of));
            return run.latency.empty() ? "-" : short_time({ps});
        };
    };
    std::vector<Row> rows = {
        {"time",
         [](const ComparedRun& run) {
             return run.verdict.complete ? short_time(run.facts->span) : "failed";
         }},
        {"of the limit",
         [](const ComparedRun& run) {
             return run.verdict.complete ? percent_text(run.verdict.limit_permille) : "-";
         }},
    };
    const size_t seeds = runs.front()->seeds.size();
    if (seeds > 1) {
        rows.push_back({fmt::format("  least of {} seeds", seeds),
                        [](const ComparedRun& run) { return short_time(run.least()); }});
        rows.push_back({fmt::format("  most of {} seeds", seeds),
                        [](const ComparedRun& run) { return short_time(run.most()); }});
    }
    add_trainings(runs, rows);
    add_servings(runs, rows);
    add_collectives(runs, rows);
    add_control(runs, rows);
    const std::vector<Row> rest = {
        {"message latency p50", latency(1, 2)},
        {"  p99", latency(99, 100)},
        {"  p99.9", latency(999, 1000)},
        {"packets lost", totals([](const ComparedRun& run) { return run.facts->drops(); })},
        {"packets sent again",
         totals([](const ComparedRun& run) { return run.facts->result.totals.retransmitted; })},
        {"marks, CNPs",
         [](const ComparedRun& run) {
             const sim::Totals& of = run.facts->result.totals;
             return fmt::format("{}, {}", of.ecn_marked, of.cnps);
         }},
        {"links held up, in all",
         [](const ComparedRun& run) { return short_time(run.facts->result.totals.paused); }},
        {"  mostly by", held_up_by},
        {"deepest queue",
         [](const ComparedRun& run) { return base::bytes_to_string(run.peak_queue_bytes()); }},
        {"header overhead",
         [](const ComparedRun& run) { return percent_text(run.facts->header_permille()); }},
        {"host CPU time", [](const ComparedRun& run) { return short_time(run.facts->result.cpu); },
         true},
        {"  cores a server",
         [](const ComparedRun& run) { return ratio_text(run.facts->busy_cores_permille()); }, true},
        {fmt::format("{}, {}", runs.front()->bill.is_sample ? "sample price" : "price",
                     runs.front()->bill.currency),
         [](const ComparedRun& run) { return sum_text(run.bill); }},
        {runs.front()->bill.is_sample ? "sample power" : "power",
         [](const ComparedRun& run) {
             return (run.bill.is_whole() ? "" : "> ") + watts_text(run.bill.milliwatts);
         }},
    };
    rows.insert(rows.end(), rest.begin(), rest.end());
    return rows;
}

}  // namespace

std::vector<ComparedRow> compared_rows(const std::vector<const ComparedRun*>& runs) {
    std::vector<ComparedRow> table;
    if (runs.empty()) return table;
    const bool has_cpu = std::any_of(runs.begin(), runs.end(), [](const ComparedRun* run) {
        return run->facts->result.cpu.ps > 0;
    });
    for (const Row& row : rows_of(runs)) {
        if (row.is_of_processors && !has_cpu) continue;
        ComparedRow& one = table.emplace_back(ComparedRow{row.label, {}});
        for (const ComparedRun* run : runs) one.cells.push_back(row.cell(*run));
    }
    return table;
}

const CollectiveFacts* phase_of(const ComparedRun& run, size_t phase) {
    return phase < run.facts->collectives.size() ? &run.facts->collectives[phase] : nullptr;
}

std::string short_time(Duration duration) {
    struct Unit {
        int64_t ps;
        const char* name;
    };
    constexpr Unit kUnits[] = {
        {1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}, {1'000, "ns"}};
    for (const Unit& unit : kUnits)
        if (duration.ps >= unit.ps) {
            const int64_t hundredths = (duration.ps * 100 + unit.ps / 2) / unit.ps;
            return fmt::format("{}.{:02} {}", hundredths / 100, hundredths % 100, unit.name);
        }
    return duration.ps == 0 ? "0" : fmt::format("{} ps", duration.ps);
}

std::string gigabytes_text(uint64_t bytes_per_second) {
    const uint64_t hundredths = (bytes_per_second + 5'000'000) / 10'000'000;
    return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
}

}  // namespace tulle::report
