#include "transport/congestion/plugin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "transport/congestion/congestion.h"
#include "wire/telemetry.h"

namespace tulle::transport {
namespace {

using base::Instant;

// A plug-in that writes down what it hears into its flow, and answers as its settings say.
struct Heard {
    uint32_t events;
    uint32_t timers;
    int64_t last_timer_ps;
    tulle_cc_event last;
};

struct Answers {
    double rate_bps = 100e9;
    double window_packets = std::numeric_limits<double>::infinity();
    int64_t next_after_ps = 0;
    int64_t timer_every_ps = 0;
    uint32_t probe = 0;
    uint32_t path = 0;
};
Answers next_answers;
Heard last_heard;
std::array<tulle_cc_hop, 2> last_hops;

const char* configure(void* settings, const tulle_cc_host* host) {
    *static_cast<Answers*>(settings) = next_answers;
    return std::string_view(host->parameters) == "bad" ? "it is bad" : nullptr;
}

void start(const void*, void*, uint64_t, tulle_cc_decision*) {}

void on_event(const void* settings, void* flow, const tulle_cc_event* event,
              tulle_cc_decision* decision) {
    const auto& answers = *static_cast<const Answers*>(settings);
    auto& own = *static_cast<Heard*>(flow);
    ++own.events;
    own.last = *event;
    if (event->kind == TULLE_CC_TIMER) {
        ++own.timers;
        own.last_timer_ps = event->now_ps;
    }
    decision->rate_bps = answers.rate_bps;
    decision->window_packets = answers.window_packets;
    decision->path = answers.path;
    std::copy_n(event->hops, event->hop_count, last_hops.begin());
    if (answers.next_after_ps != 0) decision->next_at_ps = event->now_ps + answers.next_after_ps;
    if (answers.timer_every_ps != 0 && decision->timer_at_ps == 0)
        decision->timer_at_ps = event->now_ps + answers.timer_every_ps;
    if (event->kind == TULLE_CC_ACK) decision->probe = answers.probe;
    last_heard = own;
}

PluginCode plugin_code() {
    PluginCode made;
    made.functions = {TULLE_CONGESTION_VERSION,
                      0,
                      "test",
                      sizeof(Answers),
                      sizeof(Heard),
                      configure,
                      start,
                      on_event};
    made.file = "./test.so";
    return made;
}

// A queue pair's control, and the flow that the queue pair would keep.
struct PluggedFlow {
    PluginSettings settings;
    CongestionControl control;
    std::unique_ptr<PluginFlow> flow;

