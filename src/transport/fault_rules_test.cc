#include "transport/fault_rules.h"

#include <gtest/gtest.h>

namespace tulle::transport {
namespace {

using base::Duration;

constexpr uint8_t kSend = opcode_of(wire::Service::rc, wire::Operation::send_only);
constexpr uint8_t kAck = opcode_of(wire::Service::rc, wire::Operation::acknowledge);
constexpr Duration kMillisecond{1'000'000'000};

wire::Packet packet(uint8_t opcode, uint32_t psn = 0, uint32_t qp = 0x1002) {
    wire::Packet made;
    made.opcode = opcode;
    made.set_psn(wire::Psn{psn});
    made.set_dest_qp(wire::Qpn{qp});
    return made;
}

// Whether one rule acts on a packet that host 0 sends to host 1 a millisecond after the start.
bool acts(const FaultRule& rule, const wire::Packet& on, Duration at = kMillisecond) {
    FaultRules rules({rule}, 1, 0);
    return rules.judge({at, 0, 0, 1, &on}) != nullptr;
}

// Which of so many packets a rule acts on, counted from 1.
std::vector<uint32_t> hits(const FaultRule& rule, uint32_t count, uint64_t seed = 1) {
    FaultRules rules({rule}, seed, 0);
    std::vector<uint32_t> found;
    for (uint32_t i = 1; i <= count; ++i) {
        const wire::Packet sent = packet(kSend, i);
        if (rules.judge({{}, 0, 0, 1, &sent}) != nullptr) found.push_back(i);
    }
    return found;
}

TEST(FaultRules, a_rule_that_looks_for_nothing_acts_on_all) {
    EXPECT_TRUE(acts({}, packet(kSend)));
    EXPECT_TRUE(acts({}, packet(wire::kCnpOpcode)));
}

TEST(FaultRules, hosts_programs_and_queue_pairs_have_to_be_the_ones_named) {
    EXPECT_TRUE(acts({.program = 0, .from = 0, .to = 1, .qp = 0x1002}, packet(kSend)));
    EXPECT_FALSE(acts({.program = 1}, packet(kSend)));
    EXPECT_FALSE(acts({.from = 1}, packet(kSend)));
    EXPECT_FALSE(acts({.to = 0}, packet(kSend)));
    EXPECT_FALSE(acts({.qp = 0x1003}, packet(kSend)));
}

TEST(FaultRules, opcodes_have_full_names_names_without_service_and_groups) {
    const auto has = [](std::string_view name, uint8_t opcode) {
        const auto set = OpcodeSet::named(name);
        return set && set->has(opcode);
    };
    EXPECT_TRUE(has("RC_SEND_ONLY", kSend));
    EXPECT_FALSE(has("RC_SEND_ONLY", opcode_of(wire::Service::uc, wire::Operation::send_only)));
    EXPECT_TRUE(has("SEND_ONLY", opcode_of(wire::Service::uc, wire::Operation::send_only)));
    EXPECT_TRUE(has("CNP", wire::kCnpOpcode));
    EXPECT_TRUE(has("data", kSend));
    EXPECT_TRUE(has("data", opcode_of(wire::Service::rc, wire::Operation::read_response_middle)));
    EXPECT_FALSE(has("data", kAck));
    EXPECT_FALSE(has("data", opcode_of(wire::Service::rc, wire::Operation::read_request)));
    EXPECT_TRUE(has("ack", kAck));
    EXPECT_TRUE(has("response", kAck));
    EXPECT_TRUE(has("request", opcode_of(wire::Service::rc, wire::Operation::read_request)));
    EXPECT_FALSE(has("request", wire::kCnpOpcode));
    EXPECT_TRUE(has("write", opcode_of(wire::Service::xrc, wire::Operation::write_middle)));
    EXPECT_TRUE(has("read", opcode_of(wire::Service::rc, wire::Operation::read_response_last)));
    EXPECT_TRUE(has("atomic", opcode_of(wire::Service::rc, wire::Operation::fetch_add)));
    EXPECT_FALSE(OpcodeSet::named("RC_SEND"));
    EXPECT_FALSE(OpcodeSet::named(""));
    for (const std::string_view name : OpcodeSet::group_names())
        EXPECT_TRUE(OpcodeSet::named(name));
}

TEST(FaultRules, only_requests_of_services_that_answer_can_be_refused) {
    EXPECT_TRUE(may_be_refused(kSend));
    EXPECT_FALSE(may_be_refused(kAck));
    EXPECT_FALSE(may_be_refused(wire::kCnpOpcode));
    EXPECT_FALSE(may_be_refused(opcode_of(wire::Service::ud, wire::Operation::send_only)));
    EXPECT_FALSE(may_be_refused(opcode_of(wire::Service::uc, wire::Operation::write_only)));
}

TEST(FaultRules, psns_are_a_range_that_may_go_around_the_end) {
    const FaultRule rule{.first_psn = 0xff'fffe, .last_psn = 1};
    EXPECT_TRUE(acts(rule, packet(kSend, 0xff'fffe)));
    EXPECT_TRUE(acts(rule, packet(kSend, 0)));
    EXPECT_TRUE(acts(rule, packet(kSend, 1)));
    EXPECT_FALSE(acts(rule, packet(kSend, 2)));
    EXPECT_FALSE(acts(rule, packet(kSend, 0xff'fffd)));
}

TEST(FaultRules, times_begin_at_after_and_end_before_until) {
    const FaultRule rule{.after = kMillisecond, .until = Duration{2 * kMillisecond.ps}};
    EXPECT_FALSE(acts(rule, packet(kSend), Duration{kMillisecond.ps - 1}));
    EXPECT_TRUE(acts(rule, packet(kSend), kMillisecond));
    EXPECT_FALSE(acts(rule, packet(kSend), Duration{2 * kMillisecond.ps}));
}

TEST(FaultRules, counts_are_of_packets_that_match) {
    EXPECT_EQ(hits({.first = 5, .last = 5}, 20), (std::vector<uint32_t>{5}));
    EXPECT_EQ(hits({.first = 3, .last = 9, .every = 3}, 20), (std::vector<uint32_t>{3, 6, 9}));
    EXPECT_EQ(hits({.first_psn = 10, .first = 2, .last = 2}, 20), (std::vector<uint32_t>{11}));
}

TEST(FaultRules, a_share_is_drawn_by_the_seed) {
    const FaultRule rule{.per_million = 200'000};
    const auto once = hits(rule, 1000);
    EXPECT_GT(once.size(), 150u);
    EXPECT_LT(once.size(), 250u);
    EXPECT_EQ(hits(rule, 1000), once);
    EXPECT_NE(hits(rule, 1000, 2), once);
    EXPECT_TRUE(hits({.per_million = 0}, 1000).empty());
}

TEST(FaultRules, the_first_rule_that_acts_is_the_last_that_sees_the_packet) {
    FaultRules rules({{.every = 2, .act = FaultAct::mark}, {.first = 2, .last = 2}}, 1, 0);
    std::vector<FaultAct> acts;
    for (uint32_t i = 0; i < 6; ++i) {
        const wire::Packet sent = packet(kSend, i);
        if (const FaultRule* rule = rules.judge({{}, 0, 0, 1, &sent})) acts.push_back(rule->act);
    }
    // Packets 1, 3 and 5 are marked; of the others, 2, 4 and 6, the second is dropped.
    EXPECT_EQ(acts, (std::vector<FaultAct>{FaultAct::mark, FaultAct::mark, FaultAct::drop,
                                           FaultAct::mark}));
}

TEST(FaultRules, a_text_of_rules_reads_back_as_they_were) {
    const std::vector<FaultRule> rules = {
        {},
        {.program = 1,
         .from = 2,
         .to = 3,
         .qp = 4,
         .opcodes = *OpcodeSet::named("ack"),
         .first_psn = 5,
         .last_psn = 6,
         .after = Duration{7},
         .until = Duration{8},
         .first = 9,
         .last = 10,
         .every = 11,
         .per_million = 12,
         .act = FaultAct::link_down,
         .time = Duration{13},
         .syndrome = 0x62,
         .line = 14},
    };
    EXPECT_EQ(fault_rules_of(to_text(rules)), rules);
    EXPECT_EQ(fault_rules_of(""), std::vector<FaultRule>{});
}

TEST(FaultRules, a_text_that_is_cut_or_has_too_much_is_refused) {
    const std::string text = to_text(std::vector<FaultRule>{{}});
    for (size_t length = 1; length < text.size(); ++length)
        EXPECT_FALSE(fault_rules_of(text.substr(0, length))) << length;
    EXPECT_FALSE(fault_rules_of("1," + text));
    EXPECT_FALSE(fault_rules_of("hello"));
}

}  // namespace
}  // namespace tulle::transport
