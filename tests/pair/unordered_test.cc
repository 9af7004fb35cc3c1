// Packets in any order: data goes to its place as it comes, a message completes when it is whole,
// and what is missing goes again and nothing else.
#include <gtest/gtest.h>

#include <set>

#include "base/guarded_copy.h"
#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;
using wire::Operation;

PairOptions unordered(Delivery delivery = Delivery::unordered) {
    PairOptions options;
    options.loss = LossPolicy::selective_repeat;
    options.delivery = delivery;
    options.paths = {PathPolicy::oblivious, 16};
    options.reorder_tolerance = 64;
    options.timeouts = {100_us, 50_us, 3};
    return options;
}

void expect_all_written(Pair& pair, uint32_t length) {
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, length));
}

TEST(Unordered, packets_of_a_message_have_many_entropy_values) {
    Pair pair(unordered());
    pair.client.post({.work = Work::write, .length = 32 * 1024});
    pair.run();
    expect_all_written(pair, 32 * 1024);
    std::set<uint16_t> values;
    for (const Sent& sent : pair.wire.log)
        if (sent.to == pair.server.endpoint) values.insert(sent.packet.entropy);
    EXPECT_EQ(values.size(), 16u);
}

TEST(Unordered, an_answer_echoes_the_packet_that_caused_it) {
    Pair pair(unordered());
    pair.client.post({.work = Work::write, .length = 8 * 1024});
    pair.run();
    const Sent& last = pair.wire.find(Operation::write_last);
    const Sent& answer = pair.wire.find(Operation::acknowledge);
    EXPECT_EQ(answer.packet.entropy, last.packet.entropy);
    EXPECT_EQ(answer.packet.srq_or_ee, last.packet.psn().value);
    EXPECT_TRUE(answer.packet.has_selective_ack());
}

TEST(Unordered, data_is_in_its_place_before_its_turn) {
    for (const Delivery delivery : {Delivery::placed, Delivery::unordered}) {
        Pair pair(unordered(delivery));
        pair.wire.delay(Operation::write_first, 1, 20_us);
        pair.client.post({.work = Work::write, .length = 8 * 1024});
        pair.run(10_us);
        EXPECT_TRUE(same_bytes(pair.client, 1024, pair.server, 1024, 7 * 1024));
        EXPECT_FALSE(same_bytes(pair.client, 0, pair.server, 0, 1024));
        pair.run();
        expect_all_written(pair, 8 * 1024);
        EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
    }
}

// Copies to the server's memory fail, as they do where the program has unmapped it.
class GoneMemory {
public:
    explicit GoneMemory(const std::vector<std::byte>& memory) {
        gone = memory;
        base::foreign_memory.store(&kGone);
    }
    ~GoneMemory() { base::foreign_memory.store(nullptr); }

private:
    static inline std::span<const std::byte> gone;
    static bool has(const void* address) noexcept {
        return address >= gone.data() && address < gone.data() + gone.size();
    }
    static bool copy(void*, const void*, size_t) noexcept { return false; }
    static bool allows(const void*, size_t, bool) noexcept { return false; }
    static constexpr base::ForeignMemory kGone{has, copy, allows};
};

TEST(Unordered, a_write_into_memory_that_was_unmapped_is_refused) {
    for (const Delivery delivery : {Delivery::placed, Delivery::unordered}) {
        Pair pair(unordered(delivery));
        const GoneMemory gone(pair.server.memory);
        pair.client.post({.work = Work::write, .length = 8 * 1024});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
    }
}

