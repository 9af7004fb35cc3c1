// Packets whose payload a switch has cut off: the PSN is lost and known to be, so it is asked for
// at once. They are neither requests nor answers; least of all wrong ones, which would end the
// connection.
#include <gtest/gtest.h>

#include <algorithm>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

// Of the packets of an operation that arrive, counted from 1, those in `numbers` are cut.
void trim(Pair& pair, Operation operation, std::vector<uint64_t> numbers) {
    pair.wire.change([operation, numbers = std::move(numbers), n = uint64_t{0}](Packet& p) mutable {
        if (wire::operation_of(static_cast<uint8_t>(p.opcode)) != operation) return;
        ++n;
        if (std::find(numbers.begin(), numbers.end(), n) == numbers.end()) return;
        p.trimmed = true;
        p.payload_length = 0;
        p.payload = {};
    });
}

void expect_written(Pair& pair, uint32_t length) {
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, length));
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
    EXPECT_EQ(pair.client.counters().packet_seq_err, 1u);
    EXPECT_EQ(pair.client.state(), QpState::rts);
    EXPECT_EQ(pair.server.state(), QpState::rts);
}

TEST(Trimmed, the_last_packet_of_a_write_is_asked_for_at_once) {
    for (const LossPolicy loss : {LossPolicy::go_back_n, LossPolicy::selective_repeat}) {
        Pair pair({.loss = loss});
        trim(pair, Operation::write_last, {1});
        pair.client.post({.work = Work::write, .length = 5 * 1024});
        pair.run();
        expect_written(pair, 5 * 1024);
        EXPECT_EQ(pair.client.counters().retransmitted_packets, 1u);
    }
}

TEST(Trimmed, go_back_n_sends_everything_from_there_again) {
    Pair pair;
    trim(pair, Operation::write_middle, {2});  // the third of ten
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    expect_written(pair, 10 * 1024);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 8u);
    EXPECT_EQ(pair.server.counters().out_of_sequence, 7u);  // told of already
}

TEST(Trimmed, selective_repeat_sends_this_one_again) {
    Pair pair({.loss = LossPolicy::selective_repeat});
    trim(pair, Operation::write_middle, {2});
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    expect_written(pair, 10 * 1024);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 1u);
}

TEST(Trimmed, several_in_a_row_are_asked_for_at_once_by_selective_repeat) {
    Pair pair({.loss = LossPolicy::selective_repeat});
    trim(pair, Operation::write_middle, {6, 7, 8});  // and nothing but the last behind them
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 10 * 1024));
    EXPECT_EQ(pair.client.counters().packet_seq_err, 1u);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 3u);
    // Cut on the way there, told on the way back: all three go again after one round trip.
    for (const Sent& sent : pair.wire.log)
        EXPECT_TRUE(sent.to == pair.client.endpoint || sent.at <= Instant{} + 2_us);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

// The lane of trimmed packets is faster: headers overtake packets that are whole.
TEST(Trimmed, headers_that_overtake_are_told_of_when_their_turn_comes) {
    for (const LossPolicy loss : {LossPolicy::go_back_n, LossPolicy::selective_repeat}) {
        Pair pair({.loss = loss});
        trim(pair, Operation::write_last, {1});
        // Selective repeat sends it again at once: by what queues hold it comes behind them.
        for (uint64_t n = 1; n <= 3; ++n) pair.wire.delay(Operation::write_middle, n, 1_us);
        pair.client.post({.work = Work::write, .length = 5 * 1024});
        pair.run();
        expect_written(pair, 5 * 1024);
        EXPECT_EQ(pair.client.counters().retransmitted_packets, 1u);
        EXPECT_EQ(pair.server.counters().out_of_sequence, 0u);
    }
}

TEST(Trimmed, a_send_takes_its_receive_once) {
    Pair pair;
    trim(pair, Operation::send_only, {1});
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 100u);
    EXPECT_TRUE(pair.server.receives.empty());
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Trimmed, a_duplicate_is_acknowledged_once_more) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 100});
    pair.run();
    const uint64_t acks = pair.wire.count(Operation::acknowledge);
    Packet packet = pair.forged(pair.server, Operation::write_only, pair.client.options.client_psn);
    packet.trimmed = true;
    pair.inject(packet, pair.server.endpoint);
    pair.run();
    EXPECT_EQ(pair.wire.count(Operation::acknowledge), acks + 1);
    EXPECT_EQ(pair.server.state(), QpState::rts);
}

TEST(Trimmed, the_answer_to_a_read_is_asked_for_again) {
    for (const Operation operation :
         {Operation::read_response_first, Operation::read_response_middle,
          Operation::read_response_last}) {
        Pair pair;
        trim(pair, operation, {1});
        pair.client.post({.work = Work::read, .length = 5 * 1024});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 5 * 1024));
        EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
        EXPECT_EQ(pair.wire.count(Operation::read_request), 2u);
    }
}

