#include "control/subnet/agent/performance.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "control/subnet/agent/congestion.h"
#include "wire/mad/perf.h"

namespace tulle::control {
namespace {

MadBytes counters_mad(uint8_t method, uint8_t port, uint16_t select = 0, uint8_t select2 = 0) {
    wire::PerfMad mad;
    mad.header.base_version = mad.header.class_version = 1;
    mad.header.management_class.value = wire::kClassPerformance;
    mad.header.method.value = method;
    mad.header.attribute_id.value = wire::kPerfPortCounters;
    wire::PortCounters counters;
    counters.port_select = port;
    counters.counter_select.value = select;
    counters.counter_select2.value = select2;
    wire::put_attribute(counters, mad.data);
    MadBytes bytes;
    wire::write(mad, bytes.bytes());
    return bytes;
}

wire::PortCounters read(PerformanceAgent& agent, uint8_t port) {
    MadBytes mad = counters_mad(wire::kMethodGet, port);
    EXPECT_TRUE(agent.answer(mad));
    EXPECT_EQ(mad.method(), wire::kMethodGetResp);
    EXPECT_EQ(mad.status(), wire::kStatusOk);
    return *wire::parse<wire::PortCounters>(mad.bytes().subspan(wire::kPerfDataOffset));
}

wire::PortCountersExtended read_extended(PerformanceAgent& agent, uint8_t port) {
    wire::PerfMad mad;
    mad.header.method.value = wire::kMethodGet;
    mad.header.attribute_id.value = wire::kPerfPortCountersExtended;
    mad.data[1] = port;
    MadBytes bytes;
    wire::write(mad, bytes.bytes());
    EXPECT_TRUE(agent.answer(bytes));
    return *wire::parse<wire::PortCountersExtended>(bytes.bytes().subspan(wire::kPerfDataOffset));
}

TEST(performance, shows_what_a_port_counted) {
    PerformanceAgent agent(true, 4);
    agent.count(2, PortCounter::xmit_packets, 7);
    agent.count(2, PortCounter::xmit_wait, 9);
    agent.count(3, PortCounter::link_downed);
    EXPECT_EQ(read(agent, 2).xmit_packets, 7u);
    EXPECT_EQ(read(agent, 2).xmit_wait, 9u);
    EXPECT_EQ(read(agent, 2).link_downed, 0);
    EXPECT_EQ(read(agent, 3).link_downed, 1);
    EXPECT_EQ(read(agent, wire::kAllPorts).xmit_packets, 7u);
    EXPECT_EQ(read_extended(agent, 2).xmit_packets, 7u);
}

TEST(performance, small_counters_stick_and_wide_ones_count_on) {
    PerformanceAgent agent(false, 1);
    agent.count(1, PortCounter::xmit_data, uint64_t{1} << 40);
    agent.count(1, PortCounter::local_link_integrity_errors, 100);
    EXPECT_EQ(read(agent, 1).xmit_data, 0xffff'ffffu);
    EXPECT_EQ(read(agent, 1).local_link_integrity_errors, 15);
    EXPECT_EQ(read_extended(agent, 1).xmit_data, uint64_t{1} << 40);
}

TEST(performance, sets_only_what_is_selected) {
    PerformanceAgent agent(false, 1);
    agent.count(1, PortCounter::xmit_data, 100);
    agent.count(1, PortCounter::rcv_data, 100);
    agent.count(1, PortCounter::xmit_wait, 100);
    MadBytes clear = counters_mad(wire::kMethodSet, 1, 1u << 12);
    ASSERT_TRUE(agent.answer(clear));
    EXPECT_EQ(read(agent, 1).xmit_data, 0u);
    EXPECT_EQ(read(agent, 1).rcv_data, 100u);
    EXPECT_EQ(read(agent, 1).xmit_wait, 100u);
    clear = counters_mad(wire::kMethodSet, 1, 0, 1);
    ASSERT_TRUE(agent.answer(clear));
    EXPECT_EQ(read(agent, 1).xmit_wait, 0u);
    EXPECT_EQ(read_extended(agent, 1).xmit_data, 100u);  // has a Set of its own
    agent.count(1, PortCounter::xmit_data, 5);
    EXPECT_EQ(read(agent, 1).xmit_data, 5u);
}

TEST(performance, refuses_a_port_that_there_is_not) {
    PerformanceAgent agent(false, 2);
    for (const uint8_t port : {0, 3, 200}) {
        MadBytes mad = counters_mad(wire::kMethodGet, port);
        ASSERT_TRUE(agent.answer(mad));
        EXPECT_EQ(mad.status(), wire::kStatusInvalidValue) << int{port};
    }
    MadBytes answer = counters_mad(wire::kMethodGetResp, 1);
    EXPECT_FALSE(agent.answer(answer));
}

MadBytes congestion_mad(uint8_t method, uint16_t attribute, uint64_t key, uint32_t modifier = 0) {
    wire::CongestionMad mad;
    mad.header.management_class.value = wire::kClassCongestionControl;
    mad.header.method.value = method;
    mad.header.attribute_id.value = attribute;
    mad.header.attribute_modifier.value = modifier;
    mad.congestion.cc_key.value = key;
    MadBytes bytes;
    wire::write(mad, bytes.bytes());
    return bytes;
}

wire::MutableBytes data_of(MadBytes& mad) {
    return mad.bytes().subspan(wire::kCongestionDataOffset);
}

TEST(congestion, keeps_settings_and_shows_them) {
    CongestionAgent agent(true, 36);
    MadBytes set = congestion_mad(wire::kMethodSet, wire::kCongestionSwitchSetting, 0);
    wire::SwitchCongestionSetting setting;
    setting.threshold = 15;
    setting.marking_rate = 77;
    wire::write(setting, data_of(set));
    ASSERT_TRUE(agent.answer({}, set));
    EXPECT_EQ(agent.switch_setting().marking_rate, 77);
    MadBytes get = congestion_mad(wire::kMethodGet, wire::kCongestionSwitchSetting, 0);
    ASSERT_TRUE(agent.answer({}, get));
    EXPECT_EQ(wire::parse<wire::SwitchCongestionSetting>(data_of(get))->threshold, 15);
    MadBytes wrong = congestion_mad(wire::kMethodGet, wire::kCongestionCaSetting, 0);
    ASSERT_TRUE(agent.answer({}, wrong));
    EXPECT_EQ(wrong.status(), wire::kStatusMethodAttributeUnsupported);
    MadBytes far = congestion_mad(wire::kMethodGet, wire::kCongestionSwitchPortSetting, 0, 2);
    ASSERT_TRUE(agent.answer({}, far));
    EXPECT_EQ(far.status(), wire::kStatusInvalidValue);
}

TEST(congestion, gives_a_wrong_key_nothing_until_the_lease_has_run_out) {
    CongestionAgent agent(false, 1);
    MadBytes protect = congestion_mad(wire::kMethodSet, wire::kCongestionKeyInfo, 0);
    wire::CongestionKeyInfo info;
    info.cc_key.value = 5;
    info.protect = true;
    info.lease_period = 2;
    wire::write(info, data_of(protect));
    ASSERT_TRUE(agent.answer({}, protect));
    const base::Instant now{1'000};
    MadBytes get = congestion_mad(wire::kMethodGet, wire::kCongestionCaSetting, 6);
    EXPECT_FALSE(agent.answer(now, get));
    EXPECT_EQ(agent.bad_keys(), 1u);
    EXPECT_FALSE(agent.answer(now, get));
    EXPECT_TRUE(agent.answer(now + base::Duration{2'000'000'000'000}, get));
}

TEST(agents_of_other_classes, survive_any_bytes) {
    base::RandomStream random({.seed = 6, .kind = 0, .index = 0});
    PerformanceAgent performance(true, 4);
    CongestionAgent congestion(true, 4);
    uint64_t answered = 0;
    for (int i = 0; i < 20'000; ++i) {
        MadBytes mad;
        for (std::byte& byte : mad.bytes()) byte = static_cast<std::byte>(random.next());
        mad.bytes()[3] = static_cast<std::byte>(1 + random.below(2));
        mad.bytes()[16] = std::byte{0};
        mad.bytes()[17] = static_cast<std::byte>(random.below(0x20));
        MadBytes copy = mad;
        answered += performance.answer(mad);
        answered += congestion.answer({}, copy);
    }
    EXPECT_GT(answered, 20'000u);
}

}  // namespace
}  // namespace tulle::control
