// Peers that keep to no rule: whatever comes, nothing crashes, no byte outside the registered
// region is touched, and other queue pairs go on.
#include <gtest/gtest.h>

#include "base/random.h"
#include "pair.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

constexpr Psn kClientPsn{0x10'0000};

Packet write_packet(Pair& pair, Operation operation, Psn psn, uint32_t length, uint32_t announced) {
    Packet packet = pair.forged(pair.server, operation, psn, length);
    packet.ack_request = true;
    packet.extended.rdma = {Host::kBase, wire::RKey{pair.server.key}, announced, 0, {}, {}};
    return packet;
}

uint8_t answer_to(Pair& pair, const Packet& packet) {
    pair.inject(packet, pair.server.endpoint);
    Packet answer;
    while (pair.server.adapter.poll_transmit(pair.now, Lanes::open(), answer))
        if (wire::operation_of(answer.opcode) == Operation::acknowledge)
            return answer.extended.ack.syndrome;
    return 0xff;
}

const uint8_t kInvalid = wire::syndrome_of(wire::NakCode::invalid_request);

TEST(Hostile, a_packet_from_somebody_else_is_not_heard) {
    for (const uint32_t source : {0u, 3u, 77u}) {
        Pair pair;
        Packet packet = pair.forged(pair.server, Operation::send_only, kClientPsn, 8);
        packet.source = source;
        EXPECT_EQ(answer_to(pair, packet), 0xff);
        pair.server.drain();
        EXPECT_TRUE(pair.server.receives.empty());
        EXPECT_EQ(pair.server.counters().dropped_silently, 1u);
    }
}

TEST(Hostile, a_packet_of_another_service_is_not_heard) {
    for (const QpType type : {QpType::rc, QpType::uc, QpType::ud}) {
        for (unsigned service = 0; service < 8; ++service) {
            Pair pair({.type = type});
            const auto opcode = wire::opcode_of(static_cast<wire::Service>(service), Operation{4});
            if (wire::service_of(opcode) == pair.server.qp().service()) continue;
            Packet packet = pair.forged(pair.server, Operation::send_only, kClientPsn, 8);
            packet.opcode = opcode;
            packet.extended.send = {QKey{0x1234}, Qpn{5}, 0};
            pair.inject(packet, pair.server.endpoint);
            pair.run();
            EXPECT_EQ(pair.server.completions_waiting(), 0u);
            EXPECT_EQ(pair.server.state(), QpState::rts);
        }
    }
}

TEST(Hostile, an_opcode_that_does_not_exist_is_an_invalid_request) {
    for (const uint8_t operation : {0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f}) {
        Pair pair;
        const Packet packet = pair.forged(pair.server, Operation{operation}, kClientPsn, 8);
        EXPECT_EQ(answer_to(pair, packet), kInvalid) << int{operation};
        EXPECT_EQ(pair.server.state(), QpState::error);
    }
}

TEST(Hostile, middle_and_last_without_first_are_invalid_requests) {
    for (const Operation operation :
         {Operation::send_middle, Operation::send_last, Operation::send_last_with_immediate,
          Operation::send_last_with_invalidate, Operation::write_middle, Operation::write_last,
          Operation::write_last_with_immediate}) {
        Pair pair;
        EXPECT_EQ(answer_to(pair, write_packet(pair, operation, kClientPsn, 1024, 0)), kInvalid);
        EXPECT_EQ(pair.server.events(), std::vector{EventKind::qp_request_error});
    }
}

TEST(Hostile, another_message_within_a_message_is_an_invalid_request) {
    for (const Operation second :
         {Operation::send_first, Operation::send_only, Operation::send_middle, Operation::send_last,
          Operation::read_request, Operation::fetch_add, Operation::write_first,
          Operation::write_only}) {
        Pair pair;
        Packet first = write_packet(pair, Operation::write_first, kClientPsn, 1024, 4096);
        first.ack_request = false;
        pair.inject(first, pair.server.endpoint);
        const Packet packet = write_packet(pair, second, wire::psn_plus(kClientPsn, 1), 1024, 1024);
        EXPECT_EQ(answer_to(pair, packet), kInvalid) << int(second);
    }
}

TEST(Hostile, lengths_that_do_not_match_are_invalid_requests) {
    struct Case {
        Operation operation;
        uint32_t length;
        uint32_t announced;
    };
    for (const Case& c :
         {Case{Operation::write_first, 1023, 4096}, Case{Operation::write_first, 1025, 4096},
          Case{Operation::write_first, 1024, 1023}, Case{Operation::write_only, 100, 99},
          Case{Operation::write_only, 100, 101}, Case{Operation::write_only, 1025, 1025},
          Case{Operation::write_only, 0, 1}, Case{Operation::write_first, 1024, 0x8000'0001},
          Case{Operation::send_first, 1000, 0}, Case{Operation::send_only, 1025, 0},
          Case{Operation::send_first, 2048, 0}, Case{Operation::read_request, 0, 0x8000'0001},
          Case{Operation::atomic_write, 7, 8}, Case{Operation::atomic_write, 0, 8}}) {
        Pair pair;
        const std::vector<std::byte> before = pair.server.memory;
        const Packet packet = write_packet(pair, c.operation, kClientPsn, c.length, c.announced);
        EXPECT_EQ(answer_to(pair, packet), kInvalid) << int(c.operation) << " " << c.length;
        EXPECT_EQ(pair.server.memory, before);
    }
}

TEST(Hostile, a_write_that_goes_on_beyond_its_length_touches_nothing_there) {
    Pair pair;
    Packet packet = write_packet(pair, Operation::write_first, kClientPsn, 1024, 2048);
    packet.ack_request = false;
    pair.inject(packet, pair.server.endpoint);
    for (uint32_t i = 1; i < 4; ++i) {
        packet =
            write_packet(pair, Operation::write_middle, wire::psn_plus(kClientPsn, i), 1024, 0);
        packet.ack_request = false;
        pair.inject(packet, pair.server.endpoint);
    }
    EXPECT_EQ(pair.server.state(), QpState::error);
    EXPECT_EQ(pair.server.memory[2048], Host::pattern(2048, 2));
}

TEST(Hostile, a_last_packet_that_comes_too_early_or_is_empty_is_an_invalid_request) {
    for (const uint32_t length : {0u, 1u, 1023u}) {
        Pair pair;
        Packet packet = write_packet(pair, Operation::write_first, kClientPsn, 1024, 4096);
        packet.ack_request = false;
        pair.inject(packet, pair.server.endpoint);
        const Psn next = wire::psn_plus(kClientPsn, 1);
        EXPECT_EQ(answer_to(pair, write_packet(pair, Operation::write_last, next, length, 0)),
                  kInvalid);
    }
}

TEST(Hostile, a_psn_from_the_other_half_of_the_circle_changes_nothing) {
    for (const uint32_t ahead : {256u, 1000u, 0x7f'ffffu, 0x80'0000u, 0xff'fffeu}) {
        for (const LossPolicy policy : {LossPolicy::go_back_n, LossPolicy::selective_repeat}) {
            Pair pair({.loss = policy});
            const std::vector<std::byte> before = pair.server.memory;
            const Psn psn = wire::psn_plus(kClientPsn, ahead);
            pair.inject(write_packet(pair, Operation::write_only, psn, 100, 100),
                        pair.server.endpoint);
            EXPECT_EQ(pair.server.memory, before);
            pair.client.post({.work = Work::write, .length = 3000, .remote_offset = 0x9000});
            pair.run(1_ms);
            EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0x9000, 3000));
        }
    }
}

TEST(Hostile, answers_nobody_asked_for_are_dropped) {
    for (const Operation operation :
         {Operation::acknowledge, Operation::read_response_only, Operation::read_response_first,
          Operation::read_response_middle, Operation::read_response_last,
          Operation::atomic_acknowledge}) {
        for (const int32_t distance : {-1, 0, 1, 1000}) {
            Pair pair;
            const std::vector<std::byte> before = pair.client.memory;
            const Psn psn = wire::psn_plus(kClientPsn, static_cast<uint32_t>(distance) & 0xff'ffff);
            pair.inject(pair.forged(pair.client, operation, psn, 64), pair.client.endpoint);
            EXPECT_EQ(pair.client.memory, before);
            EXPECT_EQ(pair.client.state(), QpState::rts);
            EXPECT_EQ(pair.client.counters().dropped_silently, 1u);
        }
    }
}

TEST(Hostile, the_answer_of_a_read_to_a_write_moves_no_byte) {
    for (const Operation operation : {Operation::read_response_only, Operation::read_response_first,
                                      Operation::atomic_acknowledge}) {
        Pair pair;
        pair.wire.drop_if([](const Packet&) { return true; });
        pair.client.post({.work = Work::write, .length = 64, .offset = 1000});
        pair.run(1_us);
        const std::vector<std::byte> before = pair.client.memory;
        pair.inject(pair.forged(pair.client, operation, kClientPsn, 64), pair.client.endpoint);
        EXPECT_EQ(pair.client.memory, before);
    }
}

TEST(Hostile, a_read_response_of_the_wrong_size_is_a_bad_response) {
    struct Case {
        Operation operation;
        uint32_t length;
    };
    for (const Case& c :
         {Case{Operation::read_response_only, 1024}, Case{Operation::read_response_first, 1023},
          Case{Operation::read_response_first, 1025}, Case{Operation::read_response_first, 4096},
          Case{Operation::read_response_last, 1024}, Case{Operation::read_response_first, 0},
          Case{Operation::read_response_middle, 10}, Case{Operation::atomic_acknowledge, 0}}) {
        Pair pair;
        pair.wire.drop_if([](const Packet&) { return true; });
        pair.client.post({.work = Work::read, .length = 3000, .offset = 0x8000});
        pair.run(1_us);
        const std::vector<std::byte> before = pair.client.memory;
        pair.inject(pair.forged(pair.client, c.operation, kClientPsn, c.length),
                    pair.client.endpoint);
        EXPECT_EQ(pair.client.completion().status, Status::bad_response) << int(c.operation);
        EXPECT_EQ(pair.client.memory, before);
    }
}

TEST(Hostile, a_last_read_response_too_long_or_too_short_is_a_bad_response) {
    for (const uint32_t length : {0u, 951u, 953u, 1024u}) {
        Pair pair;
        pair.wire.drop(Operation::read_response_last);
        pair.client.post({.work = Work::read, .length = 3000, .offset = 0x8000});
        pair.run(100_us);
        const Psn last = wire::psn_plus(kClientPsn, 2);
        pair.inject(pair.forged(pair.client, Operation::read_response_last, last, length),
                    pair.client.endpoint);
        EXPECT_EQ(pair.client.completion().status, Status::bad_response);
        EXPECT_EQ(pair.client.memory[0x8000 + 2048], Host::pattern(0x8000 + 2048, 1));
    }
}

TEST(Hostile, a_response_to_an_unreliable_connection_is_dropped) {
    Pair pair({.type = QpType::uc});
    for (const Operation operation : {Operation::acknowledge, Operation::read_response_only})
        pair.inject(pair.forged(pair.server, operation, kClientPsn, 8), pair.server.endpoint);
    EXPECT_EQ(pair.server.state(), QpState::rts);
    EXPECT_EQ(pair.server.completions_waiting(), 0u);
}

TEST(Hostile, packets_for_numbers_that_do_not_exist_are_counted) {
    Pair pair;
    Packet packet = pair.forged(pair.server, Operation::send_only, kClientPsn, 8);
    for (const uint32_t qpn : {0u, 1u, 2u, 3u, 0xfffffu, 0x100002u, 0xfffffeu}) {
        if (qpn == pair.server.qpn.value) continue;
        packet.set_dest_qp(Qpn{qpn});
        pair.inject(packet, pair.server.endpoint);
    }
    EXPECT_EQ(pair.server.counters().dropped_no_qp, 6u);
}

TEST(Hostile, a_reserved_syndrome_is_dropped) {
    Pair pair;
    pair.wire.drop_if([](const Packet&) { return true; });
    pair.client.post({.work = Work::write, .length = 64});
    pair.run(1_us);
    Packet ack = pair.forged(pair.client, Operation::acknowledge, kClientPsn);
    ack.extended.ack.syndrome = wire::syndrome_of(wire::AckKind::reserved, 0);
    pair.inject(ack, pair.client.endpoint);
    EXPECT_EQ(pair.client.counters().dropped_silently, 1u);
    EXPECT_EQ(pair.client.state(), QpState::rts);
}

// Packets of random fields, most of them nearly right, while work goes on in both directions.
TEST(Hostile, a_thousand_random_packets_touch_nothing_outside_the_region) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
        base::RandomStream random({seed, 0x686f, 1});
        const QpType type = seed % 4 == 3 ? QpType::uc : seed % 8 == 6 ? QpType::ud : QpType::rc;
        const LossPolicy policy =
            seed % 2 == 0 ? LossPolicy::go_back_n : LossPolicy::selective_repeat;
        // The region is the first quarter: everything behind it is forbidden ground.
        Pair pair({.type = type, .loss = policy, .receives = 0, .region_bytes = 1 << 18});
        const std::vector<std::byte> before = pair.server.memory;
        for (uint32_t i = 0; i < 1000; ++i) {
            if (i % 50 == 0 && pair.server.state() == QpState::error) {
                pair.server.go_to(QpState::reset);
                pair.server.connect(pair.client, kClientPsn, {});
            }
            if (i % 10 == 0) pair.server.post_receive(0x3'0000, 3000);
            if (i % 10 == 5)
                pair.server.post({.work = type == QpType::rc ? Work::read : Work::send,
                                  .length = static_cast<uint32_t>(random.below(3000))});
            Packet packet =
                pair.forged(pair.server, Operation{static_cast<uint8_t>(random.below(32))},
                            wire::psn_plus(pair.server.qp().responder.expected,
                                           static_cast<uint32_t>(random.below(4))),
                            static_cast<uint32_t>(random.below(3)) * 512);
            if (random.chance(1, 4))
                packet.set_psn(wire::psn_plus(pair.server.qp().requester.unacknowledged,
                                              static_cast<uint32_t>(random.below(4))));
            packet.ack_request = random.chance(1, 2);
            const uint64_t address = Host::kBase + (1 << 18) - random.below(3000);
            if (random.chance(1, 3)) {
                packet.extended.atomic = {address & ~uint64_t{7}, random.next(), 0,
                                          wire::RKey{pair.server.key}};
            } else if (random.chance(1, 2)) {
                packet.extended.rdma = {address,
                                        wire::RKey{pair.server.key},
                                        static_cast<uint32_t>(random.below(4)) * 512,
                                        0,
                                        QKey{0x1234},
                                        Qpn{3}};
            } else {
                packet.extended.send = {QKey{0x1234}, Qpn{3}, static_cast<uint32_t>(random.next())};
            }
            pair.inject(packet, pair.server.endpoint);
            Packet out;
            for (int n = 0; n < 20; ++n)
                if (!pair.server.adapter.poll_transmit(pair.now, Lanes::open(), out)) break;
            pair.now += 1_us;
            pair.server.adapter.on_timer(pair.now);
            pair.server.drain();
        }
        ASSERT_TRUE(std::equal(before.begin() + (1 << 18), before.end(),
                               pair.server.memory.begin() + (1 << 18)));
    }
}

}  // namespace
}  // namespace tulle::transport
