#include "report/compare/comparison.h"

#include <gtest/gtest.h>

#include "report/compare/claims.h"
#include "report/compare/compare_json.h"
#include "report/compare/compare_text.h"
#include "report/compare/rules.h"
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

TEST(comparison, ranks_by_time_and_calls_those_alike_that_are) {
    const Made made = usual();
    const Comparison comparison = made.compare();
    const auto claims = claims_of(comparison, "");
    ASSERT_EQ(claims.size(), 4u);
    EXPECT_EQ(claims[0].sentence.substr(0, 22), "ib is fastest: 10 ms, ");
    EXPECT_EQ(claims[1].sentence, "tuned is as fast: 2.0 % longer");
    EXPECT_EQ(claims[2].sentence,
              "lossy takes 50.0 % longer: it lost 77 packets and sent 770 again");
    EXPECT_EQ(claims[3].sentence,
              "tcp takes 4.00 times as long: processors carry its data: 100 ms of their time, "
              "2.50 cores busy in each server");
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

TEST(comparison, what_leaders_have_too_is_no_reason_to_be_behind) {
    Made made = usual();
    for (const size_t run : {2, 3}) {
        made.runs[run].result.totals.cnps = 1000;
        made.runs[run].result.totals.ecn_marked = 2000;
    }
    const Comparison comparison = made.compare();
    EXPECT_EQ(claims_of(comparison, "")[2].sentence.find("CNP"), std::string::npos);
    made.runs[3].result.totals.cnps = 9000;
    const Comparison more = made.compare();
    EXPECT_NE(claims_of(more, "")[2].sentence.find("9000 CNPs"), std::string::npos);
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
    const auto add = [&](int64_t us, sim::TraceEvent::Kind kind, uint64_t value = 0) {
        sim::TraceEvent event;
        event.at = {us * 1'000'000};
        event.kind = kind;
        event.value = value;
        result.trace.push_back(event);
    };
    EXPECT_TRUE(series_of(result).empty());
    add(10, sim::TraceEvent::Kind::queue_bytes, 5000);
    add(10, sim::TraceEvent::Kind::queue_bytes, 3000);
    add(1200, sim::TraceEvent::Kind::pause_begin);
    add(1800, sim::TraceEvent::Kind::pause_end);
    add(2399, sim::TraceEvent::Kind::pause_begin);
    const TimeSeries series = series_of(result);
    ASSERT_FALSE(series.empty());
    const auto bin = [&](int64_t us) {
        return static_cast<size_t>(us * 1'000'000 / series.bin.ps);
    };
    EXPECT_EQ(series.queue_bytes[bin(10)], 5000u);
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
    comparison.sweep_key = "bytes";
    const std::string text = compare_text(comparison);
    EXPECT_NE(text.find("all_reduce: bus bandwidth, GB/s against bytes"), std::string::npos);
    EXPECT_NE(text.find("██████ 10.07"), std::string::npos) << text;
    const std::string csv = compare_csv(comparison);
    EXPECT_NE(csv.find("\nib,bytes,128MiB,yes,20000000,"), std::string::npos) << csv;
    EXPECT_NE(csv.find(",all_reduce,all_reduce,67108864,4,20000000,3.355,5.033,"),
              std::string::npos)
        << csv;
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
