// Where the time of a run went, against closed forms: each share to the picosecond, and all of them
// together the completion time.
#include <algorithm>
#include <map>

#include "lab.h"
#include "sim/testing.h"

namespace tulle::exact {
namespace {

using fabric::ShareKind;

constexpr int64_t kPs = 20;  // a byte at 400 Gb/s
constexpr int64_t kDelay = 1'000'000;
constexpr int64_t kPacket = 4096 + kOverhead;
constexpr int64_t kLatency = 313'000;
constexpr int64_t kHeadBytes = 64;  // after which a switch that cuts through knows where to

using Account = std::map<ShareKind, int64_t>;

// Of the only flow, or the one that ended last.
Account account_of(const Lab& setup) {
    const auto result = drive::run(setup, {.explains = true});
    if (!result) {
        ADD_FAILURE() << result.error().message;
        return {};
    }
    Account account;
    for (const sim::TimeShare& share : result->account.shares) account[share.kind] += share.time.ps;
    Duration last{};
    for (const sim::FlowResult& flow : result->flows) {
        EXPECT_TRUE(flow.finished);
        last = std::max(last, flow.completion);
    }
    EXPECT_EQ(result->account.total(), last);
    return account;
}

Lab row_of(size_t switches, int64_t packets) {
    Lab setup = plain(chain(std::vector<uint64_t>(switches + 1, 400)));
    setup.fabric.node.latency = {kLatency};
    setup.flows = {{.source = 0, .destination = 1, .bytes = static_cast<uint64_t>(packets * 4096)}};
    return setup;
}

// There and back.
Account way(size_t switches) {
    const auto hops = static_cast<int64_t>(switches);
    return {{ShareKind::propagation, 2 * (hops + 1) * kDelay},
            {ShareKind::switching, 2 * hops * kLatency}};
}

// The first packet has a RETH, so that those behind it wait so much longer for it at each switch.
Account stored_and_forwarded(size_t switches, int64_t packets) {
    const auto hops = static_cast<int64_t>(switches);
    Account account = way(switches);
    const int64_t last = kPacket + (packets == 1 ? kReth : 0);
    account[ShareKind::serialization] =
        (packets * kPacket + kReth + hops * last + (hops + 1) * kAckBytes) * kPs;
    if (packets > 1) account[ShareKind::queue] = hops * kReth * kPs;
    return account;
}

TEST(TimeAccount, of_a_flow_through_switches_that_store_and_forward) {
    for (const size_t switches : {1u, 3u})  // a star, and two tiers
        for (const int64_t packets : {1, 2, 50})
            EXPECT_EQ(account_of(row_of(switches, packets)),
                      stored_and_forwarded(switches, packets))
                << switches << " switches, " << packets << " packets";
}

TEST(TimeAccount, is_the_same_where_pfc_has_nothing_to_pause) {
    for (const size_t switches : {1u, 3u}) {
        Lab setup = row_of(switches, 50);
        setup.fabric.flow_control = fabric::FlowControl::pfc;
        setup.fabric.pfc.priorities = 0xff;
        EXPECT_EQ(account_of(setup), stored_and_forwarded(switches, 50));
    }
}

// Of all lines but the last only the head counts.
TEST(TimeAccount, of_a_flow_through_switches_that_cut_through) {
    for (const size_t switches : {1u, 3u})
        for (const int64_t packets : {1, 2, 50}) {
            Lab setup = row_of(switches, packets);
            setup.fabric.node.forwarding = fabric::Forwarding::cut_through;
            Account expected = way(switches);
            expected[ShareKind::serialization] = (packets * kPacket + kReth + kAckBytes +
                                                  2 * static_cast<int64_t>(switches) * kHeadBytes) *
                                                 kPs;
            EXPECT_EQ(account_of(setup), expected) << switches << " switches, " << packets;
        }
}

TEST(TimeAccount, of_a_flow_that_has_credits_enough) {
    constexpr int64_t kIbPacket = 4096 + 26;
    constexpr int64_t kIbAck = 30;
    for (const size_t switches : {1u, 3u}) {
        Lab setup = row_of(switches, 10);
        setup.fabric.framing.encapsulation = wire::Encapsulation::infiniband_local;
        setup.fabric.framing.envelope_bytes = 14;
        setup.fabric.framing.minimum_bytes = 0;
        setup.fabric.link.gap_bytes = 0;
        setup.fabric.flow_control = fabric::FlowControl::credits;
        setup.fabric.credits.lane_buffer_bytes = 128 << 10;
        setup.fabric.credits.update_bytes = 60'000;  // later than these packets need it
        setup.fabric.node.forwarding = fabric::Forwarding::cut_through;
        Account expected = way(switches);
        // The acknowledgement is shorter than the head that a switch waits for.
        expected[ShareKind::serialization] =
            (10 * kIbPacket + kReth + static_cast<int64_t>(switches) * (kHeadBytes + kIbAck) +
             kIbAck) *
            kPs;
        EXPECT_EQ(account_of(setup), expected) << switches << " switches";
    }
}

// Following the few packets that can matter finds what following all of them finds.
void expect_few_find_what_all_find(const Lab& setup, size_t least_shares) {
    const auto known = sim::FirstRun::of(setup, sim::testing::run(setup));
    EXPECT_TRUE(known.networks[0].follows_few);
    const auto of_all = sim::testing::run(setup, 1, {.chain = known.chain}).account;
    for (const size_t partitions : {1u, 2u}) {
        const auto of_few = sim::testing::run(setup, partitions, known).account;
        ASSERT_EQ(of_few.shares.size(), of_all.shares.size());
        for (size_t i = 0; i < of_all.shares.size(); ++i) {
            EXPECT_EQ(of_few.shares[i].kind, of_all.shares[i].kind);
            EXPECT_EQ(of_few.shares[i].place, of_all.shares[i].place);
            EXPECT_EQ(of_few.shares[i].time, of_all.shares[i].time);
        }
        ASSERT_EQ(of_few.losses.size(), of_all.losses.size());
        for (size_t i = 0; i < of_all.losses.size(); ++i)
            EXPECT_EQ(of_few.losses[i].packets, of_all.losses[i].packets);
    }
    EXPECT_GE(of_all.shares.size(), least_shares);
}

// Senders behind one another, without and with pauses and credits.
TEST(TimeAccount, is_in_the_last_packets_where_no_sender_waits_for_answers) {
    using enum fabric::FlowControl;
    for (const auto control : {none, pfc, credits})
        for (const uint32_t ack_every : {1u, 16u}) {
            Lab setup = plain("leaf-spine:leaves=2,spines=1,hosts=3");
            setup.fabric.flow_control = control;
            setup.fabric.pfc.priorities = 1;
            setup.fabric.pfc.dynamic_threshold = false;
            setup.fabric.pfc.xoff_bytes = 60'000;
            setup.fabric.credits.lane_buffer_bytes = 32 << 10;
            setup.host.ack_every = ack_every;
            for (const uint32_t source : {1u, 3u, 4u, 5u})
                setup.flows.push_back({.source = source, .destination = 0, .bytes = 500'000});
            expect_few_find_what_all_find(setup, 3);
        }
}

// Marks are noted without following the packets that have them. One flow begins when the others
// have slowed down.
TEST(TimeAccount, knows_whose_marks_slowed_a_sender_without_following_its_packets) {
    Lab setup = plain("leaf-spine:leaves=2,spines=1,hosts=3");
    setup.fabric.marking = fabric::Marking::ecn;
    setup.fabric.ecn = {.kmin_bytes = 20'000, .kmax_bytes = 80'000, .pmax_millionths = 200'000};
    setup.host.congestion = transport::Algorithm::dcqcn;
    setup.host.algorithms.dcqcn = transport::DcqcnSettings::of_adapter(400'000'000'000);
    for (const uint32_t source : {1u, 3u, 4u, 5u})
        setup.flows.push_back({.source = source, .destination = 0, .bytes = 2'000'000});
    setup.flows[2].start = Instant{} + 20_us;
    expect_few_find_what_all_find(setup, 4);
    const auto account = drive::run(setup, {.explains = true})->account;
    const auto is_slowed = [](const sim::TimeShare& share) {
        return share.kind == ShareKind::congestion && share.place != fabric::kNowhere;
    };
    EXPECT_TRUE(std::ranges::any_of(account.shares, is_slowed));
}

// What is lost is sent again, and that is followed.
TEST(TimeAccount, knows_what_was_lost_without_following_all) {
    for (const auto policy :
         {transport::LossPolicy::go_back_n, transport::LossPolicy::selective_repeat}) {
        Lab setup = plain("leaf-spine:leaves=2,spines=1,hosts=3");
        setup.host.loss = policy;
        setup.host.ack_timeout = 2;
        setup.fabric.node.buffer_bytes = 100'000;
        for (const uint32_t source : {1u, 3u, 4u, 5u})
            setup.flows.push_back({.source = source, .destination = 0, .bytes = 500'000});
        expect_few_find_what_all_find(setup, 3);
    }
}

// The receiver's link carries both messages one after the other; what the last packet waits for
// there is the other message.
TEST(TimeAccount, of_two_senders_to_one_receiver) {
    for (const int64_t packets : {1, 10, 100}) {
        Lab setup = plain("star:3");
        for (const uint32_t source : {0u, 1u})
            setup.flows.push_back({.source = source,
                                   .destination = 2,
                                   .bytes = static_cast<uint64_t>(packets * 4096)});
        const int64_t message = (packets * kPacket + kReth) * kPs;
        const int64_t first = (kPacket + kReth) * kPs;
        const int64_t last = (kPacket + (packets == 1 ? kReth : 0)) * kPs;
        EXPECT_EQ(account_of(setup),
                  (Account{{ShareKind::serialization, message + last + 2 * kAckBytes * kPs},
                           {ShareKind::propagation, 4 * kDelay},
                           {ShareKind::queue, first + 2 * message - message - last}}))
            << packets;
    }
}

TEST(TimeAccount, of_a_window_that_is_full) {
    for (const int64_t window : {10, 100}) {
        Lab setup = plain("pair");
        setup.host.window_packets = static_cast<uint32_t>(window);
        setup.flows = {{.source = 0, .destination = 1, .bytes = 1000 * 4096}};
        const int64_t rounds = 1000 / window;
        EXPECT_EQ(account_of(setup),
                  (Account{{ShareKind::serialization, (1000 * kPacket + kReth + kAckBytes) * kPs},
                           {ShareKind::propagation, 2 * kDelay},
                           {ShareKind::window, (rounds - 1) * (kAckBytes * kPs + 2 * kDelay)}}));
    }
}

// The cable behind the switch is down when the only packet comes. It is sent again when the timeout
// has passed since it was sent, and all until then is loss, also its bits that went for nothing.
TEST(TimeAccount, of_a_packet_that_is_lost_and_sent_again) {
    Lab setup = row_of(1, 1);
    setup.host.ack_timeout = 2;
    setup.faults = {{.kind = Fault::Kind::cable_down, .at = Instant{}, .subject = 1},
                    {.kind = Fault::Kind::cable_up, .at = Instant{} + 10_us, .subject = 1}};
    Account expected = stored_and_forwarded(1, 1);
    expected[ShareKind::loss] = 4 * 4'096'000;
    EXPECT_EQ(account_of(setup), expected);
}

// Its messages have one number, and all of them end when the first one fails.
TEST(TimeAccount, of_a_flow_of_several_messages_that_fails) {
    Lab setup = row_of(1, 1);
    setup.flows[0].bytes = 3 * cluster::kMessageBytes;
    setup.host.ack_timeout = 2;
    setup.host.retry_count = 0;
    setup.faults = {{.kind = Fault::Kind::cable_down, .at = Instant{}, .subject = 1}};
    const auto result = drive::run(setup, {.explains = true});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_NE(result->flows[0].status, transport::Status::success);
    EXPECT_GE(result->account.total(), Duration{2 * 4'096'000}) << "the timeout is in it";
}

// A request of a RETH there, and all packets back. The first and the last have an AETH, so that the
// last comes as much later as those before it had to wait for the first.
TEST(TimeAccount, of_a_read) {
    constexpr int64_t kAeth = 4;
    Lab setup = row_of(1, 10);
    setup.flows[0].operation = Verb::read;
    Account expected = way(1);
    expected[ShareKind::serialization] =
        (2 * (kOverhead + kReth) + 10 * kPacket + 2 * kAeth + kPacket + kAeth) * kPs;
    EXPECT_EQ(account_of(setup), expected);
}

}  // namespace
}  // namespace tulle::exact
