#include "drive/run.h"

#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "drive/barrier.h"
#include "drive/crew.h"
#include "drive/large_pages.h"
#include "sim/course.h"
#include "sim/simulation.h"

namespace tulle::drive {
namespace {

using Clock = std::chrono::steady_clock;
using sim::Simulation;

constexpr auto kProgressInterval = std::chrono::milliseconds(100);
constexpr uint64_t kWindowsBetweenLooks = 64;  // at the clock
constexpr size_t kRecordsAtATime = 1 << 15;    // chosen: some megabytes

// CPU time of the thread if the run has only one, because other threads may execute other runs.
double cpu_seconds(bool is_alone) {
    rusage usage{};
    getrusage(is_alone ? RUSAGE_THREAD : RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

uint64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// Drives a run, and checks the clock and the interrupt flag. Only one thread calls it at a time.
class Conductor {
public:
    Conductor(const sim::Setup& setup, const Options& options, Simulation& simulation)
        : setup_(setup), options_(options), simulation_(simulation), course_(setup, simulation) {
        look();
    }

    bool is_over() const { return course_.is_over(); }
    uint64_t window() const { return course_.window(); }
    sim::Result::End end() const { return course_.end(); }

    void choose() {
        course_.choose();
        hand_out_records();
        look();
    }

private:
    // All partitions have advanced to the chosen window.
    void hand_out_records() {
        if (!options_.on_records || is_over()) return;
        sim::Network& network = simulation_.network(workload::Tier::scale_out);
        if (network.records_kept() < kRecordsAtATime) return;
        options_.on_records(network.take_records(simulation_.time_of(window())));
    }

    void look() {
        if (is_over()) return;
        if (options_.interrupt != nullptr && options_.interrupt->load(std::memory_order_relaxed))
            return course_.stop(sim::Result::End::interrupted);
        if (++windows_ % kWindowsBetweenLooks == 0) report();
    }

    void report() {
        if (!options_.on_progress || Clock::now() < next_report_) return;
        next_report_ = Clock::now() + kProgressInterval;
        Progress progress;
        progress.time = simulation_.time_of(window());
        progress.hops = simulation_.hops();
        progress.flows_done = simulation_.flows_done();
        progress.flows = setup_.flows.size();
        progress.tasks_done = simulation_.tasks_done();
        progress.tasks = task_count_;
        progress.passes = options_.explains ? 2 : 1;
        progress.pass = simulation_.follows_chain() ? 2 : 1;
        options_.on_progress(progress);
    }

    const sim::Setup& setup_;
    const Options& options_;
    Simulation& simulation_;
    sim::Course course_;
    uint64_t task_count_ = setup_.program.task_count();
    uint64_t windows_ = 0;
    Clock::time_point next_report_ = Clock::now() + kProgressInterval;
};

void run_alone(Simulation& simulation, Conductor& conductor) {
    for (; !conductor.is_over(); conductor.choose()) simulation.advance(0, conductor.window());
}

// Thread i of n advances partitions i, i + n, i + 2n and so on.
uint32_t run_together(Simulation& simulation, Conductor& conductor) {
    const auto partitions = static_cast<uint32_t>(simulation.partitions());
    std::optional<Barrier> barrier;
    std::once_flag is_made;
    const auto work = [&](uint32_t first, uint32_t threads) {
        std::call_once(is_made, [&] { barrier.emplace(threads); });
        Barrier::Patience patience;
        while (!conductor.is_over()) {
            for (uint32_t p = first; p < partitions; p += threads)
                simulation.advance(p, conductor.window());
            barrier->meet(patience, [] {});
            for (uint32_t p = first; p < partitions; p += threads) simulation.exchange(p);
            barrier->meet(patience, [&] { conductor.choose(); });
        }
    };
    return work_together(std::min(partitions, usable_cores()), work);
}

// One pass. It follows the chain of causes if one is given.
base::Result<sim::Result> run_once(const sim::Setup& setup, const Options& options,
                                   sim::FirstRun first = {}) {
    const size_t hosts = std::max<size_t>(setup.graph.host_count(), 1);
    const size_t partitions = std::clamp<size_t>(options.threads, 1, hosts);
    put_heap_on_large_pages();
    LargePages memory;
    auto built = Simulation::build(setup, partitions, &memory, std::move(first));
    if (!built) return built.error();
    Simulation& simulation = **built;
    if (options.on_begin) options.on_begin();
    const auto wall_start = Clock::now();
    const double cpu_start = cpu_seconds(partitions == 1);
    Conductor conductor(setup, options, simulation);
    uint32_t threads = 1;
    if (partitions == 1)
        run_alone(simulation, conductor);
    else
        threads = run_together(simulation, conductor);
    const double cpu_s = cpu_seconds(partitions == 1) - cpu_start;
    const std::chrono::duration<double> wall = Clock::now() - wall_start;
    sim::Result result = simulation.finish(conductor.end());
    if (options.on_records) {
        options.on_records({std::exchange(result.trace, {}), std::exchange(result.captured, {})});
    }
    result.engine.cpu_s = cpu_s;
    result.engine.wall_s = wall.count();
    result.engine.threads = threads;
    result.engine.peak_rss_bytes = peak_rss_bytes();
    return result;
}

}  // namespace

base::Result<sim::Result> run(const sim::Setup& setup, const Options& options) {
    auto result = run_once(setup, options);
    const bool is_worth_it = result && options.explains && !result->account.chain.empty() &&
                             result->end != sim::Result::End::interrupted &&
                             result->end != sim::Result::End::plugin_failed;
    if (!is_worth_it) return result;
    // The second pass needs no records: the first has produced them.
    sim::Setup without_records;
    const bool has_records = setup.trace || !setup.taps.empty();
    if (has_records) {
        without_records = setup;
        without_records.trace = false;
        without_records.taps.clear();
    }
    Options without_sink = options;
    without_sink.on_records = {};
    auto again = run_once(has_records ? without_records : setup, without_sink,
                          sim::FirstRun::of(setup, *result));
    if (again && again->end == result->end) result->account = std::move(again->account);
    return result;
}

}  // namespace tulle::drive
