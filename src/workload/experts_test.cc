#include "workload/experts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tulle::workload {
namespace {

std::vector<Member> members_of(uint32_t servers, uint32_t per_server) {
    std::vector<Member> members;
    for (uint32_t i = 0; i < servers * per_server; ++i)
        members.push_back({i, i / per_server, i % per_server});
    return members;
}

struct Sent {
    uint64_t out = 0;  // bytes between servers
    uint64_t up = 0;   // inside them
    uint64_t messages = 0;
};

Sent sent_by(const Program& program) {
    Sent sent;
    for (const Task& task : program.tasks()) {
        if (task.kind != Task::Kind::send) continue;
        (task.tier == Tier::scale_out ? sent.out : sent.up) += task.bytes;
        ++sent.messages;
    }
    return sent;
}

template <class Append>
Program exchange_of(const Placement& placement, Append append) {
    Program program;
    JobBuilder builder(program, Job{"experts"}, placement);
    append(builder);
    builder.end();
    const auto wrong = program.check(placement.size());
    EXPECT_FALSE(wrong) << wrong->message;
    return program;
}

TEST(experts, get_a_token_once_a_server_and_once_a_gpu) {
    const Placement placement(members_of(4, 8), true);
    ExpertOptions options;
    options.tokens = 64;
    const ExpertRoutes routes(options, placement);
    uint64_t crossings = 0;
    uint64_t hands = 0;
    for (uint32_t member = 0; member < placement.size(); ++member)
        for (uint32_t server = 0; server < 4; ++server) {
            const bool is_own = server == placement.server_of(member);
            const uint64_t handler = member % 8;
            for (const ExpertRoutes::Copy& copy : routes.copies(member, server)) {
                crossings += is_own ? 0 : 1;
                hands += static_cast<uint64_t>(__builtin_popcountll(copy.places)) -
                         (copy.places >> handler & 1);
            }
        }
    const Sent there = sent_by(exchange_of(
        placement, [&](JobBuilder& job) { append_dispatch(job, "dispatch", options, routes); }));
    EXPECT_EQ(there.out, crossings * 7392);
    EXPECT_EQ(there.up, hands * 7392);
    const Sent back = sent_by(exchange_of(
        placement, [&](JobBuilder& job) { append_combine(job, "combine", options, routes); }));
    EXPECT_EQ(back.out, crossings * 14336);
    EXPECT_EQ(back.up, hands * 14336);
    EXPECT_LE(there.messages, most_tasks(options, placement));
}

// A token that goes to all experts is sent to each other server and to each other GPU there.
TEST(experts, all_of_them_get_the_bytes_of_the_closed_form) {
    constexpr uint64_t kServers = 3;
    constexpr uint64_t kPlaces = 4;
    const Placement placement(members_of(kServers, kPlaces), true);
    ExpertOptions options;
    options.tokens = 50;
    options.experts = options.of_token = 24;
    const ExpertRoutes routes(options, placement);
    const uint64_t tokens = kServers * kPlaces * 50;
    const Sent there = sent_by(exchange_of(
        placement, [&](JobBuilder& job) { append_dispatch(job, "dispatch", options, routes); }));
    EXPECT_EQ(there.out, tokens * (kServers - 1) * 7392);
    EXPECT_EQ(there.up, tokens * kServers * (kPlaces - 1) * 7392);
    const Sent back = sent_by(exchange_of(
        placement, [&](JobBuilder& job) { append_combine(job, "combine", options, routes); }));
    EXPECT_EQ(back.out, tokens * (kServers - 1) * 14336);
    EXPECT_EQ(back.up, tokens * kServers * (kPlaces - 1) * 14336);
    EXPECT_EQ(routes.imbalance_permille(), 1000u);
}

// As DeepEP's test gate draws, by an independent Monte Carlo: 1.995, 3.625, 3.985.
TEST(experts, reach_as_many_servers_as_the_gate_of_deepep) {
    const std::pair<uint32_t, double> known[] = {{2, 1.995}, {4, 3.625}, {8, 3.985}};
    for (const auto& [servers, expected] : known) {
        const Placement placement(members_of(servers, 8), true);
        ExpertOptions options;
        options.tokens = 20'000 / placement.size();
        const ExpertRoutes routes(options, placement);
        const double all = static_cast<double>(options.tokens) * placement.size();
        EXPECT_NEAR(static_cast<double>(routes.all_copies()) / all, expected, 0.02) << servers;
    }
}

// Without a limit: G (1 - C(E - E/G, k) / C(E, k)).
TEST(experts, reach_as_many_servers_as_the_closed_form_where_nothing_limits_them) {
    const Placement placement(members_of(8, 8), true);
    ExpertOptions options;
    options.tokens = 400;
    options.most_servers = 8;
    const ExpertRoutes routes(options, placement);
    double missed = 1;
    for (int i = 0; i < 8; ++i) missed *= (256.0 - 32 - i) / (256.0 - i);
    const double all = 400.0 * 64;
    EXPECT_NEAR(static_cast<double>(routes.all_copies()) / all, 8 * (1 - missed), 0.03);
}

TEST(experts, of_the_low_latency_mode_get_a_message_for_each_token_and_a_flag) {
    const Placement placement(members_of(2, 8), true);
    ExpertOptions options;
    options.is_low_latency = true;
    options.tokens = 128;
    options.experts = 288;
    const ExpertRoutes routes(options, placement);
    uint64_t visits = 0;
    for (uint32_t member = 0; member < 16; ++member)
        for (const ExpertRoutes::Visit& visit : routes.visits(member))
            visits += routes.owner(visit.expert) == member ? 0 : 1;
    const uint64_t flags = 16 * (288 - 18);
    const Sent there = sent_by(exchange_of(
        placement, [&](JobBuilder& job) { append_dispatch(job, "dispatch", options, routes); }));
    EXPECT_EQ(there.out + there.up, visits * 7408 + flags * 8);
    EXPECT_EQ(there.messages, visits + flags);
    const Sent back = sent_by(exchange_of(
        placement, [&](JobBuilder& job) { append_combine(job, "combine", options, routes); }));
    EXPECT_EQ(back.out + back.up, visits * 14336 + flags * 8);
    // All that a rank has for experts, its own included: 7.59 and 14.68 MB.
    EXPECT_EQ(routes.visits(0).size() * 7408, 7'585'792u);
    EXPECT_EQ(routes.visits(0).size() * 14336, 14'680'064u);
}

TEST(experts, that_are_hot_get_more_tokens) {
    const Placement placement(members_of(2, 8), true);
    ExpertOptions options;
    options.tokens = 500;
    const auto most = [&](uint32_t hot) {
        options.hot_times = hot;
        const ExpertRoutes routes(options, placement);
        uint64_t sum = 0;
        uint64_t largest = 0;
        for (uint32_t member = 0; member < 16; ++member) {
            sum += routes.load(member);
            largest = std::max(largest, routes.load(member));
        }
        EXPECT_EQ(sum, 16u * 500 * 8);
        return largest;
    };
    EXPECT_LT(most(1), 500u * 8 * 11 / 10);
    EXPECT_GT(most(8), 500u * 8 * 12 / 10);
}

TEST(experts, are_refused_where_nobody_can_hand_tokens_on) {
    ExpertOptions options;
    EXPECT_TRUE(check(options, Placement(members_of(2, 8), false)));
    EXPECT_FALSE(check(options, Placement(members_of(2, 8), true)));
    EXPECT_TRUE(check(options, Placement(members_of(3, 8), true)));  // 256 among 24
    options.is_low_latency = true;
    EXPECT_FALSE(check(options, Placement(members_of(2, 8), false)));
}

}  // namespace
}  // namespace tulle::workload
