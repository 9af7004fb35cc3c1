// All that the room writes of one run, read again.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "report/capture_report.h"
#include "report/csv_report.h"
#include "report/fct_report.h"
#include "report/json_report.h"
#include "report/testing.h"
#include "report/text_report.h"
#include "report/timeline.h"
#include "wire/capture.h"

namespace tulle::report {
namespace {

using namespace base::literals;
using testing::MadeRun;
using Json = nlohmann::json;

MadeRun small_run() {
    MadeRun run = testing::star(3);
    run.setup.name = "small";
    run.setup.seed = 7;
    run.flow(0, 2, 2000);
    run.flow(1, 2, 2500);
    run.flow(1, 2);
    run.result.flows[2].finished = false;
    run.result.hash = 0xabcdef;
    run.link("s0", "h2").busy = run.result.flows[1].completion / 2;
    run.link("s0", "h2").wire_bytes = 2 << 20;
    run.link("s0", "h2").marked = 3;
    run.blame("h0", "s0", "s0", "h2", 12_us);
    run.result.disagreements.push_back({1, "priority 3"});
    return run;
}

TEST(Json_report, has_every_key_that_programs_rely_on) {
    const MadeRun run = small_run();
    const Facts facts(run.setup, run.result);
    const Json json = Json::parse(json_report(facts, judge(facts)));
    for (const char* key : {"fabric", "seed", "hash", "time_ns", "engine", "totals", "flows",
                            "links", "verdict", "end", "end_reason"})
        EXPECT_TRUE(json.contains(key)) << key;
    for (const char* key :
         {"events", "hops", "cpu_s", "wall_s", "hops_per_cpu_s", "peak_rss_bytes", "threads"})
        EXPECT_TRUE(json["engine"].contains(key)) << key;
    for (const char* key :
         {"data_packets", "control_packets", "dropped", "retransmitted", "ecn_marked", "cnps",
          "pause_frames", "paused_ns", "credit_packets", "trimmed", "delivered", "in_flight"})
        EXPECT_TRUE(json["totals"].contains(key)) << key;
    EXPECT_EQ(json["totals"]["dropped"].size(), sim::kDropCauses - 1);  // other_tenant if any
    EXPECT_EQ(json["hash"], "0000000000abcdef");
    EXPECT_EQ(json["end"], "done");
    EXPECT_EQ(json["flows"][0]["src"], "h0");
    EXPECT_EQ(json["flows"][0]["dst"], "h2");
    EXPECT_EQ(json["flows"][0]["status"], "success");
    EXPECT_EQ(json["flows"][2]["status"], "unfinished");
    EXPECT_TRUE(json["flows"][2]["fct_ns"].is_null());
    EXPECT_EQ(json["links"].size(), 6u);
    EXPECT_FALSE(json["verdict"]["sentence"].get<std::string>().empty());
    EXPECT_EQ(json["pauses"][0]["culprit"], "s0[2] -> h2");
}

TEST(Json_report, times_are_nanoseconds_to_the_picosecond) {
    MadeRun run = testing::star(2);
    run.flow(0, 1);
    run.result.flows[0].completion = {1'234'567};
    run.setup.flows[0].start = {5'000};
    const Facts facts(run.setup, run.result);
    const std::string text = json_report(facts, judge(facts));
    EXPECT_NE(text.find("\"fct_ns\": 1234.567,"), std::string::npos) << text;
    EXPECT_NE(text.find("\"start_ns\": 5,"), std::string::npos);
}

TEST(Json_report, a_finding_has_its_fields_and_ratios_are_numbers) {
    MadeRun run = testing::leaf_spine(2, 1, 4);
    for (uint32_t i = 0; i < 4; ++i) run.flow(i, 4 + i, 4000);
    run.link("s0", "s2").busy = run.result.flows[0].completion * 97 / 100;
    const Facts facts(run.setup, run.result);
    const Json json = Json::parse(json_report(facts, judge(facts)));
    const Json& finding = json["verdict"]["findings"][0];
    EXPECT_EQ(finding["kind"], "full_link");
    EXPECT_EQ(finding["severity"], "warning");
    EXPECT_EQ(finding["fields"]["busy_ratio"], 0.97);
    EXPECT_EQ(finding["culprit"], "s0[4] -> s2");
}

TEST(Text_report, says_what_a_person_looks_for) {
    const MadeRun run = small_run();
    const Facts facts(run.setup, run.result);
    const std::string text = text_report(facts, judge(facts));
    for (const char* part :
         {"Scenario  small\n", "Fabric    by hand\n", "3 hosts, 1 switch, 3 cables",
          "Seed      7\n", "Flows: 3, 3 MiB; 2 ended well", "median", "flow 1 (h1 -> h2)",
          "unfinished", "s0[2] -> h2", "s0[2] -> h2 held up h0 for 12 us (priority 0)",
          "h1 - s0[1]: priority 3", "hash 0000000000abcdef", "Verdict: "})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Text_report, a_run_without_flows_is_a_report_too) {
    const MadeRun run = testing::star(2);
    const Facts facts(run.setup, run.result);
    EXPECT_NE(text_report(facts, judge(facts)).find("Verdict: there was nothing to do\n"),
              std::string::npos);
}

TEST(Csv_report, has_a_row_a_flow_and_a_row_a_link) {
    MadeRun run = testing::star(2);
    run.setup.graph.nodes[0].name = "a,\"b\"";
    run.flow(0, 1, 2000, 100);
    const Facts facts(run.setup, run.result);
    const std::string flows = flows_csv(facts);
    EXPECT_NE(flows.find("\n0,0,,\"a,\"\"b\"\"\",h1,100,0,8022.720,4011.360,2.000,"),
              std::string::npos)
        << flows;
    const std::string links = links_csv(facts);
    EXPECT_EQ(std::count(links.begin(), links.end(), '\n'), 5);
}

TEST(Writers, a_flow_that_ran_out_of_retries_has_its_status_by_name) {
    MadeRun run = small_run();
    run.result.flows[2].status = transport::Status::retry_exceeded;
    const Facts facts(run.setup, run.result);
    const Verdict verdict = judge(facts);
    EXPECT_EQ(Json::parse(json_report(facts, verdict))["flows"][2]["status"], "retry_exceeded");
    for (const std::string& text : {text_report(facts, verdict), flows_csv(facts)}) {
        EXPECT_NE(text.find("retry_exceeded"), std::string::npos) << text;
        EXPECT_EQ(text.find("unfinished"), std::string::npos) << text;
    }
    EXPECT_NE(verdict.sentence.find("(0 had not ended)"), std::string::npos) << verdict.sentence;
}

TEST(Fct_report, is_a_line_of_hpcc_s_file_in_the_order_of_completion) {
    MadeRun run = testing::star(3);
    run.setup.fabric.link.rate = base::Rate::bits_per_second(100'000'000'000);
    run.setup.fabric.link.gap_bytes = 0;
    run.setup.fabric.framing.fixed_header_bytes = 48;
    run.setup.host.mtu = 1000;
    for (int i = 0; i < 3; ++i) {
        run.flow(0, 2, 1000, 2'000'000);
        run.setup.flows.back().start = Instant{} + 2_s;
    }
    run.result.flows[0].completion = 300'123_ns;
    run.result.flows[1].completion = 200'000_ns;
    run.result.flows[2].finished = false;
    EXPECT_EQ(fct_report(Facts(run.setup, run.result)),
              "0b000001 0b000201 10001 100 2000000 2000000000 200000 171840\n"
              "0b000001 0b000201 10000 100 2000000 2000000000 300123 171840\n");
}

sim::CapturedPacket captured(base::Duration at, wire::Packet packet) {
    return {Instant{} + at, 0, true, packet};
}

// The packets of a pcapng file, and the interface of each.
struct Block {
    uint32_t interface = 0;
    wire::Bytes bytes;
};

std::vector<Block> packets_of(wire::Bytes file) {
    const auto word = [&](size_t at) {
        uint32_t value = 0;
        std::memcpy(&value, file.data() + at, sizeof value);
        return value;
    };
    constexpr uint32_t kPacket = 6;
    constexpr size_t kHead = 28;
    std::vector<Block> blocks;
    for (size_t at = 0; at < file.size(); at += word(at + 4)) {
        EXPECT_EQ(word(at + word(at + 4) - 4), word(at + 4));  // the length stands at the end, too
        if (word(at) == kPacket)
            blocks.push_back({word(at + 8), file.subspan(at + kHead, word(at + 20))});
    }
    return blocks;
}

TEST(Capture_report, writes_packets_in_the_order_of_time_with_addresses_of_their_hosts) {
    MadeRun run = testing::star(3);
    run.setup.taps = {{2}, {0}};
    wire::Packet data;
    data.source = 0;
    data.destination = 2;
    data.opcode = static_cast<uint8_t>(wire::Operation::send_only);
    data.payload_length = 100;
    wire::Packet pause;
    pause.kind = wire::PacketKind::pfc;
    pause.extended.pause.enable_vector = 8;
    run.result.captured = {captured(2_us, data), captured(1_us, pause)};
    const std::vector<std::byte> file = capture_report(run.setup, run.result);

    const std::vector<Block> blocks = packets_of(file);
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[0].interface, 1u);  // the second cable that is tapped
    const auto first = wire::parse_frame(wire::LinkLayer::ethernet, blocks[0].bytes);
    EXPECT_EQ(first.kind, wire::FrameKind::pfc);
    EXPECT_EQ(first.ethernet.source, (wire::MacAddress{{2, 0, 0, 0, 0, 0}}));
    const auto second = wire::parse_frame(wire::LinkLayer::ethernet, blocks[1].bytes);
    EXPECT_EQ(second.kind, wire::FrameKind::transport);
    EXPECT_EQ(second.ipv4.source, (wire::Ipv4Address{{10, 0, 0, 1}}));
    EXPECT_EQ(second.ipv4.destination, (wire::Ipv4Address{{10, 0, 0, 3}}));
    EXPECT_EQ(second.payload.size(), 100u);
}

TEST(Timeline, is_json_with_a_track_a_flow_and_what_happened_on_links) {
    MadeRun run = small_run();
    const sim::LinkResult& link = run.link("s0", "h2");
    using Kind = sim::TraceSample::Kind;
    const auto add = [&](base::Duration at, Kind kind, uint64_t value) {
        run.result.trace.push_back({Instant{} + at, kind, 3, link.port, link.node, value});
    };
    add(1_us, Kind::queue_bytes, 4096);
    add(2_us, Kind::pause_begin, 0);
    add(3_us, Kind::mark, 0);
    add(4_us, Kind::pause_end, 0);
    add(5_us, Kind::drop, 0);
    add(6_us, Kind::pause_begin, 0);
    const Json events = Json::parse(timeline(Facts(run.setup, run.result)))["traceEvents"];
    const auto count = [&](const char* phase, const std::string& name) {
        return std::count_if(events.begin(), events.end(), [&](const Json& event) {
            return event["ph"] == phase && event["name"] == name;
        });
    };
    EXPECT_EQ(count("M", "thread_name"), 4);  // three flows and one lane of a link
    EXPECT_EQ(count("X", "1 MiB, success"), 2);
    EXPECT_EQ(count("X", "1 MiB, unfinished"), 1);
    EXPECT_EQ(count("X", "paused"), 2);  // the last one ends with the run
    EXPECT_EQ(count("C", "s0[2] -> h2 priority 3 queue"), 1);
    EXPECT_EQ(count("i", "mark"), 1);
    EXPECT_EQ(count("i", "drop"), 1);
}

}  // namespace
}  // namespace tulle::report