TEST(Trimmed, an_answer_that_overtakes_is_asked_for_when_its_turn_comes) {
    Pair pair;
    trim(pair, Operation::read_response_last, {1});
    pair.wire.delay(Operation::read_response_middle, 3, 5_us);
    pair.client.post({.work = Work::read, .length = 5 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 5 * 1024));
    // The second request is for the last answer alone.
    EXPECT_EQ(pair.wire.find(Operation::read_request, 2).packet.extended.rdma.dma_length, 1024u);
}

// What all of the rest would meet is the queue that cut the first answer.
TEST(Trimmed, go_back_n_asks_for_as_many_answers_again_as_its_window_takes) {
    Pair pair({.max_packets_outstanding = 4});
    trim(pair, Operation::read_response_middle, {3});  // the fourth of 20
    pair.client.post({.work = Work::read, .length = 20 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 20 * 1024));
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
    // Seventeen are missing. What is left of the first burst tells nothing.
    ASSERT_EQ(pair.wire.count(Operation::read_request), 6u);
    for (uint64_t n = 2; n <= 5; ++n)
        EXPECT_EQ(pair.wire.find(Operation::read_request, n).packet.extended.rdma.dma_length, 4096u)
            << n;
    EXPECT_EQ(pair.wire.find(Operation::read_request, 6).packet.extended.rdma.dma_length, 1024u);
    EXPECT_EQ(pair.client.counters().implied_nak_seq_err, 1u);
}

// A part is a request of its own, and the peer takes one at a time. The last answer to a part comes
// late, when the window has room for more.
TEST(Trimmed, the_next_part_of_a_read_waits_for_the_one_before) {
    Pair pair({.max_reads = 1, .max_incoming_reads = 1, .max_packets_outstanding = 4});
    trim(pair, Operation::read_response_first, {1});
    pair.wire.delay(Operation::read_response_last, 2, 5_us);
    pair.client.post({.work = Work::read, .length = 12 * 1024});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 12 * 1024));
    ASSERT_EQ(pair.wire.count(Operation::read_request), 4u);
    for (uint64_t n = 2; n <= 4; ++n)
        EXPECT_EQ(pair.wire.find(Operation::read_request, n).packet.extended.rdma.dma_length, 4096u)
            << n;
}

// Each trimmed answer is a signal to congestion control: here its window is 3, then 2, then 1.
TEST(Trimmed, parts_of_a_read_may_shrink_while_larger_ones_are_under_way) {
    Pair pair;
    const NsccSettings settings{
        .base_rtt = 2_us, .packet_bytes = 1024, .line_rate_bps = 8'192'000'000};
    pair.client.adapter.queue_pairs().set_congestion_control(pair.client.qpn,
                                                             CongestionControl(Nscc(settings)));
    pair.wire.change([first = 0, middle = 0](Packet& packet) mutable {
        const Operation operation = wire::operation_of(static_cast<uint8_t>(packet.opcode));
        const bool is_fourth = operation == Operation::read_response_middle && ++middle == 3;
        const bool is_again = operation == Operation::read_response_first && ++first == 2;
        if (!is_fourth && !is_again) return;
        packet.trimmed = true;
        packet.payload_length = 0;
        packet.payload = {};
    });
    // The last of the two that are asked for then comes after the first was asked for alone.
    pair.wire.delay(Operation::read_response_last, 2, 5_us);
    pair.client.post({.work = Work::read, .length = 10 * 1024});
    pair.run();
    const auto asked = [&](uint64_t n) {
        return pair.wire.find(Operation::read_request, n).packet.extended.rdma.dma_length;
    };
    EXPECT_EQ(asked(2), 2048u);
    EXPECT_EQ(asked(3), 1024u);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 10 * 1024));
}

// The window leaves one answer to the READ behind the WRITE. The peer carries out that part, and
// its answer is lost. A repeat for more than that would be no duplicate that the peer knows.
TEST(Trimmed, a_part_of_a_read_is_asked_for_again_as_it_was) {
    Pair pair({.max_packets_outstanding = 2});
    pair.wire.drop(Operation::write_only);
    pair.wire.drop(Operation::read_request);
    pair.wire.drop(Operation::read_response_only);
    pair.client.post({.work = Work::write, .length = 100, .offset = 0x4000});
    pair.client.post({.work = Work::read, .length = 2048});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 2048));
    EXPECT_EQ(pair.wire.find(Operation::read_request, 2).packet.extended.rdma.dma_length, 1024u);
}

TEST(Trimmed, an_unreliable_message_is_lost) {
    Pair pair({.type = QpType::uc});
    trim(pair, Operation::send_middle, {1});
    pair.client.post({.work = Work::send, .length = 3000});
    pair.client.post({.work = Work::send, .length = 200});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().byte_count, 200u);
    EXPECT_TRUE(pair.server.receives.empty());
    EXPECT_EQ(pair.server.state(), QpState::rts);
}

}  // namespace
}  // namespace tulle::transport
