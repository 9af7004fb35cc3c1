// What files say about partitions and settings, and the sentences about what is wrong with them.
#include <gtest/gtest.h>

#include "control/subnet/policy/options.h"
#include "control/subnet/policy/partitions.h"

namespace tulle::control {
namespace {

PartitionPolicy policy_of(std::string_view text) {
    auto policy = parse_partitions(text, "p.conf");
    EXPECT_TRUE(policy.ok()) << policy.error().message;
    return std::move(*policy);
}

std::string partition_error(std::string_view text) {
    const auto policy = parse_partitions(text, "p.conf");
    EXPECT_FALSE(policy.ok()) << text;
    return policy.ok() ? "" : policy.error().message;
}

using Keys = std::vector<uint16_t>;

TEST(partitions, are_read_as_opensm_reads_them) {
    const PartitionPolicy policy = policy_of(R"(
# who is who
Default=0x7fff, ipoib : ALL=limited, SELF=full;   # the usual one
red = 0x10 , sl=3, defmember=full :
    h0, h1,     # names are ours
    0x50=limited ;
blue=0x8020: ALL_SWITCHES=full, h2=both;
)");
    ASSERT_EQ(policy.partitions.size(), 3u);
    EXPECT_TRUE(policy.partitions[0].has_ipoib);
    EXPECT_EQ(policy.partitions[1].service_level, 3);
    EXPECT_EQ(policy.keys_of({.guid = 1, .name = "h0"}), (Keys{0x7fff, 0x8010}));
    EXPECT_EQ(policy.keys_of({.guid = 0x50, .name = "x"}), (Keys{0x7fff, 0x0010}));
    EXPECT_EQ(policy.keys_of({.guid = 2, .name = "h2"}), (Keys{0x7fff, 0x8020, 0x0020}));
    EXPECT_EQ(policy.keys_of({.guid = 3, .name = "s", .is_switch = true}), (Keys{0x7fff, 0x8020}));
    EXPECT_EQ(policy.keys_of({.guid = 4, .name = "m", .is_manager = true}), Keys{0xffff});
}

TEST(partitions, have_a_default_one_though_no_rule_makes_it) {
    const PartitionPolicy policy = policy_of("red=0x10, indx0: h0=full;");
    EXPECT_EQ(policy.keys_of({.guid = 1, .name = "h0"}), (Keys{0x8010, 0x7fff}));
    EXPECT_EQ(policy.keys_of({.guid = 2, .name = "h1"}), Keys{0x7fff});
    EXPECT_EQ(policy_of("").partitions.size(), 1u);
}

TEST(partitions, of_one_key_are_one) {
    const PartitionPolicy policy = policy_of("a=0x10: h0=full; b=0x10: h1;");
    ASSERT_NE(policy.partition_of(0x10), nullptr);
    EXPECT_EQ(policy.partition_of(0x8010)->name, "a");
    EXPECT_EQ(policy.partition_of(0x10)->members.size(), 2u);
}

TEST(partitions, join_two_ports_where_one_of_them_is_a_full_member) {
    EXPECT_EQ(shared_key({0x8010}, {0x8010}), 0x8010);
    EXPECT_EQ(shared_key({0x8010}, {0x0010}), 0x8010);
    EXPECT_EQ(shared_key({0x0010}, {0x8010}), 0x0010);
    EXPECT_EQ(shared_key({0x0010}, {0x0010}), 0);
    EXPECT_EQ(shared_key({0x8010}, {0x8011}), 0);
}

TEST(partitions, that_are_wrong_get_a_sentence_with_a_line) {
    EXPECT_EQ(partition_error("a=0x10: h0=full"),
              "p.conf:1: a partition ends with a ';', and this one does not end");
    EXPECT_EQ(partition_error("\n\na=0x10 h0=full;"),
              "p.conf:3: a partition names its members behind a ':'; write 'name=0x10: h0, h1;'");
    EXPECT_EQ(partition_error("a=0x10:\n h0,\n h1=half;"),
              "p.conf:3: 'half' is no membership of h1; write full, limited or both");
    EXPECT_EQ(partition_error("a=green: h0;"),
              "p.conf:1: 'green' is no key of a partition; write a number from 0x0001 to 0x7fff");
    EXPECT_EQ(partition_error("a=0x10, sl=16: h0;"),
              "p.conf:1: '16' is no sl; write a number from 0 to 15");
    EXPECT_EQ(partition_error("a=0x10,\nfast: h0;"),
              "p.conf:2: 'fast' is not known; there are ipoib, indx0, defmember, sl, mtu, rate and "
              "Q_Key");
}

ManagerOptions options_of(std::string_view text) {
    auto options = parse_manager_options(text, "o.conf");
    EXPECT_TRUE(options.ok()) << options.error().message;
    return std::move(*options);
}

std::string option_error(std::string_view text) {
    const auto options = parse_manager_options(text, "o.conf");
    EXPECT_FALSE(options.ok()) << text;
    return options.ok() ? "" : options.error().message;
}

TEST(manager_options, are_read_as_opensm_reads_them) {
    const ManagerOptions options = options_of(R"(
lmc 2
m_key 0x1234        # a key
m_key_lease_period 60
m_key_protection_level 2
max_wire_smps 16
routing_engine ftree
log_file /var/log/opensm.log
qos TRUE
qos_max_vls 4
qos_high_limit 2
qos_vlarb_high 1:192
qos_vlarb_low 0:1,2:64,3:64
qos_sl2vl 0,1,2,3,0,0,0,0,0,0,0,0,0,0,0,15
qos_ca_high_limit 7
congestion_control TRUE
cc_key 5
cc_sw_cong_setting_threshold 0xf
cc_ca_cong_setting_ccti_timer 0 150
cc_cct 0 1:2 3
)");
    EXPECT_EQ(options.lmc, 2);
    EXPECT_EQ(options.m_key, 0x1234u);
    EXPECT_EQ(options.m_key_lease_period, 60);
    EXPECT_EQ(options.m_key_protection_level, 2);
    EXPECT_EQ(options.window, 16u);
    EXPECT_EQ(options.engine, "ftree");
    EXPECT_EQ(options.ignored, std::vector<std::string>{"log_file"});
    ASSERT_TRUE(options.qos);
    EXPECT_EQ(options.qos->switches.lanes, 4);
    EXPECT_EQ(options.qos->switches.high_limit, 2);
    EXPECT_EQ(options.qos->adapters.high_limit, 7);
    EXPECT_EQ(options.qos->switches.high.size(), 1u);
    EXPECT_EQ(options.qos->switches.low[1].weight, 64);
    EXPECT_EQ(options.qos->adapters.lane_of_level[15], 15);
    ASSERT_TRUE(options.congestion);
    EXPECT_EQ(options.congestion->key, 5u);
    EXPECT_EQ(options.congestion->at_switches.threshold, 15);
    EXPECT_EQ(options.congestion->at_adapters.entries[0].ccti_timer, 150);
    ASSERT_EQ(options.congestion->table.size(), 3u);
    EXPECT_EQ(options.congestion->table[1].shift, 1);
    EXPECT_EQ(options.congestion->table[1].multiplier, 2);
}

TEST(manager_options, that_are_off_say_nothing) {
    const ManagerOptions options = options_of("qos FALSE\nqos_max_vls 2\ncc_key 3\n");
    EXPECT_FALSE(options.qos);
    EXPECT_FALSE(options.congestion);
}

TEST(manager_options, that_are_wrong_get_a_sentence_with_a_line) {
    EXPECT_EQ(option_error("\nlmc 8"), "o.conf:2: lmc is a number from 0 to 7, not '8'");
    EXPECT_EQ(option_error("qos maybe"), "o.conf:1: qos is TRUE or FALSE, not 'maybe'");
    EXPECT_EQ(option_error("qos_sl2vl 0,1"),
              "o.conf:1: qos_sl2vl names a lane for each of the 16 service levels");
    EXPECT_EQ(option_error("qos_vlarb_low 0:1,x"),
              "o.conf:1: qos_vlarb_low is a list of lanes and weights such as 0:64,1:128; 'x' is "
              "neither");
    EXPECT_EQ(option_error("cc_ca_cong_setting_ccti_timer 16 1"),
              "o.conf:1: cc_ca_cong_setting_ccti_timer is a service level and a number, not '16 "
              "1'");
}

}  // namespace
}  // namespace tulle::control