    explicit PluggedFlow(const Answers& answers = {}) {
        next_answers = answers;
        settings.loaded = *LoadedPlugin::configure(plugin_code(), "", 100'000'000'000);
        control = CongestionControl(Plugin(settings));
        flow = control.plugin.begin(1);
    }
    std::string fault() const { return flow->fault() == nullptr ? "" : flow->fault()->what; }
};

TEST(Plugin, a_rate_spaces_packets) {
    PluggedFlow one({.rate_bps = 8e9});
    EXPECT_EQ(on_sent(one.control, Instant{5'000}, 1'000).ps, 5'000 + 1'000'000);
    EXPECT_EQ(last_heard.last.kind, uint32_t{TULLE_CC_SENT});
    EXPECT_EQ(last_heard.last.bytes, 1'000u);
    EXPECT_EQ(would_send(one.control, Instant{0}, 1'000).ps, 1'000'000);
    EXPECT_EQ(last_heard.events, 1u) << "who only looks is not told";
}

TEST(Plugin, it_may_name_the_instant_itself) {
    PluggedFlow one({.next_after_ps = 77});
    EXPECT_EQ(on_sent(one.control, Instant{5'000}, 1'000).ps, 5'077);
}

TEST(Plugin, a_window_is_kept_after_each_signal_and_each_packet) {
    PluggedFlow one({.window_packets = 2.9});
    EXPECT_FALSE(one.control.has_window());
    on_sent(one.control, Instant{}, 1'000);
    EXPECT_EQ(one.control.window_packets, 2u);
}

TEST(Plugin, a_signal_arrives_whole) {
    PluggedFlow one;
    on_signal(one.control, Instant{9},
              {.kind = Signal::Kind::ack,
               .marked = true,
               .acknowledged_packets = 3,
               .trimmed_packets = 1,
               .packets_in_flight = 7,
               .round_trip = base::Duration{123}});
    EXPECT_EQ(last_heard.last.kind, uint32_t{TULLE_CC_ACK});
    EXPECT_EQ(last_heard.last.acknowledged_packets, 3u);
    EXPECT_EQ(last_heard.last.trimmed_packets, 1u);
    EXPECT_EQ(last_heard.last.packets_in_flight, 7u);
    EXPECT_EQ(last_heard.last.marked, 1u);
    EXPECT_EQ(last_heard.last.now_ps, 9);
    EXPECT_EQ(last_heard.last.round_trip_ps, 123);
}

TEST(Plugin, ticks_that_were_missed_come_first_each_at_its_own_time) {
    PluggedFlow one({.timer_every_ps = 1'000});
    on_signal(one.control, Instant{500}, {.kind = Signal::Kind::cnp});
    on_sent(one.control, Instant{4'600}, 1'000);
    EXPECT_EQ(last_heard.timers, 4u);
    EXPECT_EQ(last_heard.last_timer_ps, 4'500);
    EXPECT_EQ(last_heard.last.kind, uint32_t{TULLE_CC_SENT});
}

TEST(Plugin, a_probe_makes_the_next_packet_ask_and_no_other) {
    PluggedFlow one({.probe = 1});
    on_signal(one.control, Instant{500}, {.kind = Signal::Kind::ack});
    EXPECT_TRUE(one.control.probes);
    on_sent(one.control, Instant{600}, 1'000);
    EXPECT_FALSE(one.control.probes);
}

TEST(Plugin, flows_share_settings_and_no_state) {
    PluggedFlow one;
    auto second = one.control;
    const auto other = second.plugin.begin(2);
    on_sent(one.control, Instant{1}, 1'000);
    on_sent(one.control, Instant{2}, 1'000);
    on_sent(second, Instant{3}, 1'000);
    EXPECT_EQ(last_heard.events, 1u);
}

TEST(Plugin, what_makes_no_sense_is_a_fault_and_the_flow_asks_no_more) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const std::pair<Answers, std::string> wrongs[] = {
        {{.rate_bps = kNan}, "asked for a rate of not a number bit/s"},
        {{.rate_bps = -1e9}, "asked for a rate of -1e+09 bit/s"},
        {{.rate_bps = 0}, "asked for a rate of 0 bit/s"},
        {{.rate_bps = 1'000}, "let the next packet wait for 8 s, which is never"},
        {{.window_packets = kNan}, "asked for a window of not a number packets"},
        {{.window_packets = 0}, "asked for a window of 0 packets"},
        {{.next_after_ps = 200'000'000'000}, "let the next packet wait for 0.2 s"},
        {{.timer_every_ps = -5}, "set its timer to"},
        {{.timer_every_ps = 999}, "set its timer to 0.999 ns from then on; 1 ns is the least"},
    };
    for (const auto& [answers, sentence] : wrongs) {
        PluggedFlow one(answers);
        EXPECT_EQ(on_sent(one.control, Instant{9'000'000}, 1'000).ps, 9'000'000) << sentence;
        EXPECT_NE(one.fault().find(sentence), std::string::npos) << one.fault();
        EXPECT_NE(one.fault().find("at 9 us, told of a packet that it sent, it "),
                  std::string::npos)
            << one.fault();
        EXPECT_EQ(one.settings.loaded->faults(), 1u);
        on_sent(one.control, Instant{9'500'000}, 1'000);
        EXPECT_EQ(last_heard.events, 1u) << "it is not asked again";
        EXPECT_FALSE(one.control.has_window());
    }
}

TEST(Plugin, a_timer_that_never_ends_is_a_fault) {
    PluggedFlow one({.timer_every_ps = 1'000});
    on_sent(one.control, Instant{1}, 1'000);
    on_sent(one.control, Instant{1'000'000'000'000}, 1'000);
    EXPECT_NE(one.fault().find("let its timer tick more than 1e+07 times"), std::string::npos)
        << one.fault();
}

TEST(Plugin, a_table_that_cannot_be_called_is_refused_with_a_sentence) {
    const auto refusal = [](auto change, std::string parameters = "") {
        PluginCode changed = plugin_code();
        change(changed.functions);
        const auto made = LoadedPlugin::configure(changed, std::move(parameters), 1);
        return made ? "" : made.error().message;
    };
    EXPECT_EQ(refusal([](auto& f) { f.version = 9; }),
              "./test.so is made for version 9 of tulle/congestion.h, and this is version 2; "
              "compile it again");
    EXPECT_EQ(refusal([](auto& f) { f.on_event = nullptr; }),
              "./test.so has no function on_event; set tulle_congestion.on_event");
    EXPECT_EQ(refusal([](auto& f) { f.name = nullptr; }),
              "./test.so has no name; set tulle_congestion.name");
    EXPECT_EQ(refusal([](auto& f) { f.flow_bytes = 1 << 30; }),
              "./test.so asks for more than 1 MiB of memory for its settings or for a flow");
    EXPECT_EQ(refusal([](auto&) {}, "bad"), "./test.so refuses 'bad': it is bad");
    EXPECT_EQ(refusal([](auto&) {}), "");
}

TEST(Plugin, telemetry_is_handed_over_and_a_path_taken_from_version_two_on) {
    for (const uint32_t version : {1u, 2u}) {
        PluginCode code = plugin_code();
        code.functions.version = version;
        code.functions.wants = TULLE_CC_TELEMETRY;
        next_answers = {.path = 3};
        const auto made = LoadedPlugin::configure(code, "", 100'000'000'000);
        ASSERT_TRUE(made.ok());
        EXPECT_EQ((*made)->wants_telemetry(), version == 2);
        uint16_t entropy = 100;
        uint32_t middles_left = 5;
        PluginFlow flow(**made, 1, {&entropy, &middles_left});
        EXPECT_EQ(entropy, 100);
        wire::Telemetry told;
        told.add({Instant{11}, 12, 13, 14, base::Rate::bits_per_second(100'000'000'000)});
        told.add({Instant{21}, 22, 23, 24, base::Rate::bits_per_second(100'000'000'000)});
        flow.on_signal(Instant{99}, {.kind = Signal::Kind::ack, .telemetry = &told});
        ASSERT_EQ(last_heard.last.hop_count, 2u);
        EXPECT_EQ(last_hops[1].at_ps, 21);
        EXPECT_EQ(last_hops[1].sent_bytes, 22u);
        EXPECT_EQ(last_hops[1].queue_bytes, 23u);
        EXPECT_EQ(last_hops[1].port, 24u);
        EXPECT_EQ(last_hops[1].rate_bps, 100'000'000'000u);
        EXPECT_EQ(entropy, version == 2 ? 103 : 100);
        EXPECT_EQ(middles_left, version == 2 ? 0u : 5u);
    }
    next_answers = {};
}

TEST(Plugin, a_file_is_known_by_its_name) {
    EXPECT_TRUE(is_plugin_source("./mine"));
    EXPECT_TRUE(is_plugin_source("mine.so"));
    EXPECT_TRUE(is_plugin_source("mine.so:a=1"));
    EXPECT_FALSE(is_plugin_source("dcqcn"));
}

}  // namespace
}  // namespace tulle::transport