// The first packet of the first message is late; the second message is whole before it.
std::vector<uint32_t> order_of_arrival(Delivery delivery) {
    Pair pair(unordered(delivery));
    pair.wire.delay(Operation::write_first, 1, 20_us);
    for (const uint32_t message : {1u, 2u})
        pair.client.post({.work = Work::write_with_immediate,
                          .length = 4 * 1024,
                          .offset = message * 4096,
                          .remote_offset = message * 4096,
                          .immediate = message});
    pair.run();
    std::vector<uint32_t> order;
    for (int i = 0; i < 2; ++i) {
        const Completion completion = pair.server.receive_completion();
        EXPECT_EQ(completion.byte_count, 4096u);
        order.push_back(completion.immediate_or_rkey);
    }
    EXPECT_TRUE(same_bytes(pair.client, 4096, pair.server, 4096, 8192));
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 0u);
    return order;
}

TEST(Unordered, a_message_completes_when_it_is_whole_whatever_is_missing_before_it) {
    EXPECT_EQ(order_of_arrival(Delivery::unordered), (std::vector<uint32_t>{2, 1}));
}

TEST(Unordered, placed_data_completes_in_order) {
    EXPECT_EQ(order_of_arrival(Delivery::placed), (std::vector<uint32_t>{1, 2}));
}

TEST(Unordered, a_send_completes_before_one_that_was_sent_earlier) {
    Pair pair(unordered());
    pair.wire.delay(Operation::send_first, 1, 20_us);
    pair.client.post({.work = Work::send, .length = 3000, .id = 1});
    pair.client.post({.work = Work::send_with_immediate,
                      .length = 2000,
                      .offset = 8192,
                      .immediate = 77,
                      .id = 2});
    pair.run();
    const Completion first = pair.server.receive_completion();
    EXPECT_EQ(first.byte_count, 2000u);
    EXPECT_EQ(first.immediate_or_rkey, 77u);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 3000u);
    EXPECT_EQ(pair.client.completion().id, 1u);  // the requester's order is that of posting
    EXPECT_EQ(pair.client.completion().id, 2u);
}

TEST(Unordered, holes_are_repaired_and_nothing_else_goes_again) {
    for (const Delivery delivery : {Delivery::placed, Delivery::unordered}) {
        PairOptions options = unordered(delivery);
        options.reorder_tolerance = 4;
        Pair pair(options);
        for (const uint64_t n : {3u, 4u, 9u, 21u}) pair.wire.drop(Operation::write_middle, n);
        pair.client.post({.work = Work::write, .length = 40 * 1024});
        pair.run();
        expect_all_written(pair, 40 * 1024);
        EXPECT_EQ(pair.client.counters().retransmitted_packets, 4u);
        EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
    }
}

TEST(Unordered, a_trimmed_packet_is_told_at_once_and_goes_again_without_a_timeout) {
    Pair pair(unordered());
    uint32_t left = 3;
    pair.wire.change([&](Packet& packet) {
        const bool is_it = packet.payload_length == 1024 && packet.psn_bits % 5 == 0;
        if (!is_it || left == 0) return;
        --left;
        packet.trimmed = true;
        packet.payload_length = 0;
    });
    pair.client.post({.work = Work::write, .length = 40 * 1024});
    pair.run();
    expect_all_written(pair, 40 * 1024);
    EXPECT_EQ(pair.client.counters().retransmitted_packets, 3u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Unordered, a_duplicate_is_acknowledged_and_not_counted_twice) {
    Pair pair(unordered());
    pair.wire.delay(Operation::write_first, 1, 20_us);
    for (const uint64_t n : {1u, 2u}) pair.wire.repeat(Operation::write_middle, n);
    pair.wire.repeat(Operation::write_last_with_immediate);
    pair.client.post({.work = Work::write_with_immediate, .length = 4 * 1024, .immediate = 5});
    pair.run();
    expect_all_written(pair, 4 * 1024);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 4096u);
    EXPECT_EQ(pair.server.completions_waiting(), 0u);
}

TEST(Unordered, a_read_waits_for_its_turn_and_its_answers_come_in_any_order) {
    Pair pair(unordered());
    pair.wire.delay(Operation::write_only, 1, 5_us);
    pair.wire.delay(Operation::read_response_middle, 2, 5_us);
    pair.client.post({.work = Work::write, .length = 512});
    pair.client.post({.work = Work::read, .length = 8 * 1024, .offset = 16384});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
    // What was read is what was written before.
    EXPECT_TRUE(same_bytes(pair.client, 16384, pair.client, 0, 512));
}

