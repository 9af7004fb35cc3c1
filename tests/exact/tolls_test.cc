// What a packet pays between memory and the adapter, and what processors pay for all of them.
#include "lab.h"

namespace tulle::exact {
namespace {

constexpr uint64_t kMtu = 4096;
constexpr uint64_t kPackets = 1000;

base::Rate gigabits(uint64_t gbps) {
    return base::Rate::bits_per_second(gbps * kGiga);
}

// How long so many packets take more, once the first is under way.
Duration of_packets(const Lab& setup, uint64_t packets) {
    return completion(setup, 2 * packets * kMtu) - completion(setup, packets * kMtu);
}

Duration payload_at(uint64_t gbps, uint64_t packets) {
    return gigabits(gbps).time_for(packets * kMtu);
}

TEST(Tolls, one_that_is_slower_than_the_line_is_the_goodput) {
    for (const uint64_t gbps : {25u, 100u, 320u}) {
        Lab sends = plain("pair");
        sends.host.send_toll.rate = gigabits(gbps);
        EXPECT_EQ(of_packets(sends, kPackets), payload_at(gbps, kPackets)) << gbps;
        Lab receives = plain("pair");
        receives.host.receive_toll.rate = gigabits(gbps);
        receives.host.receive_buffer_bytes = 1 << 30;
        EXPECT_EQ(of_packets(receives, kPackets), payload_at(gbps, kPackets)) << gbps;
    }
}

TEST(Tolls, one_a_packet_adds_to_that_of_its_bytes) {
    for (const bool both : {false, true}) {
        Lab setup = plain("pair");
        setup.host.send_toll.per_packet = 100_ns;
        if (both) setup.host.send_toll.rate = gigabits(320);
        const Duration bytes = both ? payload_at(320, kPackets) : Duration{};
        EXPECT_EQ(of_packets(setup, kPackets),
                  (Duration{100'000 * static_cast<int64_t>(kPackets)} + bytes));
    }
}

TEST(Tolls, the_slower_of_the_two_ends_tells) {
    Lab setup = plain("pair");
    setup.host.send_toll.rate = gigabits(200);
    setup.host.receive_toll.rate = gigabits(80);
    setup.host.receive_buffer_bytes = 1 << 30;
    EXPECT_EQ(of_packets(setup, kPackets), payload_at(80, kPackets));
}

TEST(Tolls, of_a_sender_do_not_hold_up_what_is_sent_first) {
    Lab setup = plain("pair");
    const Duration without = completion(setup, 64);
    setup.host.send_toll.rate = gigabits(10);
    EXPECT_EQ(completion(setup, 64), without);
}

// The packet as it comes in, so its time on the line counts; and for its payload alone, of which an
// acknowledgement has none.
TEST(Tolls, of_a_receiver_are_paid_before_the_adapter_has_a_packet) {
    Lab setup = plain("pair");
    const Duration without = completion(setup, 64);
    setup.host.receive_toll.rate = gigabits(10);
    const base::Rate line = setup.fabric.link.rate;
    const Duration packet = line.time_for(kOverhead + kReth + 64);
    EXPECT_EQ(completion(setup, 64), without + gigabits(10).time_for(64) - packet);
    setup.host.receive_toll = {.per_packet = 1_us, .rate = {}};
    EXPECT_EQ(completion(setup, 64), without + 2_us - packet - line.time_for(kAckBytes));
}

TEST(Tolls, that_keep_up_with_the_line_change_nothing) {
    Lab setup = plain("pair");
    const Duration small = completion(setup, 64);
    const Duration large = completion(setup, kPackets * kMtu);
    setup.host.send_toll.rate = setup.host.receive_toll.rate = gigabits(440);
    setup.host.send_toll.per_packet =
        setup.host.receive_toll.per_packet = {1'720};  // an ACK's time
    EXPECT_EQ(completion(setup, 64), small);
    EXPECT_EQ(completion(setup, kPackets * kMtu), large);
}

// Lossless: the sender is paused, and loses nothing.
TEST(Tolls, of_a_receiver_pause_its_link_where_it_may_be_paused) {
    Lab setup = plain("star:hosts=2");
    setup.fabric.flow_control = fabric::FlowControl::pfc;
    setup.fabric.pfc.priorities = 1;
    setup.host.receive_toll.rate = gigabits(100);
    setup.flows = {Flow{.source = 0, .destination = 1, .bytes = 4096 * kMtu}};
    const Result result = run(setup);
    EXPECT_TRUE(result.flows[0].finished);
    EXPECT_GT(result.totals.pause_frames, 0u);
    for (const uint64_t count : result.totals.dropped) EXPECT_EQ(count, 0u);
    EXPECT_GE(result.flows[0].completion, payload_at(100, 4096));
    EXPECT_LE(result.flows[0].completion, payload_at(100, 4096) + 5_us);
}

// Twelve packets arrive while memory takes one. The buffer has room for four of them, so twelve get
// in only if credits go back meanwhile.
TEST(Tolls, of_a_sender_do_not_hold_up_its_credits) {
    Lab setup = plain("star:hosts=14");
    setup.fabric.flow_control = fabric::FlowControl::credits;
    setup.fabric.credits.lane_buffer_bytes = 16 << 10;
    setup.host.send_toll.rate = base::Rate::bits_per_second(kMtu * 8 * 100'000);  // 10 us
    for (uint32_t i = 2; i < 14; ++i)
        setup.flows.push_back({.source = i, .destination = 0, .bytes = 100 * kMtu});
    const auto last = [&] {
        Duration latest{};
        for (const sim::FlowResult& flow : run(setup).flows)
            if (flow.finished) latest = std::max(latest, flow.completion);
        return latest;
    };
    const Duration alone = last();
    setup.flows.push_back({.source = 0, .destination = 1, .bytes = 100 * kMtu});
    EXPECT_LE(last(), alone + 10_us);
}

TEST(Processors, pay_for_messages_packets_and_bytes_at_both_ends) {
    Lab setup = plain("pair");
    setup.host.cpu = {.per_message_sent = 200_ns,
                      .per_message_received = 100_ns,
                      .per_packet_sent = 10_ns,
                      .per_packet_received = 20_ns,
                      .per_byte_sent_e18 = 50'000'000,  // 50 ps
                      .per_byte_received_e18 = 100'000'000};
    setup.flows = {
        Flow{.source = 0, .destination = 1, .bytes = 10 * kMtu, .operation = Verb::send}};
    const Result result = run(setup);
    EXPECT_EQ(result.payload_bytes, 10 * kMtu);
    // Ten packets and the acknowledgement of the last.
    EXPECT_EQ(result.cpu, 300_ns + (10_ns + 20_ns) * 11 + Duration{150 * 10 * int64_t{kMtu}});
    setup.flows[0].operation = Verb::write;  // of which nobody is told over there
    EXPECT_EQ(run(setup).cpu, result.cpu - 100_ns);
}

// A receiver without room loses packets: those that go again are work again, and payload once.
TEST(Processors, pay_again_for_what_is_sent_again) {
    Lab setup = plain("pair");
    setup.host.loss = transport::LossPolicy::selective_repeat;
    setup.host.ack_every = 1;
    setup.host.ack_timeout = 4;
    setup.host.receive_toll.rate = gigabits(100);
    setup.host.receive_buffer_bytes = 64 << 10;
    setup.host.cpu.per_byte_sent_e18 = 1'000'000;  // a picosecond
    setup.flows = {Flow{.source = 0, .destination = 1, .bytes = 64 * kMtu}};
    const Result result = run(setup);
    ASSERT_TRUE(result.flows[0].finished);
    EXPECT_GT(result.totals.retransmitted, 0u);
    EXPECT_EQ(result.payload_bytes, 64 * kMtu);
    EXPECT_EQ(result.cpu,
              (Duration{static_cast<int64_t>((64 + result.totals.retransmitted) * kMtu)}));
}

}  // namespace
}  // namespace tulle::exact
