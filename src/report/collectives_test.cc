#include "report/collectives.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/json_report.h"
#include "report/testing.h"
#include "report/text_report.h"

namespace tulle::report {
namespace {

using namespace testing;
using workload::Collective;

TEST(collectives, bandwidth_is_bytes_over_time_and_the_factor) {
    MadeRun run = star(4);
    run.phase("sum", Collective::all_reduce, 40'000'000, 2_ms);
    const auto facts = collective_facts(run.setup, run.result);
    ASSERT_EQ(facts.size(), 1u);
    EXPECT_EQ(facts[0].algorithm_bandwidth, 20'000'000'000u);
    EXPECT_EQ(facts[0].bus_bandwidth, 30'000'000'000u);
    EXPECT_EQ(facts[0].time, 2_ms);
}

TEST(collectives, how_it_was_done_and_the_next_best_are_told) {
    MadeRun run = star(4);
    run.phase("sum", Collective::all_reduce, 40'000'000, 2_ms);
    workload::Phase& phase = run.setup.program.phases[0];
    phase.algorithm = "ring";
    phase.protocol = "LL128";
    phase.channels = 16;
    phase.is_automatic = true;
    phase.predicted = {"ring LL128", base::Duration{1'900'000'000}};
    phase.next_best = {"tree LL128", base::Duration{2'500'000'000}};
    const Facts facts(run.setup, run.result);
    const std::string text = text_report(facts, {});
    EXPECT_NE(text.find("ring LL128"), std::string::npos) << text;
    EXPECT_NE(text.find("tree LL128 2.5 ms"), std::string::npos) << text;
    const auto json = nlohmann::json::parse(json_report(facts, {}))["collectives"][0];
    EXPECT_EQ(json["protocol"], "LL128");
    EXPECT_EQ(json["channels"], 16);
    EXPECT_EQ(json["chosen"], true);
    EXPECT_EQ(json["next_best"]["name"], "tree LL128");
    EXPECT_EQ(json["next_best"]["time_us"], 2500.0);
}

// Four ranks on four hosts: each must send 2 * 3/4 of the buffer, and headers with it.
TEST(collectives, the_limit_is_what_must_cross_the_hosts_links) {
    MadeRun run = star(4);
    run.phase("sum", Collective::all_reduce, 4096 * 1000, 2_ms);
    run.phase("exchange", Collective::all_to_all, 4096 * 1000, 1_ms);
    const uint64_t wire =
        data_wire_bytes(run.setup, sim::Verb::write, run.setup.host.mtu, false, false) * 4096 /
        run.setup.host.mtu;
    const base::Rate rate = run.setup.fabric.link.rate;
    const auto facts = collective_facts(run.setup, run.result);
    EXPECT_NEAR(static_cast<double>(facts[0].limit.ps),
                static_cast<double>(rate.time_for(wire * 1500).ps), 2000.0);
    EXPECT_NEAR(static_cast<double>(facts[1].limit.ps),
                static_cast<double>(rate.time_for(wire * 750).ps), 2000.0);
    const Facts all(run.setup, run.result);
    EXPECT_EQ(all.limit, facts[0].limit + facts[1].limit);
    EXPECT_EQ(all.span, 3_ms);
}

// Two servers of two adapters: what the ranks of a server reduce among themselves does not cross.
TEST(collectives, a_network_inside_servers_leaves_less_to_cross) {
    MadeRun apart = star(4);
    apart.phase("sum", Collective::all_reduce, 1 << 20, 1_ms);
    MadeRun joined = apart;
    MadeRun islands;
    for (uint32_t host = 0; host < 4; ++host) islands.add_host();
    for (uint32_t server = 0; server < 2; ++server) {
        const uint32_t hub = islands.add_switch(topology::kLeafTier);
        for (uint32_t local = 0; local < 2; ++local)
            islands.setup.graph.connect(server * 2 + local, hub);
    }
    for (uint32_t rank = 0; rank < 4; ++rank) joined.setup.ranks[rank].scale_up = rank;
    workload::Task inside;
    inside.tier = workload::Tier::scale_up;
    inside.peer = 1;
    inside.bytes = 1 << 19;
    joined.setup.program.add(inside, {});
    const Duration alone = collective_facts(apart.setup, apart.result)[0].limit;
    const auto together = [&](const base::Rate& rate) {
        islands.setup.fabric.link.rate = rate;
        joined.setup.scale_up = std::make_shared<const sim::Setup>(islands.setup);
        return static_cast<double>(collective_facts(joined.setup, joined.result)[0].limit.ps);
    };
    const base::Rate rate = apart.setup.fabric.link.rate;
    const base::Rate fast = base::Rate::bits_per_second(100'000'000'000'000);
    // 2 * 3 buffers over four adapters against 2 * 1.
    EXPECT_NEAR(static_cast<double>(alone.ps), together(fast) * 3, 10.0);
    // A network inside that is no faster: 2 * 3 buffers over twice as many ports.
    EXPECT_NEAR(static_cast<double>(alone.ps), together(rate) * 2, 10.0);
}

TEST(collectives, one_that_did_not_end_has_no_bandwidth_and_fails_the_run) {
    MadeRun run = star(4);
    run.phase("sum", Collective::all_reduce, 1 << 20, 1_ms, false);
    const auto facts = collective_facts(run.setup, run.result);
    EXPECT_EQ(facts[0].bus_bandwidth, 0u);
    const Verdict verdict = run.verdict();
    EXPECT_FALSE(verdict.complete);
    const Finding* finding = find(verdict, FindingKind::phases_unfinished);
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->culprit, "sum");
}

TEST(collectives, stand_in_the_report_of_a_run) {
    MadeRun run = star(4);
    run.phase("sum", Collective::all_reduce, 40'000'000, 2_ms);
    run.result.message_latency.record(5'000'000, 12);
    const Facts facts(run.setup, run.result);
    const Verdict verdict = judge(facts);
    const std::string text = text_report(facts, verdict);
    EXPECT_NE(text.find("30.00 GB/s"), std::string::npos) << text;
    EXPECT_NE(text.find("12 messages between servers: 5"), std::string::npos) << text;
    const auto json = nlohmann::json::parse(json_report(facts, verdict));
    const auto& sum = json["collectives"][0];
    EXPECT_EQ(sum["name"], "sum");
    EXPECT_EQ(sum["kind"], "all_reduce");
    EXPECT_EQ(sum["bytes"], 40'000'000);
    EXPECT_EQ(sum["time_us"], 2000.0);
    EXPECT_EQ(sum["algbw_GBps"], 20.0);
    EXPECT_EQ(sum["busbw_GBps"], 30.0);
}

}  // namespace
}  // namespace tulle::report
