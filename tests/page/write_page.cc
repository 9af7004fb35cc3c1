// Writes comparisons made by hand as pages, so that every chart has something to show: collectives
// of several sizes, queues and pauses, a fabric that failed, and names that try to break out.
//
// usage: write_page FOLDER
#include <fstream>

#include "report/compare/page.h"
#include "report/page/sim_page.h"
#include "report/testing.h"

namespace {

using namespace tulle;
using namespace tulle::base::literals;
using report::testing::MadeRun;
using workload::Collective;

MadeRun run_of(int64_t slowness) {
    MadeRun run = report::testing::leaf_spine(4, 2, 4);
    run.setup.name = "By hand </script><script>throw 1</script>";
    for (const uint64_t mebibytes : {1, 4, 16, 64}) {
        const auto us = static_cast<int64_t>(20 + mebibytes * 30) * slowness;
        run.phase("all_reduce", Collective::all_reduce, mebibytes << 20, {us * 1'000'000});
    }
    for (uint64_t i = 1; i <= 1000; ++i)
        run.result.message_latency.record(3'000'000 * static_cast<uint64_t>(slowness) + i * i * 40);
    run.result.cpu = {run.result.time.ps * slowness / 3};
    for (size_t i = 0; i < run.result.links.size(); ++i) {
        run.result.links[i].busy = {run.result.time.ps / 100 * static_cast<int64_t>(i * 37 % 100)};
        run.result.links[i].wire_bytes = 1 + i;
        if (i % 11 == 0) run.result.links[i].paused = {run.result.time.ps / 50};
    }
    // Shares that add up to the time.
    using fabric::ShareKind;
    const int64_t whole = run.result.time.ps;
    const auto share = [&](ShareKind kind, int64_t ps) {
        sim::TimeShare one;
        one.kind = kind;
        one.time = {ps};
        run.result.account.shares.push_back(one);
    };
    run.result.account.end = run.result.time;
    share(ShareKind::serialization, whole / 2);
    share(ShareKind::queue, whole / 4);
    share(ShareKind::held, whole - whole / 2 - whole / 4);
    for (int64_t i = 0; i < 2000; ++i) {
        sim::TraceSample event;
        event.at = {run.result.time.ps / 2000 * i};
        event.node = 16;
        event.kind = sim::TraceSample::Kind::queue_bytes;
        event.value = static_cast<uint64_t>(i % 300 * 1000 * slowness);
        if (i % 100 == 0) event.kind = sim::TraceSample::Kind::pause_begin;
        if (i % 100 == 50) event.kind = sim::TraceSample::Kind::pause_end;
        if (i % 10 == 7) event.kind = sim::TraceSample::Kind::mark;
        if (i % 100 == 99) {
            event.kind = sim::TraceSample::Kind::rate;
            event.node = 3;
            event.queue_pair = 17;
            event.value = 400'000'000'000 - static_cast<uint64_t>(i) * 100'000'000;
        }
        run.result.trace.push_back(event);
    }
    return run;
}

void write(const std::string& path, const report::Comparison& comparison) {
    std::ofstream(path) << report::compare_page(
        comparison, {"2026-11-15", "Tulle by hand", "", "by-hand.yaml", "name: by hand\n"});
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const std::string folder = argv[1];
    std::vector<MadeRun> runs;
    for (const int64_t slowness : {10, 11, 14, 25, 60}) runs.push_back(run_of(slowness));
    runs[3].result.phases.back().finished = false;
    const char* names[] = {"ib-ndr", "roce-v2-400g", "roce-v2-400g-untuned", "roce-v2-400g-no-pfc",
                           "tcp-ethernet"};
    std::vector<report::FinishedRun> finished;
    std::vector<report::FinishedRun> swept;
    for (size_t i = 0; i < runs.size(); ++i) {
        finished.push_back(
            {names[i], "", &runs[i].setup, &runs[i].result, report::series_of(runs[i].result)});
        swept.push_back({names[i % 2], i < 2 ? "1" : "2", &runs[i].setup, &runs[i].result,
                         report::series_of(runs[i].result)});
    }
    swept.resize(4);
    const scenario::Prices prices = scenario::sample_prices();
    report::Comparison collectives(finished, prices);
    write(folder + "/collectives.html", collectives);
    std::vector<report::FinishedRun> grid;
    for (size_t i = 0; i < 4; ++i)
        grid.push_back({names[0],
                        report::joined_value({i < 2 ? "1" : "2", i % 2 ? "8" : "4"}),
                        &runs[i].setup,
                        &runs[i].result,
                        {}});
    report::Comparison gridded(grid, prices);
    gridded.set_axes({{"topology.spines", {"1", "2"}}, {"hosts", {"4", "8"}}});
    write(folder + "/grid.html", gridded);
    const report::Facts facts(runs[2].setup, runs[2].result);
    std::ofstream(folder + "/run.html") << report::sim_page(
        facts, report::judge(facts), {}, {"2026-11-15", "Tulle by hand", "", "", ""});
    report::Comparison sweep(swept, prices);
    sweep.set_axes({{"topology.spines", {"1", "2"}}});
    write(folder + "/sweep.html", sweep);
    report::Comparison nothing({}, prices);
    nothing.missing = {"ib-ndr"};
    write(folder + "/nothing.html", nothing);
    return 0;
}
