#include "wire/mad/perf.h"

#include <gtest/gtest.h>

#include "wire/mad/congestion.h"
#include "wire/mad/testing.h"

namespace tulle::wire {
namespace {

using testing::from_hex;

TEST(Perf, port_counters_are_where_the_specification_puts_them) {
    const auto c = parse<PortCounters>(from_hex<44>(R"(00 03 f0f1  0001 02 03  0004 0005
        0006 0007  08 09 01 ab  000c 000d  00000010 00000011 00000012 00000013 00000014)"));
    EXPECT_EQ(c->port_select, 3);
    EXPECT_EQ(c->counter_select.value, 0xf0f1);
    EXPECT_EQ(c->symbol_errors, 1);
    EXPECT_EQ(c->link_error_recoveries, 2);
    EXPECT_EQ(c->link_downed, 3);
    EXPECT_EQ(c->rcv_errors, 4);
    EXPECT_EQ(c->rcv_remote_physical_errors, 5);
    EXPECT_EQ(c->rcv_switch_relay_errors, 6);
    EXPECT_EQ(c->xmit_discards, 7);
    EXPECT_EQ(c->xmit_constraint_errors, 8);
    EXPECT_EQ(c->rcv_constraint_errors, 9);
    EXPECT_EQ(c->counter_select2.value, 1);
    EXPECT_EQ(c->local_link_integrity_errors, 0xa);
    EXPECT_EQ(c->excessive_buffer_overruns, 0xb);
    EXPECT_EQ(c->qp1_dropped, 0xc);
    EXPECT_EQ(c->vl15_dropped, 0xd);
    EXPECT_EQ(c->xmit_data, 0x10u);
    EXPECT_EQ(c->rcv_data, 0x11u);
    EXPECT_EQ(c->xmit_packets, 0x12u);
    EXPECT_EQ(c->rcv_packets, 0x13u);
    EXPECT_EQ(c->xmit_wait, 0x14u);
}

TEST(Perf, extended_counters_are_64_bits_wide) {
    auto bytes = from_hex<184>("00 ff 00ff 00000001 0000000100000002 0000000300000004");
    bytes[175] = std::byte{0x77};
    bytes[183] = std::byte{0x78};
    const auto counters = parse<PortCountersExtended>(bytes);
    EXPECT_EQ(counters->port_select, kAllPorts);
    EXPECT_EQ(counters->counter_select2.value, 1u);
    EXPECT_EQ(counters->xmit_data, 0x0000000100000002u);
    EXPECT_EQ(counters->rcv_data, 0x0000000300000004u);
    EXPECT_EQ(counters->xmit_wait, 0x77u);
    EXPECT_EQ(counters->qp1_dropped, 0x78u);
}

TEST(Perf, samples_control_has_three_bits_of_mask_a_counter) {
    const auto control = parse<PortSamplesControl>(from_hex<80>(R"(00 01 02 03  1d000007 7005 04 02
        0000000000000001 0000000000000002 00000005 00000006 0007 0008 0009)"));
    EXPECT_EQ(control->counter_width, 3);
    EXPECT_EQ(control->counter_mask0.value, 3);
    EXPECT_EQ(control->counter_masks1_to_9[0].value, 5);
    EXPECT_EQ(control->counter_masks1_to_9[8].value, 7);
    EXPECT_EQ(control->counter_masks10_to_14[0].value, 7);
    EXPECT_EQ(control->counter_masks10_to_14[4].value, 5);
    EXPECT_EQ(control->sample_mechanisms, 4);
    EXPECT_EQ(control->sample_status, 2);
    EXPECT_EQ(control->option_mask, Key64{1});
    EXPECT_EQ(control->sample_interval, 6u);
    EXPECT_EQ(control->tag.value, 7);
    EXPECT_EQ(control->counter_select[1].value, 9);
}

TEST(Perf, data_is_at_byte_64) {
    auto bytes = from_hex<256>("01 04 01 01");
    bytes[65] = std::byte{9};
    EXPECT_EQ(attribute_in<PortCounters>(parse<PerfMad>(bytes)->data).port_select, 9);
}

TEST(Congestion, settings_are_where_the_annex_puts_them) {
    auto bytes = from_hex<76>("0000001f");
    const auto tail = from_hex<8>("f0 08 f0 00 4003 0102");
    std::copy(tail.begin(), tail.end(), bytes.begin() + 68);
    const auto setting = parse<SwitchCongestionSetting>(bytes);
    EXPECT_EQ(setting->control_map.value, 0x1fu);
    EXPECT_EQ(setting->threshold, 15);
    EXPECT_EQ(setting->packet_size, 8);
    EXPECT_EQ(setting->cs_threshold, 15);
    EXPECT_EQ(setting->cs_return_delay.value, 0x4003);
    EXPECT_EQ(setting->marking_rate, 0x0102);

    const auto adapter = parse<CaCongestionSetting>(from_hex<132>("0001 ffff 0096 01 02 03"));
    EXPECT_EQ(adapter->port_control.value, 1);
    EXPECT_EQ(adapter->entries[0].ccti_timer, 150);
    EXPECT_EQ(adapter->entries[0].ccti_increase, 1);
    EXPECT_EQ(adapter->entries[0].trigger_threshold, 2);
    EXPECT_EQ(adapter->entries[0].ccti_min, 3);

    const auto table = parse<CongestionControlTable>(from_hex<132>("003f 0000 0000 c001"));
    EXPECT_EQ(table->ccti_limit, 63);
    EXPECT_EQ(table->entries[1].shift, 3);
    EXPECT_EQ(table->entries[1].multiplier, 1);
}

}  // namespace
}  // namespace tulle::wire
