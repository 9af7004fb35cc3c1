// Packets of the past and of nowhere: for queue pairs that are gone, and answers to nothing.
#include <gtest/gtest.h>

#include <set>

#include "pair.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

TEST(Ghosts, a_packet_for_a_queue_pair_that_is_gone_is_dropped_and_counted) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 100});
    pair.run();
    ASSERT_EQ(pair.server.adapter.queue_pairs().destroy(pair.server.qpn), Refusal::none);
    pair.inject(pair.wire.log[0].packet, pair.server.endpoint);
    EXPECT_EQ(pair.server.counters().dropped_no_qp, 1u);
}

TEST(Ghosts, a_number_is_not_given_to_the_next_queue_pair) {
    Pair pair;
    std::set<uint32_t> seen = {pair.server.qpn.value};
    for (int i = 0; i < 100; ++i) {
        const Qpn qpn = pair.server.create_qp();
        EXPECT_TRUE(seen.insert(qpn.value).second);
        ASSERT_EQ(pair.server.adapter.queue_pairs().destroy(qpn), Refusal::none);
    }
}

TEST(Ghosts, a_successor_that_begins_elsewhere_does_not_take_numbers_of_the_adapter_before_it) {
    Adapter before({.first_use = 250});
    Adapter successor({.first_use = 3});
    std::set<uint32_t> seen;
    for (Adapter* adapter : {&before, &successor})
        for (int i = 0; i < 100; ++i) {
            const CqId cq = adapter->completions().create(1);
            const auto qpn = adapter->queue_pairs().create({.type = QpType::uc,
                                                            .pd = adapter->memory().create_pd(),
                                                            .send_cq = cq,
                                                            .receive_cq = cq});
            ASSERT_TRUE(qpn);
            EXPECT_TRUE(seen.insert(qpn->value).second);
        }
}

TEST(Ghosts, a_number_that_is_used_again_does_not_take_packets_of_its_first_use) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 64, .remote_offset = 0});
    pair.run();
    Sent ghost = pair.wire.log[0];
    ghost.packet.payload = wire::Payload::memory(ghost.payload.data());
    const Qpn number = pair.server.qpn;
    ASSERT_EQ(pair.server.adapter.queue_pairs().destroy(number), Refusal::none);
    // Until the number comes around again.
    Qpn again{};
    for (int i = 0; i < 10'000 && again != number; ++i) {
        if (i != 0) pair.server.adapter.queue_pairs().destroy(again);
        again = pair.server.create_qp();
    }
    ASSERT_EQ(again, number);
    pair.server.qpn = again;
    pair.server.connect(pair.client, Psn{0x20'0000}, Psn{0x33});
    std::fill_n(pair.server.memory.begin(), 64, std::byte{1});
    pair.inject(ghost.packet, pair.server.endpoint);  // its PSN lies in the past of the new one
    EXPECT_EQ(pair.server.memory[0], std::byte{1});
    EXPECT_EQ(pair.server.memory[63], std::byte{1});
    EXPECT_EQ(pair.server.state(), QpState::rts);
}

TEST(Ghosts, an_acknowledgement_of_a_psn_that_was_never_sent_is_dropped) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 3000});
    pair.wire.drop_if([](const Packet&) { return true; });
    pair.run(1_us);
    for (const uint32_t psn : {0x10'0003u, 0x10'0100u, 0x0f'ffffu, 0x80'0000u}) {
        Packet ack = pair.forged(pair.client, Operation::acknowledge, Psn{psn});
        ack.extended.ack.syndrome = wire::kNoCredits;
        pair.inject(ack, pair.client.endpoint);
    }
    pair.client.drain();
    EXPECT_TRUE(pair.client.sends.empty());
    EXPECT_EQ(pair.client.counters().dropped_silently, 4u);
    EXPECT_EQ(pair.client.state(), QpState::rts);
}

TEST(Ghosts, a_nak_of_a_psn_that_was_never_sent_ends_nothing) {
    Pair pair;
    Packet nak = pair.forged(pair.client, Operation::acknowledge, Psn{0x10'0000});
    nak.extended.ack.syndrome = wire::syndrome_of(wire::NakCode::remote_access_error);
    pair.inject(nak, pair.client.endpoint);
    EXPECT_EQ(pair.client.state(), QpState::rts);
    EXPECT_EQ(pair.client.counters().dropped_silently, 1u);
}

TEST(Ghosts, a_timer_of_a_queue_pair_that_is_gone_finds_nothing_to_do) {
    Pair pair;
    pair.wire.drop_if([](const Packet&) { return true; });
    pair.client.post({.work = Work::write, .length = 3000});
    pair.run(1_us);
    ASSERT_EQ(pair.client.adapter.queue_pairs().destroy(pair.client.qpn), Refusal::none);
    pair.client.adapter.on_timer(pair.now + 10_s);
    EXPECT_EQ(pair.client.adapter.next_deadline(), Instant::never());
    EXPECT_EQ(pair.client.adapter.queue_pairs().count(), 0u);
}

}  // namespace
}  // namespace tulle::transport
