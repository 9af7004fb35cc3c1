#include "control/subnet/agent/agent.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "wire/mad/notice.h"
#include "wire/mad/smp_tables.h"

namespace tulle::control {
namespace {

constexpr base::Instant kStart{};
constexpr uint64_t kKey = 0x1234;

struct Ask {
    uint16_t attribute = wire::kSmpNodeInfo;
    uint32_t modifier = 0;
    uint8_t method = wire::kMethodGet;
    uint64_t m_key = 0;
    uint8_t hop_pointer = 1;
    uint8_t hop_count = 1;
};

MadBytes smp_of(const Ask& ask) {
    wire::DirectedSmp smp;
    smp.header.management_class.value = wire::kClassSubnetDirectedRoute;
    smp.header.base_version = smp.header.class_version = 1;
    smp.header.method.value = ask.method;
    smp.header.hop_pointer = ask.hop_pointer;
    smp.header.hop_count = ask.hop_count;
    smp.header.attribute_id.value = ask.attribute;
    smp.header.attribute_modifier.value = ask.modifier;
    smp.route.m_key.value = ask.m_key;
    MadBytes bytes;
    wire::write(smp, bytes.bytes());
    return bytes;
}

Agent switch_agent() {
    Agent agent({.is_switch = true, .port_count = 4, .guid = 7, .description = "leaf"});
    for (uint8_t port = 1; port <= 4; ++port) agent.set_link(kStart, port, true);
    return agent;
}

// Asks as a manager behind port 2 does; nothing: there was no answer.
std::optional<MadBytes> answer(Agent& agent, const Ask& ask) {
    agent.on_smp(kStart, 2, smp_of(ask));
    const auto out = agent.poll_transmit();
    if (!out) return std::nullopt;
    EXPECT_EQ(out->port, 2);
    return out->smp;
}

std::optional<MadBytes> set_port_zero(Agent& agent, const wire::PortInfo& info, uint64_t m_key) {
    MadBytes smp =
        smp_of({.attribute = wire::kSmpPortInfo, .method = wire::kMethodSet, .m_key = m_key});
    wire::write(info, smp.data());
    agent.on_smp(kStart, 2, smp);
    const auto out = agent.poll_transmit();
    return out ? std::optional(out->smp) : std::nullopt;
}

void protect(Agent& agent, uint8_t level, uint16_t lease_period = 0) {
    wire::PortInfo info = agent.port(0);
    info.m_key.value = kKey;
    info.m_key_protect_bits = level;
    info.m_key_lease_period = lease_period;
    info.port_state = wire::kPortNoChange;
    ASSERT_TRUE(set_port_zero(agent, info, 0));
}

TEST(agent, says_what_node_it_is_and_by_which_port_it_was_asked) {
    Agent agent = switch_agent();
    const auto smp = answer(agent, {});
    ASSERT_TRUE(smp);
    EXPECT_EQ(smp->status(), wire::kStatusOk);
    EXPECT_TRUE(smp->is_returning());
    const auto info = *wire::parse<wire::NodeInfo>(smp->data());
    EXPECT_EQ(info.node_type, wire::kNodeSwitch);
    EXPECT_EQ(info.node_guid.value, 7u);
    EXPECT_EQ(info.port_count, 4);
    EXPECT_EQ(info.local_port, 2);
}

TEST(agent, passes_a_directed_smp_on_and_notes_where_it_came_in) {
    Agent agent = switch_agent();
    wire::DirectedSmp smp;
    smp.header.management_class.value = wire::kClassSubnetDirectedRoute;
    smp.header.method.value = wire::kMethodGet;
    smp.header.hop_pointer = 1;
    smp.header.hop_count = 2;
    smp.paths.initial_path[2] = 3;
    MadBytes bytes;
    wire::write(smp, bytes.bytes());
    agent.on_smp(kStart, 2, bytes);
    const auto out = agent.poll_transmit();
    ASSERT_TRUE(out);
    EXPECT_EQ(out->port, 3);
    EXPECT_EQ(out->smp.hop_pointer(), 2);
    EXPECT_EQ(out->smp.return_path(1), 2);
}

TEST(agent, drops_a_path_that_cannot_be) {
    Agent agent = switch_agent();
    EXPECT_FALSE(answer(agent, {.hop_pointer = 9, .hop_count = 3}));
    EXPECT_FALSE(answer(agent, {.hop_pointer = 1, .hop_count = 200}));
    EXPECT_FALSE(answer(agent, {.hop_pointer = 1, .hop_count = 2}));  // out of port 0
    EXPECT_EQ(agent.counters().bad_path, 3u);
}

TEST(agent, answers_what_it_does_not_know_with_a_status) {
    Agent agent = switch_agent();
    EXPECT_EQ(answer(agent, {.attribute = 0x7777})->status(),
              wire::kStatusMethodAttributeUnsupported);
    EXPECT_EQ(answer(agent, {.attribute = wire::kSmpPortInfo, .modifier = 9})->status(),
              wire::kStatusInvalidValue);
    EXPECT_EQ(answer(agent, {.attribute = wire::kSmpSmInfo})->status(),
              wire::kStatusMethodAttributeUnsupported);
}

TEST(agent, keeps_a_forwarding_table_that_the_switch_reads) {
    Agent agent = switch_agent();
    EXPECT_EQ(agent.route(70), kNoPort);
    MadBytes smp = smp_of(
        {.attribute = wire::kSmpLinearForwardingTable, .modifier = 1, .method = wire::kMethodSet});
    smp.data()[6] = std::byte{3};
    agent.on_smp(kStart, 2, smp);
    EXPECT_EQ(agent.route(70), 3);
    EXPECT_EQ(agent.route(200), kNoPort);
}

TEST(agent, moves_a_port_only_as_its_states_allow) {
    Agent agent = switch_agent();
    const auto move = [&](wire::PortState state) {
        MadBytes smp =
            smp_of({.attribute = wire::kSmpPortInfo, .modifier = 1, .method = wire::kMethodSet});
        wire::PortInfo info = agent.port(1);
        info.port_state = state;
        wire::write(info, smp.data());
        agent.on_smp(kStart, 2, smp);
        return agent.poll_transmit()->smp.status();
    };
    EXPECT_EQ(move(wire::kPortActive), wire::kStatusInvalidValue);
    EXPECT_EQ(move(wire::kPortArmed), wire::kStatusOk);
    EXPECT_EQ(move(wire::kPortActive), wire::kStatusOk);
    EXPECT_EQ(agent.port(1).port_state, wire::kPortActive);
}

TEST(m_key, keeps_strangers_from_setting_and_counts_them) {
    Agent agent = switch_agent();
    protect(agent, 0);
    wire::PortInfo info = agent.port(0);
    info.lid.value = 666;
    EXPECT_FALSE(set_port_zero(agent, info, 99));
    EXPECT_NE(agent.lid(), 666);
    EXPECT_EQ(agent.counters().bad_m_key, 1u);
    EXPECT_EQ(agent.port(0).m_key_violations, 1);
    info.port_state = wire::kPortNoChange;
    EXPECT_TRUE(set_port_zero(agent, info, kKey));
    EXPECT_EQ(agent.lid(), 666);
}

TEST(m_key, is_shown_to_strangers_only_at_level_0_and_at_level_2_nothing_is) {
    const Ask ask{.attribute = wire::kSmpPortInfo};
    for (const uint8_t level : {0, 1, 2, 3}) {
        Agent agent = switch_agent();
        protect(agent, level);
        const auto smp = answer(agent, ask);
        ASSERT_EQ(smp.has_value(), level < 2) << int{level};
        if (smp) {
            EXPECT_EQ(wire::parse<wire::PortInfo>(smp->data())->m_key.value,
                      level == 0 ? kKey : 0u);
        }
        Ask knowing = ask;
        knowing.m_key = kKey;
        EXPECT_TRUE(answer(agent, knowing));
    }
}

TEST(m_key, protects_no_longer_once_its_lease_has_run_out) {
    Agent agent = switch_agent();
    protect(agent, 3, 2);  // seconds
    EXPECT_FALSE(answer(agent, {.attribute = wire::kSmpPortInfo}));
    EXPECT_EQ(agent.next_deadline(), (base::Instant{2'000'000'000'000}));
    agent.on_timer(agent.next_deadline());
    const auto smp = answer(agent, {.attribute = wire::kSmpPortInfo});
    ASSERT_TRUE(smp);
    EXPECT_EQ(wire::parse<wire::PortInfo>(smp->data())->m_key.value, kKey);
}

TEST(m_key, has_its_lease_renewed_by_who_knows_it) {
    Agent agent = switch_agent();
    protect(agent, 3, 2);
    EXPECT_FALSE(answer(agent, {.attribute = wire::kSmpPortInfo}));
    EXPECT_TRUE(answer(agent, {.attribute = wire::kSmpPortInfo, .m_key = kKey}));
    EXPECT_EQ(agent.next_deadline(), base::Instant::never());
}

TEST(agent, ignores_an_smp_on_a_data_lane_and_counts_it) {
    Agent agent = switch_agent();
    for (const uint8_t lane : {0, 7, 14}) agent.on_smp(kStart, 2, smp_of({}), 0, lane);
    EXPECT_FALSE(agent.poll_transmit());
    EXPECT_EQ(agent.counters().wrong_lane, 3u);
}

TEST(agent, refuses_to_set_what_can_only_be_read) {
    Agent agent = switch_agent();
    for (const uint16_t attribute : {wire::kSmpNodeInfo, wire::kSmpNodeDescription})
        EXPECT_EQ(answer(agent, {.attribute = attribute, .method = wire::kMethodSet})->status(),
                  wire::kStatusMethodAttributeUnsupported);
}

uint16_t set_table(Agent& agent, uint16_t attribute, uint32_t modifier,
                   const std::vector<uint8_t>& bytes) {
    MadBytes smp =
        smp_of({.attribute = attribute, .modifier = modifier, .method = wire::kMethodSet});
    for (size_t i = 0; i < bytes.size(); ++i) smp.data()[i] = std::byte{bytes[i]};
    agent.on_smp(kStart, 2, smp);
    return agent.poll_transmit()->smp.status();
}

TEST(tables, of_partitions_belong_to_a_port_and_begin_with_the_default_one) {
    Agent agent = switch_agent();
    EXPECT_EQ(agent.tables().partitions(3), std::vector<uint16_t>{0xffff});
    EXPECT_EQ(set_table(agent, wire::kSmpPKeyTable, 3u << 16, {0x80, 0x10, 0, 0, 0, 0x20}),
              wire::kStatusOk);
    EXPECT_EQ(agent.tables().partitions(3), (std::vector<uint16_t>{0x8010, 0x0020}));
    EXPECT_EQ(agent.tables().partitions(2), std::vector<uint16_t>{0xffff});
    EXPECT_EQ(set_table(agent, wire::kSmpPKeyTable, 5u << 16, {}), wire::kStatusInvalidValue);
    EXPECT_EQ(set_table(agent, wire::kSmpPKeyTable, 4, {}), wire::kStatusInvalidValue);
}

TEST(tables, of_lanes_can_be_set_for_all_ports_at_once) {
    Agent agent = switch_agent();
    EXPECT_EQ(agent.tables().lane(1, 2, 3), 0);
    const std::vector<uint8_t> identity{0x01, 0x23, 0x45, 0x67};
    EXPECT_EQ(
        set_table(agent, wire::kSmpSlToVlMappingTable, kAllInputPorts | kAllOutputPorts, identity),
        wire::kStatusOk);
    EXPECT_EQ(agent.tables().lane(1, 2, 3), 3);
    EXPECT_EQ(agent.tables().lane(4, 1, 7), 7);
    EXPECT_EQ(set_table(agent, wire::kSmpSlToVlMappingTable, 1u << 8 | 2, {0x11, 0x11}),
              wire::kStatusOk);
    EXPECT_EQ(agent.tables().lane(1, 2, 3), 1);
    EXPECT_EQ(agent.tables().lane(2, 2, 3), 3);
    EXPECT_EQ(set_table(agent, wire::kSmpSlToVlMappingTable, 5, {}), wire::kStatusInvalidValue);
}

TEST(tables, of_multicast_hold_a_bit_for_each_port) {
    Agent agent = switch_agent();
    EXPECT_EQ(set_table(agent, wire::kSmpMulticastForwardingTable, 0, {0, 0, 0, 0b1'0010}),
              wire::kStatusOk);
    EXPECT_EQ(agent.tables().multicast_ports(0xc001),
              (std::vector<bool>{false, true, false, false, true}));
    EXPECT_EQ(agent.tables().multicast_ports(0xc000), std::vector<bool>(5));
    EXPECT_EQ(set_table(agent, wire::kSmpMulticastForwardingTable, 1u << 28, {}),
              wire::kStatusInvalidValue);
    EXPECT_EQ(set_table(agent, wire::kSmpMulticastForwardingTable, 128, {}),
              wire::kStatusInvalidValue);
}

TEST(tables, of_guids_keep_the_one_from_the_factory) {
    Agent agent({.is_switch = false, .port_count = 1, .guid = 0x70, .description = "h"});
    agent.set_link(kStart, 1, true);
    MadBytes smp = smp_of({.attribute = wire::kSmpGuidInfo, .method = wire::kMethodSet});
    wire::GuidInfo wanted;
    wanted.guids[0].value = 1;
    wanted.guids[1].value = 2;
    wire::write(wanted, smp.data());
    agent.on_smp(kStart, 1, smp);
    const auto out = agent.poll_transmit();
    ASSERT_TRUE(out);
    const auto info = *wire::parse<wire::GuidInfo>(out->smp.data());
    EXPECT_EQ(info.guids[0].value, 0x71u);
    EXPECT_EQ(info.guids[1].value, 2u);
}

wire::PortInfo managed_port(Agent& agent) {
    wire::PortInfo info = agent.port(0);
    info.lid.value = 4;
    info.master_sm_lid.value = 9;
    info.port_state = wire::kPortNoChange;
    EXPECT_TRUE(set_port_zero(agent, info, 0));
    MadBytes table =
        smp_of({.attribute = wire::kSmpLinearForwardingTable, .method = wire::kMethodSet});
    table.data()[9] = std::byte{2};
    agent.on_smp(kStart, 2, table);
    EXPECT_TRUE(agent.poll_transmit());
    return info;
}

std::optional<MadBytes> due_trap(Agent& agent) {
    const base::Instant at = agent.next_deadline();
    if (at == base::Instant::never()) return std::nullopt;
    agent.on_timer(at);
    const auto out = agent.poll_transmit();
    if (!out) return std::nullopt;
    EXPECT_EQ(out->port, 2);
    EXPECT_EQ(out->to, 9);
    return out->smp;
}

void repress(Agent& agent, uint64_t transaction, uint64_t m_key = 0) {
    wire::DirectedSmp smp;
    smp.route.m_key.value = m_key;
    smp.header.management_class.value = wire::kClassSubnetDirectedRoute;
    smp.header.method.value = wire::kMethodTrapRepress;
    smp.header.transaction_id.value = transaction;
    smp.header.attribute_id.value = wire::kSmpNotice;
    smp.header.hop_pointer = smp.header.hop_count = 1;
    MadBytes bytes;
    wire::write(smp, bytes.bytes());
    agent.on_smp(kStart, 2, bytes);
}

TEST(traps, are_sent_until_that_very_one_is_repressed) {
    Agent agent = switch_agent();
    managed_port(agent);
    agent.set_link(kStart, 3, false);
    const auto first = due_trap(agent);
    ASSERT_TRUE(first);
    EXPECT_EQ(wire::parse<wire::Notice>(first->data())->trap_number, wire::kTrapLinkStateChanged);
    EXPECT_EQ(due_trap(agent)->transaction(), first->transaction());
    agent.set_link(kStart, 3, true);
    repress(agent, first->transaction());  // too late: it is another one by now
    ASSERT_TRUE(agent.has_trap());
    const auto second = due_trap(agent);
    ASSERT_TRUE(second);
    EXPECT_NE(second->transaction(), first->transaction());
    repress(agent, second->transaction());
    EXPECT_FALSE(agent.has_trap());
    EXPECT_FALSE(due_trap(agent));
}

// A manager represses a trap by the LID that it names.
TEST(traps, name_the_lid_that_their_node_has_now) {
    Agent agent = switch_agent();
    wire::PortInfo info = managed_port(agent);
    agent.set_link(kStart, 3, false);
    const auto first = due_trap(agent);
    ASSERT_TRUE(first);
    EXPECT_EQ(wire::parse<wire::Notice>(first->data())->issuer_lid.value, 4);
    info.lid.value = 7;  // another manager took over
    ASSERT_TRUE(set_port_zero(agent, info, 0));
    const auto second = due_trap(agent);
    ASSERT_TRUE(second);
    EXPECT_EQ(wire::parse<wire::Notice>(second->data())->issuer_lid.value, 7);
}

TEST(traps, are_repressed_only_by_who_knows_the_key) {
    Agent agent = switch_agent();
    wire::PortInfo info = managed_port(agent);
    info.m_key.value = kKey;
    ASSERT_TRUE(set_port_zero(agent, info, 0));
    agent.set_link(kStart, 3, false);
    const auto trap = due_trap(agent);
    ASSERT_TRUE(trap);
    repress(agent, trap->transaction(), kKey + 1);
    EXPECT_TRUE(agent.has_trap());
    EXPECT_EQ(agent.counters().bad_m_key, 1u);
    repress(agent, trap->transaction(), kKey);
    EXPECT_FALSE(agent.has_trap());
}

TEST(traps, tell_of_a_wrong_key_once_however_often_it_is_tried) {
    Agent agent = switch_agent();
    wire::PortInfo info = managed_port(agent);
    info.m_key.value = kKey;
    ASSERT_TRUE(set_port_zero(agent, info, 0));
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(set_port_zero(agent, info, 99));
    EXPECT_EQ(agent.counters().bad_m_key, 50u);
    const auto trap = due_trap(agent);
    ASSERT_TRUE(trap);
    const auto notice = *wire::parse<wire::Notice>(trap->data());
    EXPECT_EQ(notice.trap_number, wire::kTrapBadMKey);
    EXPECT_EQ(wire::attribute_in<wire::TrapMKey>(notice.details).m_key.value, 99u);
    EXPECT_EQ(agent.counters().traps, 1u);
}

TEST(notices, wait_in_a_queue_for_who_asks) {
    Agent agent = switch_agent();
    managed_port(agent);
    const auto oldest = [&](uint8_t method) {
        return *wire::parse<wire::Notice>(
            answer(agent, {.attribute = wire::kSmpNotice, .method = method})->data());
    };
    EXPECT_EQ(oldest(wire::kMethodGet).type, wire::kNoticeEmpty);
    agent.set_link(kStart, 3, false);
    EXPECT_EQ(oldest(wire::kMethodGet).trap_number, wire::kTrapLinkStateChanged);
    EXPECT_EQ(oldest(wire::kMethodSet).type, wire::kNoticeEmpty);
}

TEST(agent, shows_the_width_and_speed_of_a_link) {
    struct Case {
        uint64_t rate_bps;
        uint8_t width;
        uint8_t extended;
        uint8_t extended2;
    };
    for (const Case& expected : {Case{100'000'000'000, wire::kWidth4x, wire::kSpeedEdr, 0},
                                 Case{400'000'000'000, wire::kWidth4x, wire::kSpeedNdr, 0},
                                 Case{800'000'000'000, wire::kWidth4x, 0, wire::kSpeedXdr},
                                 Case{0, wire::kWidth4x, wire::kSpeedNdr, 0}}) {
        Agent agent({.is_switch = true, .port_count = 1, .guid = 7, .description = "s"});
        agent.set_link(kStart, 1, true, expected.rate_bps);
        EXPECT_EQ(agent.port(1).link_width_active.value, expected.width) << expected.rate_bps;
        EXPECT_EQ(agent.port(1).link_speed_ext_active.value, expected.extended);
        EXPECT_EQ(agent.port(1).link_speed_ext2_active.value, expected.extended2);
    }
}

TEST(agent, survives_any_bytes) {
    base::RandomStream random({.seed = 5, .kind = 0, .index = 0});
    Agent agent = switch_agent();
    for (int i = 0; i < 20'000; ++i) {
        MadBytes smp;
        for (std::byte& byte : smp.bytes()) byte = static_cast<std::byte>(random.next());
        if (random.chance(3, 4)) {
            smp.bytes()[1] = std::byte{wire::kClassSubnetDirectedRoute};
            smp.bytes()[3] = static_cast<std::byte>(1 + random.below(2));
            smp.bytes()[4] = std::byte{0};
            smp.bytes()[6] = smp.bytes()[7] = std::byte{1};
            smp.bytes()[16] = std::byte{0};
            smp.bytes()[17] = static_cast<std::byte>(0x10 + random.below(0x12));
        }
        agent.on_smp(kStart, static_cast<uint8_t>(1 + random.below(4)), smp);
        while (agent.poll_transmit()) continue;
    }
    EXPECT_GT(agent.counters().answered, 0u);
}

}  // namespace
}  // namespace tulle::control
