#include "control/subnet/agent/agent.h"

#include <gtest/gtest.h>

#include "base/random.h"
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

SmpBytes smp_of(const Ask& ask) {
    wire::DirectedSmp smp;
    smp.header.management_class.value = wire::kClassSubnetDirectedRoute;
    smp.header.base_version = smp.header.class_version = 1;
    smp.header.method.value = ask.method;
    smp.header.hop_pointer = ask.hop_pointer;
    smp.header.hop_count = ask.hop_count;
    smp.header.attribute_id.value = ask.attribute;
    smp.header.attribute_modifier.value = ask.modifier;
    smp.route.m_key.value = ask.m_key;
    SmpBytes bytes;
    wire::write(smp, bytes.bytes());
    return bytes;
}

Agent switch_agent() {
    Agent agent({.is_switch = true, .port_count = 4, .guid = 7, .description = "leaf"});
    for (uint8_t port = 1; port <= 4; ++port) agent.set_link(kStart, port, true);
    return agent;
}

// Asks as a manager behind port 2 does; nothing: there was no answer.
std::optional<SmpBytes> answer(Agent& agent, const Ask& ask) {
    agent.on_smp(kStart, 2, smp_of(ask));
    const auto out = agent.poll_transmit();
    if (!out) return std::nullopt;
    EXPECT_EQ(out->port, 2);
    return out->smp;
}

std::optional<SmpBytes> set_port_zero(Agent& agent, const wire::PortInfo& info, uint64_t m_key) {
    SmpBytes smp =
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
    SmpBytes bytes;
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
    SmpBytes smp = smp_of(
        {.attribute = wire::kSmpLinearForwardingTable, .modifier = 1, .method = wire::kMethodSet});
    smp.data()[6] = std::byte{3};
    agent.on_smp(kStart, 2, smp);
    EXPECT_EQ(agent.route(70), 3);
    EXPECT_EQ(agent.route(200), kNoPort);
}

TEST(agent, moves_a_port_only_as_its_states_allow) {
    Agent agent = switch_agent();
    const auto move = [&](wire::PortState state) {
        SmpBytes smp =
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

TEST(agent, survives_any_bytes) {
    base::RandomStream random({.seed = 5, .kind = 0, .index = 0});
    Agent agent = switch_agent();
    for (int i = 0; i < 20'000; ++i) {
        SmpBytes smp;
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
