#include <gtest/gtest.h>

#include <vector>

#include "transport/credit/credit_pacer.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using base::Duration;
using base::Instant;

// 100 Gb/s times 12 us are 150,000 bytes, and one and a half of that 225,000.
RcccSettings plain() {
    RcccSettings settings;
    settings.base_rtt = 12_us;
    settings.packet_bytes = 4096;
    EXPECT_EQ(settings.set_line(base::Rate::bits_per_second(100'000'000'000)), "");
    return settings;
}

TEST(SenderCredit, begins_with_a_window_that_nobody_gave) {
    const RcccSettings settings = plain();
    const SenderCredit credit(settings);
    EXPECT_EQ(credit.bytes(), 225'000);
    EXPECT_TRUE(credit.may_send({}, true));
}

TEST(SenderCredit, the_first_answer_voids_what_is_left_of_it) {
    const RcccSettings settings = plain();
    SenderCredit credit(settings);
    credit.spend({}, 4'000, 1'000'000, 1);
    credit.on_answer(Instant{} + 12_us);
    EXPECT_EQ(credit.bytes(), 0);
    EXPECT_FALSE(credit.may_send(Instant{} + 12_us, true));
    EXPECT_TRUE(credit.may_send(Instant{} + 112_us, true));  // to ask
}

TEST(SenderCredit, tells_what_waits_and_has_no_credit_but_at_most_a_window) {
    const RcccSettings settings = plain();
    SenderCredit credit(settings);
    credit.on_grant({}, 64);  // 16,384 bytes, and nothing that was there before
    EXPECT_EQ(credit.bytes(), 16'384);
    // 10,000 wait and 12,288 can go: less than it has.
    EXPECT_LT(credit_ahead(credit.spend({}, 4'096, 10'000, 1).target, 64), 0);
    EXPECT_EQ(credit.spend({}, 4'096, 100'000, 1).target, 64 + (100'000 - 8'192 + 255) / 256);
    EXPECT_EQ(credit.spend({}, 4'096, 9'000'000, 1).target, 64 + (225'000 - 4'096 + 255) / 256);
    // Four share the line.
    EXPECT_EQ(credit.spend({}, 4'096, 100'000, 4).target, 64 + (25'000 + 255) / 256);
}

TEST(SenderCredit, a_grant_that_comes_late_or_twice_brings_nothing) {
    const RcccSettings settings = plain();
    SenderCredit credit(settings);
    credit.on_grant({}, 64);
    credit.on_grant({}, 64);
    credit.on_grant({}, 32);
    EXPECT_EQ(credit.bytes(), 64 * 256);
    credit.on_grant({}, 128);  // also for one that was lost
    EXPECT_EQ(credit.bytes(), 128 * 256);
}

TEST(SenderCredit, counts_in_a_circle) {
    EXPECT_EQ(credit_ahead(5, 0xff'fffb), 10);
    EXPECT_EQ(credit_ahead(0xff'fffb, 5), -10);
    EXPECT_EQ(credit_ahead(7, 7), 0);
}

TEST(SenderCredit, a_queue_pair_that_was_idle_asks_at_once) {
    const RcccSettings settings = plain();
    SenderCredit credit(settings);
    credit.on_grant({}, 16);
    EXPECT_FALSE(credit.spend({}, 4'096, 0, 1).asks);  // all that there is
    EXPECT_FALSE(credit.may_send(Instant{} + 1_us, true));
    EXPECT_TRUE(credit.may_send(Instant{} + 1_us, false));
    EXPECT_TRUE(credit.spend(Instant{} + 1_us, 4'096, 50'000, 1).asks);
    EXPECT_FALSE(credit.may_send(Instant{} + 2_us, false));  // the receiver knows
}

// Clients by place.
struct Receiver {
    explicit Receiver(const RcccSettings& settings, size_t senders)
        : pacer(settings), clients(senders) {}
    std::optional<uint32_t> next() {
        now = std::max(now, pacer.next_at());
        return pacer.next(now, [this](uint32_t place) { return &clients[place]; });
    }
    Instant now{};
    CreditPacer pacer;
    std::vector<CreditClient> clients;
};

TEST(CreditPacer, senders_with_demand_take_turns_at_the_pace_of_the_line) {
    const RcccSettings settings = plain();
    Receiver receiver(settings, 3);
    for (uint32_t i = 0; i < 3; ++i)
        receiver.pacer.on_packet(receiver.clients[i], i, {.target = 1'000}, false);
    for (uint32_t i = 0; i < 9; ++i) {
        EXPECT_EQ(receiver.next(), i % 3);
        // 16,384 bytes at 99 Gb/s.
        EXPECT_EQ(receiver.now.ps, int64_t{i} * (16'384 * 8'000 / 99));
    }
    for (const CreditClient& client : receiver.clients) EXPECT_EQ(client.granted, 3u * 64);
}

TEST(CreditPacer, grants_what_was_asked_for_and_then_a_window_to_those_without_demand) {
    const RcccSettings settings = plain();
    Receiver receiver(settings, 1);
    receiver.pacer.on_packet(receiver.clients[0], 0, {.target = 70}, false);
    receiver.next();
    EXPECT_EQ(receiver.clients[0].granted, 64u);
    receiver.next();
    EXPECT_EQ(receiver.clients[0].granted, 70u);
    while (receiver.next()) {
    }
    // 225,000 bytes are 878 units; 14 grants of 64 are the first to reach it.
    EXPECT_EQ(receiver.clients[0].granted, 70u + 14 * 64);
    EXPECT_FALSE(receiver.pacer.has_clients());
}

TEST(CreditPacer, demand_comes_before_those_without) {
    const RcccSettings settings = plain();
    Receiver receiver(settings, 2);
    receiver.pacer.on_packet(receiver.clients[0], 0, {.target = 64}, false);
    receiver.next();
    receiver.pacer.on_packet(receiver.clients[1], 1, {.target = 640}, false);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(receiver.next(), 1u);
    EXPECT_EQ(receiver.next(), 0u);
}

TEST(CreditPacer, one_that_asks_is_told_again_what_it_was_given) {
    const RcccSettings settings = plain();
    Receiver receiver(settings, 2);
    receiver.pacer.on_packet(receiver.clients[0], 0, {.target = 64}, false);
    while (receiver.next()) {
    }
    const uint32_t granted = receiver.clients[0].granted;
    receiver.pacer.on_packet(receiver.clients[0], 0, {.target = 64}, false);
    EXPECT_FALSE(receiver.pacer.has_clients());
    receiver.pacer.on_packet(receiver.clients[0], 0, {.target = 64, .asks = true}, false);
    EXPECT_EQ(receiver.next(), 0u);
    EXPECT_EQ(receiver.clients[0].granted, granted);
}

TEST(CreditPacer, a_trimmed_packet_gets_its_sender_a_turn) {
    const RcccSettings settings = plain();
    Receiver receiver(settings, 1);
    receiver.pacer.on_packet(receiver.clients[0], 0, {.target = 0}, true);
    EXPECT_EQ(receiver.next(), 0u);
    EXPECT_EQ(receiver.next(), 0u);  // and as one without demand, more
    EXPECT_EQ(receiver.clients[0].granted, 64u);
}

TEST(CreditPacer, a_queue_pair_that_is_gone_is_passed_over) {
    const RcccSettings settings = plain();
    Receiver receiver(settings, 2);
    for (uint32_t i = 0; i < 2; ++i)
        receiver.pacer.on_packet(receiver.clients[i], i, {.target = 100}, false);
    receiver.clients[0] = {};  // made anew
    EXPECT_EQ(receiver.next(), 1u);
}

TEST(MarkWatch, less_is_handed_out_while_many_packets_are_marked) {
    MarkWatch watch;
    Instant now{};
    const auto round_trips = [&](int count, bool is_marked) {
        for (int i = 0; i < count * 12; ++i) watch.count(now = now + 1_us, 12_us, is_marked, false);
    };
    round_trips(3, false);
    EXPECT_EQ(watch.part(), kRcccOne);
    round_trips(4, true);
    const uint32_t low = watch.part();
    EXPECT_LT(low, 700'000u);
    EXPECT_GT(low, 300'000u);
    round_trips(12, false);
    EXPECT_EQ(watch.part(), kRcccOne);
}

TEST(MarkWatch, trims_take_their_part_away_and_something_is_always_left) {
    MarkWatch watch;
    Instant now{};
    for (int i = 0; i < 26; ++i) watch.count(now = now + 1_us, 12_us, false, i % 2 == 0);
    EXPECT_LT(watch.part(), 600'000u);
    for (int i = 0; i < 260; ++i) watch.count(now = now + 1_us, 12_us, false, true);
    EXPECT_EQ(watch.part(), 10'000u);
}

TEST(MarkWatch, a_long_silence_is_made_up_for_at_once) {
    MarkWatch watch;
    Instant now{};
    for (int i = 0; i < 60; ++i) watch.count(now = now + 1_us, 12_us, true, false);
    EXPECT_LT(watch.part(), kRcccOne);
    watch.count(now + 10_s, 12_us, false, false);
    EXPECT_EQ(watch.part(), kRcccOne);
}

}  // namespace
}  // namespace tulle::transport