TEST(Unordered, without_a_receive_the_message_waits_and_comes_once) {
    PairOptions options = unordered();
    options.receives = 0;
    options.grants_credits = false;
    Pair pair(options);
    pair.client.post({.work = Work::write_with_immediate, .length = 4096, .immediate = 9});
    pair.run(20_us);
    EXPECT_EQ(pair.server.completions_waiting(), 0u);
    pair.server.post_receive(0, 0);
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().immediate_or_rkey, 9u);
    expect_all_written(pair, 4096);
}

TEST(Unordered, those_who_come_later_leave_a_receive_for_those_who_are_missing) {
    PairOptions options = unordered();
    options.receives = 1;
    options.grants_credits = false;
    options.max_packets_outstanding = 3;
    Pair pair(options);
    pair.wire.drop(Operation::send_only, 1);
    pair.client.post({.work = Work::send, .length = 100, .id = 1});
    pair.client.post({.work = Work::send, .length = 3000, .id = 2});
    pair.run(20_ms);
    // The one receive is for the first message; the second, which was there before, waits.
    EXPECT_EQ(pair.server.receive_completion().byte_count, 100u);
    pair.server.post_receive(0, 8192);
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().byte_count, 3000u);
    EXPECT_EQ(pair.client.completion().id, 1u);
    EXPECT_EQ(pair.client.completion().id, 2u);
}

TEST(Unordered, a_key_goes_when_all_that_was_sent_before_has_come) {
    Pair pair(unordered());
    const uint32_t key = bind_window(pair, 0, 4096, kRemoteWrite);
    pair.wire.drop(Operation::write_last, 1);
    pair.client.post({.work = Work::write, .length = 2048, .rkey = key});
    pair.client.post({.work = Work::send_with_invalidate, .length = 32, .rkey = key});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Unordered, what_is_wrong_with_an_early_packet_is_said_when_its_turn_comes) {
    Pair pair(unordered());
    pair.wire.delay(Operation::write_first, 1, 20_us);
    pair.client.post({.work = Work::write, .length = 4096});
    pair.client.post({.work = Work::write, .length = 4096, .rkey = 0xdead});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.client.completion().status, Status::remote_access_error);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 0, 4096));
}

TEST(Unordered, a_send_longer_than_its_receive_ends_both_sides) {
    PairOptions options = unordered();
    options.receive_bytes = 2000;
    Pair pair(options);
    pair.wire.delay(Operation::send_first, 1, 20_us);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::remote_invalid_request);
    EXPECT_EQ(pair.server.receive_completion().status, Status::local_length_error);
}

TEST(Unordered, what_is_too_far_ahead_is_dropped_and_comes_again) {
    PairOptions server = unordered();
    server.reorder_packets = 4;
    Pair pair(unordered(), server);
    pair.wire.drop(Operation::write_first);
    pair.client.post({.work = Work::write, .length = 10 * 1024});
    pair.run();
    expect_all_written(pair, 10 * 1024);
    EXPECT_EQ(pair.server.counters().dropped_too_early, 6u);
}

TEST(Unordered, a_timeout_leaves_the_path_out_that_it_was_about) {
    PairOptions options = unordered();
    options.paths.policy = PathPolicy::bitmap;
    Pair pair(options);
    pair.wire.drop(Operation::write_only);
    pair.client.post({.work = Work::write, .length = 100});
    pair.run();
    expect_all_written(pair, 100);
    const uint16_t bad = pair.wire.find(Operation::write_only, 1).packet.entropy;
    EXPECT_NE(pair.wire.find(Operation::write_only, 2).packet.entropy, bad);
    EXPECT_GT(pair.client.qp().spread->paths.penalty_of(bad), 0u);
}

}  // namespace
}  // namespace tulle::transport
