#include "report/compare/comparison.h"

#include <gtest/gtest.h>

#include "report/compare/claims.h"
#include "report/compare/compare_json.h"
#include "report/compare/compare_text.h"
#include "report/compare/rules.h"
#include "report/compare/sweep.h"
#include "report/testing.h"

namespace tulle::report {
namespace {

using namespace testing;
using workload::Collective;

// A star of four whose all-reduce takes so long.
MadeRun all_reduce(Duration time) {
    MadeRun run = star(4);
    run.phase("all_reduce", Collective::all_reduce, 64 << 20, time);
    run.result.message_latency.record(5'000'000, 12);
    return run;
}

struct Made {
    std::vector<std::string> names;
    std::vector<MadeRun> runs;

    void add(const std::string& name, MadeRun run) {
        names.push_back(name);
        runs.push_back(std::move(run));
    }
    Comparison compare() const {
        std::vector<FinishedRun> finished;
        for (size_t i = 0; i < runs.size(); ++i)
            finished.push_back({names[i], "", &runs[i].setup, &runs[i].result});
        return {finished, scenario::sample_prices()};
    }
};

Made usual() {
    Made made;
    made.add("tcp", all_reduce(40_ms));
    made.add("ib", all_reduce(10_ms));
    made.add("tuned", all_reduce({10'200'000'000}));
    made.add("lossy", all_reduce(15_ms));
    made.runs[0].result.cpu = 100_ms;
    made.runs[3].result.totals.dropped[0] = 77;
    made.runs[3].result.totals.retransmitted = 770;
    return made;
}

// Where the time of a run went, as a second run would have found.
void account(MadeRun& run, std::initializer_list<std::pair<fabric::ShareKind, Duration>> shares) {
    sim::TimeAccount& account = run.result.account;
    account.chain = {{0, true, true}};
    account.end = run.result.time;
    for (const auto& [kind, time] : shares) {
        account.shares.push_back({});
        account.shares.back().kind = kind;
        account.shares.back().time = time;
    }
}

TEST(comparison, ranks_by_time_and_calls_those_alike_that_are) {
    const Made made = usual();
    const Comparison comparison = made.compare();
    const auto claims = claims_of(comparison, "");
    ASSERT_EQ(claims.size(), 4u);
    EXPECT_EQ(claims[0].sentence.substr(0, 22), "ib is fastest: 10 ms, ");
    EXPECT_EQ(claims[1].sentence, "tuned is as fast: 2.0 % longer");
    EXPECT_EQ(claims[2].sentence.substr(0, 26), "lossy takes 50.0 % longer:");
    EXPECT_EQ(claims[3].sentence.substr(0, 29), "tcp takes 4.00 times as long:");
}

TEST(comparison, of_many_fabrics_the_best_come_first_and_those_far_behind_have_a_line) {
    Made made;
    for (int i = 0; i < 11; ++i) made.add("f" + std::to_string(i), all_reduce(1_ms * (20 - i)));
    const std::string text = compare_text(made.compare());
    EXPECT_LT(text.find("f10"), text.find("f9"));
    const size_t others = text.find("the others");
    ASSERT_NE(others, std::string::npos);
    EXPECT_LT(text.find("f6"), others);   // 14 ms, where the best takes 10
    EXPECT_GT(text.find("f5 "), others);  // 15 ms
    EXPECT_NE(text.find("  f5 takes 50.0 % longer.\n"), std::string::npos);
    EXPECT_EQ(text.find("f5: "), std::string::npos);  // not among what held each one up
}

TEST(comparison, a_gap_is_the_difference_of_what_both_spent_their_time_on) {
    using fabric::ShareKind;
    Made made = usual();
    account(made.runs[1], {{ShareKind::serialization, 9_ms}, {ShareKind::software, 1_ms}});
    account(
        made.runs[3],
        {{ShareKind::serialization, 8_ms}, {ShareKind::software, 1_ms}, {ShareKind::loss, 6_ms}});
    const auto claims = claims_of(made.compare(), "");
    Duration sum{};
    for (const GapPart& part : claims[2].parts) sum += part.time;
    EXPECT_EQ(sum, 5_ms);
    ASSERT_EQ(claims[2].parts.size(), 2u);
    EXPECT_EQ(claims[2].parts[0].kind, ShareKind::loss);
    EXPECT_EQ(claims[2].parts[0].time, 6_ms);
    EXPECT_EQ(claims[2].parts[1].time, -(1_ms));
    EXPECT_NE(claims[2].sentence.find("6 ms more for \"loss"), std::string::npos)
        << claims[2].sentence;
}

TEST(comparison, a_fabric_that_did_not_complete_the_work_is_last) {
    Made made = usual();
    made.runs[1].result.phases[0].finished = false;
    const Comparison comparison = made.compare();
    const auto claims = claims_of(comparison, "");
    EXPECT_EQ(claims.back().kind, ClaimKind::failed);
    EXPECT_EQ(comparison.runs[claims.back().run].fabric, "ib");
    EXPECT_EQ(comparison.runs[claims.front().run].fabric, "tuned");
}

TEST(comparison, every_claim_and_every_rule_that_is_no_opinion_rests_on_fields_of_the_json) {
    const Made made = usual();
    const Json json = comparison_json(made.compare());
    size_t claims = 0;
    for (const auto* list : {&json["verdict"]["claims"], &json["rules"]})
        for (const Json& claim : *list) {
            ++claims;
            const bool is_opinion = claim.contains("basis") && claim["basis"] == "opinion";
            EXPECT_EQ(claim["evidence"].empty(), is_opinion) << claim;
            for (const Json& evidence : claim["evidence"])
                EXPECT_EQ(json.at(Json::json_pointer(evidence["field"])), evidence["value"]);
        }
    EXPECT_GE(claims, 6u);
}

TEST(comparison, json_has_the_keys_of_a_run_and_its_collectives) {
    const Made made = usual();
    const Json json = comparison_json(made.compare());
    ASSERT_EQ(json["runs"].size(), 4u);
    const Json& run = json["runs"][1];
    EXPECT_EQ(run["name"], "ib");
    for (const char* key : {"fabric", "hosts", "hash", "time_ns", "totals", "verdict", "flows",
                            "links", "collectives", "messages", "host"})
        EXPECT_TRUE(run.contains(key)) << key;
    EXPECT_EQ(run["collectives"][0]["time_us"], 10'000.0);
    EXPECT_EQ(json["cost"].size(), 4u);
    EXPECT_EQ(json["verdict"]["ranking"][0]["fabrics"], Json({"ib", "tuned", "lossy", "tcp"}));
}

TEST(comparison, fits_one_hundred_columns_and_shows_every_fabric) {
    Made made = usual();
    made.add("roce-v2-400g-untuned-with-a-long-name", all_reduce(12_ms));
    made.add("sixth", all_reduce(13_ms));
    const std::string text = compare_text(made.compare());
    size_t begin = 0;
    while (begin < text.size()) {
        const size_t end = text.find('\n', begin);
        EXPECT_LE(end - begin, 100u) << text.substr(begin, end - begin);
        begin = end + 1;
    }
    for (const char* word : {"all_reduce, 64 MiB", "6.71 10.07", "p99.9", "sixth", "untuned-with-",
                             "cores a server", "Opinion: "})
        EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

TEST(comparison, storage_has_a_time_and_a_limit_but_no_bus_bandwidth) {
    Made made;
    MadeRun run = star(4);
    run.phase("checkpoint", Collective::storage_write, 1 << 20, 1_ms);
    made.add("a", std::move(run));
    const std::string text = compare_text(made.compare());
    EXPECT_NE(text.find("checkpoint, 1 MiB"), std::string::npos) << text;
    EXPECT_EQ(text.find("busbw"), std::string::npos);
}

TEST(comparison, many_sizes_have_a_row_each) {
    Made made;
    for (const char* name : {"a", "b"}) {
        MadeRun run = star(4);
        for (const uint64_t mebibytes : {1, 2, 4, 8, 16})
            run.phase("all_reduce", Collective::all_reduce, mebibytes << 20, 1_ms);
        made.add(name, std::move(run));
    }
    const std::string text = compare_text(made.compare());
    EXPECT_NE(text.find("all_reduce, 16 MiB, busbw  25.17 GB/s  25.17 GB/s"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("algbw"), std::string::npos);
}

TEST(series, are_the_deepest_queue_and_the_ports_held_up_in_each_part_of_the_run) {
    sim::Result result;
    result.time = Instant{} + 2400_us;
    const auto add = [&](int64_t us, sim::TraceSample::Kind kind, uint64_t value = 0) {
        sim::TraceSample event;
        event.at = {us * 1'000'000};
        event.kind = kind;
        event.value = value;
        result.trace.push_back(event);
    };
    EXPECT_TRUE(series_of(result).empty());
    add(10, sim::TraceSample::Kind::queue_bytes, 5000);
    add(10, sim::TraceSample::Kind::queue_bytes, 3000);
    add(50, sim::TraceSample::Kind::queue_bytes, 0);
    add(1200, sim::TraceSample::Kind::pause_begin);
    add(1800, sim::TraceSample::Kind::pause_end);
    add(2399, sim::TraceSample::Kind::pause_begin);
    const TimeSeries series = series_of(result);
    ASSERT_FALSE(series.empty());
    const auto bin = [&](int64_t us) {
        return static_cast<size_t>(us * 1'000'000 / series.bin.ps);
    };
    EXPECT_EQ(series.queue_bytes[bin(10)], 5000u);
    EXPECT_EQ(series.queue_bytes[bin(30)], 3000u);
    EXPECT_EQ(series.queue_bytes[bin(100)], 0u);
    EXPECT_EQ(series.paused_ports[bin(1500)], 1000u);
    EXPECT_EQ(series.paused_ports[bin(1900)], 0u);
}

TEST(comparison, says_what_is_missing) {
    const Made made = usual();
    Comparison comparison = made.compare();
    comparison.missing = {"spraying"};
    EXPECT_NE(compare_text(comparison).find("Missing: spraying did not come to an end."),
              std::string::npos);
    EXPECT_EQ(comparison_json(comparison)["missing"], Json({"spraying"}));
}

TEST(comparison, of_nothing_is_but_what_is_missing) {
    Comparison comparison({}, scenario::sample_prices());
    comparison.missing = {"ib", "roce"};
    EXPECT_EQ(compare_text(comparison), "Missing: ib, roce did not come to an end.\n");
    EXPECT_TRUE(comparison_json(comparison)["runs"].empty());
}

TEST(comparison, a_sweep_is_a_table_a_chart_and_rows) {
    Made made;
    made.add("ib", all_reduce(10_ms));
    made.add("ib", all_reduce(20_ms));
    std::vector<FinishedRun> finished = {
        {"ib", "64MiB", &made.runs[0].setup, &made.runs[0].result},
        {"ib", "128MiB", &made.runs[1].setup, &made.runs[1].result}};
    Comparison comparison(finished, scenario::sample_prices());
    comparison.set_axes({{"bytes", {"64MiB", "128MiB"}}});
    const std::string text = compare_text(comparison);
    EXPECT_NE(text.find("all_reduce: bus bandwidth, GB/s against bytes"), std::string::npos);
    EXPECT_NE(text.find("██████ 10.07"), std::string::npos) << text;
    const std::string csv = compare_csv(comparison);
    EXPECT_NE(csv.find("\nib,bytes,128MiB,,,yes,20000000,1,20000000,20000000,"), std::string::npos)
        << csv;
    EXPECT_NE(csv.find(",all_reduce,all_reduce,67108864,4,20000000,3.355,5.033,"),
              std::string::npos)
        << csv;
}

// Runs of one fabric, with these times in milliseconds, one a seed.
void add_seeds(Made& made, const std::string& name, const std::vector<int64_t>& milliseconds) {
    uint64_t seed = 1;
    for (const int64_t ms : milliseconds) {
        made.add(name, all_reduce({ms * 1'000'000'000}));
        made.runs.back().setup.seed = seed++;
    }
}

TEST(seeds, the_median_run_stands_for_all_and_the_spread_is_told) {
    Made made;
    add_seeds(made, "ib", {12, 10, 11});
    add_seeds(made, "roce", {31, 30, 35});
    const Comparison comparison = made.compare();
    ASSERT_EQ(comparison.runs.size(), 2u);
    EXPECT_EQ(comparison.runs[0].facts->span, 11_ms);
    EXPECT_EQ(comparison.runs[0].facts->setup.seed, 3u);
    EXPECT_EQ(comparison.runs[0].least(), 10_ms);
    EXPECT_EQ(comparison.runs[0].most(), 12_ms);
    const std::string text = compare_text(comparison);
    EXPECT_NE(text.find("least of 3 seeds"), std::string::npos) << text;
    const Json json = comparison_json(comparison);
    EXPECT_EQ(json["runs"][0]["seeds"].size(), 3u);
    EXPECT_EQ(json["runs"][0]["seeds"][0]["span_ns"], 12e6);
}

TEST(seeds, a_difference_within_the_spread_is_none) {
    Made made;
    add_seeds(made, "ib", {10, 11, 14});
    add_seeds(made, "roce", {13, 14, 15});
    add_seeds(made, "tcp", {20, 21, 22});
    const Comparison comparison = made.compare();
    EXPECT_TRUE(is_within_spread(comparison.runs[0], comparison.runs[1]));
    EXPECT_EQ(behind_permille(comparison.runs[1], comparison.runs[0]), 0u);
    EXPECT_FALSE(is_within_spread(comparison.runs[0], comparison.runs[2]));
    const auto claims = claims_of(comparison, "");
    EXPECT_EQ(claims[1].kind, ClaimKind::alike);
    EXPECT_EQ(claims[2].kind, ClaimKind::behind);
    EXPECT_EQ(advice_on(comparison, "")[0].sentence,
              "For this work there is nothing to choose between ib, roce.");
}

TEST(seeds, one_that_fails_stands_for_all) {
    Made made;
    add_seeds(made, "ib", {10, 11, 12});
    made.runs[1].result.phases[0].finished = false;
    const Comparison comparison = made.compare();
    EXPECT_FALSE(comparison.runs[0].verdict.complete);
}

TEST(seeds, one_seed_has_no_spread) {
    Made made;
    add_seeds(made, "a", {10});
    add_seeds(made, "b", {10});
    const Comparison comparison = made.compare();
    EXPECT_FALSE(is_within_spread(comparison.runs[0], comparison.runs[1]));
    EXPECT_EQ(compare_text(comparison).find("seeds"), std::string::npos);
}

// A sweep of one setting on one fabric, the same work each time.
struct Swept {
    std::vector<MadeRun> runs;
    std::vector<std::string> values;

    void add(const std::string& value, Duration time) {
        values.push_back(value);
        runs.push_back(all_reduce(time));
    }
    Comparison compare(std::vector<SweepAxis> axes) const {
        std::vector<FinishedRun> finished;
        for (size_t i = 0; i < runs.size(); ++i)
            finished.push_back({"roce", values[i], &runs[i].setup, &runs[i].result});
        Comparison comparison(finished, scenario::sample_prices());
        comparison.set_axes(std::move(axes));
        return comparison;
    }
};

TEST(sweep, names_the_best_value_those_as_good_and_the_worst) {
    Swept swept;
    swept.add("50KB", 12_ms);
    swept.add("200KB", 10_ms);
    swept.add("400KB", {10'100'000'000});
    swept.add("800KB", 15_ms);
    const Comparison comparison = swept.compare({{"kmin", swept.values}});
    const auto best = best_values(comparison);
    ASSERT_EQ(best.size(), 1u);
    EXPECT_EQ(best[0].value, "200KB");
    EXPECT_EQ(best[0].sentence,
              "roce: best at kmin = 200KB, 10.00 ms; as good: 400KB; worst at 800KB, 15.00 ms "
              "(50.0 % longer)");
    const Json json = comparison_json(comparison);
    EXPECT_EQ(json["verdict"]["best_values"][0]["value"], "200KB");
    EXPECT_EQ(json["verdict"]["best_values"][0]["evidence"][0]["value"], 10e6);
}

TEST(sweep, of_many_values_as_good_four_are_named) {
    Swept swept;
    for (const char* value : {"1", "2", "3", "4", "5", "6", "7"}) swept.add(value, 10_ms);
    swept.add("8", 15_ms);
    const auto best = best_values(swept.compare({{"kmin", swept.values}}));
    ASSERT_EQ(best.size(), 1u);
    EXPECT_EQ(best[0].sentence,
              "roce: best at kmin = 1, 10.00 ms; as good: 2, 3, 4, 5 and 2 more; worst at 8, "
              "15.00 ms (50.0 % longer)");
}

TEST(sweep, a_best_value_at_the_end_of_the_list_may_lie_beyond) {
    Swept swept;
    swept.add("1", 12_ms);
    swept.add("2", 11_ms);
    swept.add("3", 9_ms);
    const auto best = best_values(swept.compare({{"x", swept.values}}));
    EXPECT_NE(best[0].sentence.find("look further"), std::string::npos) << best[0].sentence;
}

TEST(sweep, a_setting_may_make_no_difference) {
    Swept swept;
    swept.add("1", 10_ms);
    swept.add("2", {10'100'000'000});
    const auto best = best_values(swept.compare({{"x", swept.values}}));
    EXPECT_EQ(best[0].value, "");
    EXPECT_EQ(best[0].sentence, "roce: x makes no difference: 10.00 ms to 10.10 ms, less than 5 %");
}

TEST(sweep, a_difference_within_the_spread_of_seeds_is_none) {
    Swept swept;
    for (const int64_t ms : {10, 12, 16}) swept.add("1", {ms * 1'000'000'000});
    for (const int64_t ms : {13, 14, 20}) swept.add("2", {ms * 1'000'000'000});
    const auto best = best_values(swept.compare({{"x", {"1", "2"}}}));
    EXPECT_EQ(best[0].sentence,
              "roce: x makes no difference: 12.00 ms to 14.00 ms, within the spread of 3 seeds");
}

TEST(sweep, of_sizes_is_judged_by_bandwidth) {
    Swept swept;
    swept.add("64MiB", 10_ms);
    swept.add("1MiB", 2_ms);
    swept.runs[1].setup.program.phases[0].bytes = 1 << 20;
    const auto best = best_values(swept.compare({{"bytes", swept.values}}));
    EXPECT_EQ(best[0].value, "64MiB");
    EXPECT_NE(best[0].sentence.find("bus bandwidth, GB/s 10.07"), std::string::npos)
        << best[0].sentence;
}

TEST(sweep, of_two_settings_is_a_grid) {
    Swept swept;
    for (const char* kmin : {"50KB", "200KB"})
        for (const char* kmax : {"400KB", "1MB", "2MB"})
            swept.add(joined_value({kmin, kmax}),
                      {10'000'000'000 + static_cast<int64_t>(swept.runs.size()) * 1'000'000'000});
    const Comparison comparison =
        swept.compare({{"kmin", {"50KB", "200KB"}}, {"kmax", {"400KB", "1MB", "2MB"}}});
    EXPECT_EQ(comparison.sweep_key, "kmin, kmax");
    const std::string text = compare_text(comparison);
    EXPECT_NE(text.find("time, roce: kmin down, kmax across"), std::string::npos) << text;
    EXPECT_NE(text.find("  200KB  13.00 ms  14.00 ms  15.00 ms\n"), std::string::npos) << text;
    EXPECT_NE(text.find("best at kmin = 50KB, kmax = 400KB"), std::string::npos) << text;
    EXPECT_NE(compare_csv(comparison).find("\nroce,kmin,200KB,kmax,1MB,yes,14000000,"),
              std::string::npos);
    EXPECT_EQ(comparison_json(comparison)["runs"][4]["sweep"]["values"], Json({"200KB", "1MB"}));
}

TEST(sweep, tells_pauses_marks_queues_and_prices_besides) {
    Swept swept;
    swept.add("1", 10_ms);
    swept.add("2", 10_ms);
    swept.runs[1].result.totals.paused = 3_ms;
    swept.runs[1].result.totals.ecn_marked = 4321;
    swept.runs[1].result.links[0].peak_queue_bytes = 64 << 10;
    const std::string text = compare_text(swept.compare({{"x", swept.values}}));
    for (const char* word : {"3.00 ms   4321", "64 KiB", "sample price, USD", "links held up"})
        EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

TEST(advice, the_cheapest_of_the_fastest_is_told_with_its_price) {
    Made made = usual();
    made.runs[1].setup.fabric.framing.encapsulation = wire::Encapsulation::infiniband_local;
    made.runs[1].setup.fabric.flow_control = fabric::FlowControl::credits;
    const Comparison comparison = made.compare();
    const auto advice = advice_on(comparison, "");
    EXPECT_EQ(advice[0].sentence, "For this work there is nothing to choose between ib, tuned.");
    EXPECT_EQ(advice[1].sentence.substr(0, 37), "Of the fastest, tuned costs least: 44");
    EXPECT_TRUE(advice.back().is_opinion);
}

TEST(bill, counts_parts_and_prices_them) {
    MadeRun run = star(4);
    run.setup.graph.cables[0].length_mm = 2000;
    const Bill bill = bill_of(run.setup, scenario::sample_prices());
    EXPECT_EQ(bill.switches, 1u);
    EXPECT_EQ(bill.switch_ports, 4u);
    EXPECT_EQ(bill.adapters, 4u);
    EXPECT_EQ(bill.cables, 4u);
    EXPECT_EQ(bill.copper_cables + bill.transceivers / 2, 4u);
    EXPECT_GE(bill.copper_cables, 1u);
    uint64_t sum = 0;
    for (const BillLine& line : bill.lines) sum += line.price;
    EXPECT_EQ(bill.price, sum);
    EXPECT_EQ(bill.unpriced, 0u);
}

TEST(bill, is_in_the_text_and_says_sample_and_guess_where_it_is_so) {
    const Made made = usual();
    const std::string text = compare_text(made.compare());
    for (const char* word :
         {"Parts and prices, USD, sample prices of cost/sample.yaml; * is a guess",
          "  tcp, ib, tuned, lossy\n", "400G adapter", "1,800*", "sample price, USD",
          ", sample prices, "})
        EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

TEST(bill, of_ones_own_prices_is_no_sample) {
    const Made made = usual();
    std::vector<FinishedRun> finished = {{"a", "", &made.runs[0].setup, &made.runs[0].result}};
    const auto prices = scenario::read_prices(
        "currency: EUR\nswitches: [{ports: 8, rate: 400Gbps, price: 9, watts: 1}]\n", "my.yaml");
    ASSERT_TRUE(prices.ok());
    const std::string text = compare_text(Comparison(finished, *prices));
    EXPECT_EQ(text.find("sample"), std::string::npos) << text;
    EXPECT_EQ(text.find("guess"), std::string::npos) << text;
    EXPECT_NE(text.find("prices of my.yaml"), std::string::npos) << text;
    EXPECT_NE(text.find("sum of what has a price"), std::string::npos) << text;
}

TEST(bill, a_switch_with_too_few_ports_is_not_replaced_by_a_faster_one) {
    MadeRun run = star(70);
    run.setup.fabric.framing.encapsulation = wire::Encapsulation::infiniband_local;
    const Bill bill = bill_of(run.setup, scenario::sample_prices());
    EXPECT_EQ(bill.unpriced, 1u);
    ASSERT_EQ(bill.problems.size(), 1u);
    EXPECT_EQ(bill.problems[0],
              "no 400 Gb/s InfiniBand switch in cost/sample.yaml has 70 ports, as one of the "
              "topology does; the largest has 64: add a model that has them, or choose a topology "
              "of smaller switches");
}

TEST(bill, a_sum_that_lacks_parts_is_not_ranked) {
    Made made = usual();
    made.runs[2] = star(200);
    made.runs[2].phase("all_reduce", Collective::all_reduce, 64 << 20, {10'200'000'000});
    const auto advice = advice_on(made.compare(), "");
    EXPECT_NE(advice[1].sentence.find("ib costs least"), std::string::npos);
    EXPECT_EQ(advice[2].sentence, "Parts of tuned have no price, so it is not ranked by cost.");
}

TEST(bill, says_what_has_no_price) {
    MadeRun run = star(4);
    scenario::Prices prices = scenario::sample_prices();
    prices.switches.clear();
    const Bill bill = bill_of(run.setup, prices);
    EXPECT_EQ(bill.unpriced, 1u);
    EXPECT_EQ(bill.lines.back().is_priced, true);
    EXPECT_EQ(
        std::count_if(bill.lines.begin(), bill.lines.end(),
                      [](const BillLine& line) { return line.part == "switch with 4 ports"; }),
        1);
}

}  // namespace
}  // namespace tulle::report
