#include "scenario/packet_rules.h"

#include <gtest/gtest.h>

#include "wire/syndrome.h"

namespace tulle::scenario {
namespace {

using transport::FaultAct;
using transport::FaultRule;

// The one rule of a file.
FaultRule rule(const std::string& text) {
    const auto rules = read_packet_rules("faults:\n  - " + text, "f");
    EXPECT_TRUE(rules) << rules.error().message;
    return rules && rules->size() == 1 ? rules->front() : FaultRule{};
}

std::string error(const std::string& text) {
    const auto rules = read_packet_rules(text, "f");
    return rules ? "" : rules.error().message;
}

std::string error_of(const std::string& text) {
    return error("faults:\n  - " + text);
}

TEST(PacketRules, what_is_left_out_matches_everything) {
    FaultRule expected;
    expected.line = 2;
    EXPECT_EQ(rule("drop: {}"), expected);
}

TEST(PacketRules, everything_that_can_be_matched_is_read) {
    const FaultRule read = rule(
        "delay: {program: client, from: 127.0.0.3, to: 1, qp: 0x1002, opcode: [ack, RC_SEND_ONLY], "
        "psn: 100-200, nth: 5-9, share: 25%, after: 1ms, until: 2s, by: 3us}");
    FaultRule expected;
    expected.program = 1;
    expected.from = 2;
    expected.to = 1;
    expected.qp = 0x1002;
    expected.opcodes = *transport::OpcodeSet::named("ack");
    expected.opcodes |= *transport::OpcodeSet::named("RC_SEND_ONLY");
    expected.first_psn = 100;
    expected.last_psn = 200;
    expected.first = 5;
    expected.last = 9;
    expected.per_million = 250'000;
    expected.after = base::Duration{1'000'000'000};
    expected.until = base::Duration{2'000'000'000'000};
    expected.act = FaultAct::delay;
    expected.time = base::Duration{3'000'000};
    expected.line = 2;
    EXPECT_EQ(read, expected);
}

TEST(PacketRules, a_receiver_can_be_broken) {
    EXPECT_EQ(rule("break: {what: srq}").act, FaultAct::break_it);
    EXPECT_EQ(rule("break: {what: srq}").syndrome,
              static_cast<uint8_t>(transport::Breakage::shared_queue));
    EXPECT_EQ(error_of("break: {nth: 1}"), "f:2: what breaks is missing; write what: qp");
    EXPECT_EQ(error_of("break: {what: cable}"),
              "f:2: what: 'cable' is unknown here; write one of qp, srq, adapter");
}

TEST(PacketRules, counts_are_written_in_several_ways) {
    const auto count = [](const std::string& text) {
        const FaultRule read = rule("drop: {nth: " + text + "}");
        return std::array<uint64_t, 3>{read.first, read.last, read.every};
    };
    using Count = std::array<uint64_t, 3>;
    EXPECT_EQ(count("5"), (Count{5, 5, 1}));
    EXPECT_EQ(count("5-9"), (Count{5, 9, 1}));
    EXPECT_EQ(count("5-"), (Count{5, UINT64_MAX, 1}));
    EXPECT_EQ(count("every 10"), (Count{10, UINT64_MAX, 10}));
    EXPECT_EQ(count("100-200 every 10"), (Count{100, 200, 10}));
    for (const char* wrong : {"0", "9-5", "every 0", "every", "x", "5every 2", "5 6", "-5"})
        EXPECT_NE(error_of(std::string("drop: {nth: ") + wrong + "}").find("f:2: nth: "),
                  std::string::npos)
            << wrong;
}

TEST(PacketRules, each_act_is_what_its_name_says) {
    EXPECT_EQ(rule("double: {}").act, FaultAct::double_it);
    EXPECT_EQ(rule("damage: {}").act, FaultAct::damage);
    EXPECT_EQ(rule("mark: {}").act, FaultAct::mark);
    EXPECT_EQ(rule("reorder: {}").time, transport::kUsualLateness);
    EXPECT_EQ(rule("reorder: {by: 1us}").time, base::Duration{1'000'000});
    const FaultRule down = rule("link_down: {for: 2s, nth: 1}");
    EXPECT_EQ(down.act, FaultAct::link_down);
    EXPECT_EQ(down.time, base::Duration{2'000'000'000'000});
    const FaultRule rnr = rule("rnr: {}");
    EXPECT_EQ(rnr.act, FaultAct::refuse);
    EXPECT_EQ(wire::ack_kind(rnr.syndrome), wire::AckKind::rnr_nak);
    EXPECT_EQ(rule("nak: {code: remote_access}").syndrome,
              wire::syndrome_of(wire::NakCode::remote_access_error));
    EXPECT_EQ(rule("nak: {code: sequence}").syndrome,
              wire::syndrome_of(wire::NakCode::psn_sequence_error));
}

TEST(PacketRules, what_nobody_answers_cannot_be_refused_and_is_not_counted) {
    const FaultRule read = rule("rnr: {}");
    EXPECT_TRUE(read.opcodes.has(wire::opcode_of(wire::Service::rc, wire::Operation::send_only)));
    EXPECT_FALSE(read.opcodes.has(wire::opcode_of(wire::Service::ud, wire::Operation::send_only)));
    EXPECT_FALSE(
        read.opcodes.has(wire::opcode_of(wire::Service::rc, wire::Operation::acknowledge)));
    EXPECT_EQ(error_of("rnr: {opcode: ack}"),
              "f:2: only requests of RC and XRC have a receiver that refuses");
}

TEST(PacketRules, what_is_unknown_or_unused_or_missing_is_said_with_its_line) {
    EXPECT_EQ(error("faults:\n  - drop: {nth: 1}\n  - drop:\n      nht: 2\n"),
              "f:4: unknown key 'nht' in drop; did you mean 'nth'?");
    EXPECT_EQ(error_of("dorp: {}"), "f:2: unknown key 'dorp' in a rule; did you mean 'drop'?");
    EXPECT_NE(error_of("drop: {by: 1us}").find("f:2: unknown key 'by' in drop"), std::string::npos);
    EXPECT_EQ(error_of("delay: {nth: 1}"), "f:2: how long is missing; write by: 100us");
    EXPECT_EQ(error_of("link_down: {}"), "f:2: how long is missing; write for: 100us");
    EXPECT_EQ(error_of("nak: {}"), "f:2: the reason is missing; write code: remote_access");
    EXPECT_EQ(error_of("drop: {opcode: dat}"),
              "f:2: opcode: 'dat' is unknown here; did you mean 'data'?");
    EXPECT_EQ(error_of("drop: {opcode: []}"), "f:2: opcode: the list is empty");
    EXPECT_EQ(error_of("drop: {after: 2s, until: 1s}"),
              "f:2: until is not later than after: the rule never acts");
    EXPECT_EQ(error(""), "f:1: there are no rules; write a list called faults");
    EXPECT_NE(error("rules: []").find("f:1: unknown key 'rules'"), std::string::npos);
    EXPECT_NE(error("faults: 5").find("f:1: faults is a word"), std::string::npos);
    EXPECT_NE(error_of("drop").find("f:2: a rule has one of drop, double"), std::string::npos);
    EXPECT_NE(error_of("{drop: {}, mark: {}}").find("f:2: a rule has one of"), std::string::npos);
    for (const char* wrong :
         {"from: 255", "from: 127.0.0.0", "to: here", "qp: 0x1000000", "psn: 1-0x1000000",
          "share: 101%", "share: 2", "program: third", "after: 5", "qp: -1"})
        EXPECT_TRUE(error_of(std::string("drop: {") + wrong + "}").starts_with("f:2: ")) << wrong;
}

TEST(PacketRules, shares_are_percents_or_parts_of_one) {
    EXPECT_EQ(*parse_share("1%"), 10'000u);
    EXPECT_EQ(*parse_share("0.5%"), 5'000u);
    EXPECT_EQ(*parse_share("0.01"), 10'000u);
    EXPECT_EQ(*parse_share("100%"), 1'000'000u);
    EXPECT_FALSE(parse_share("nan"));
    EXPECT_FALSE(parse_share(""));
    EXPECT_FALSE(parse_share("-1%"));
}

}  // namespace
}  // namespace tulle::scenario
