// Peers on other machines are asked now and then whether they still know a connection.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

CmConfig asking() {
    return {.ask_every = 2_s};
}

// A client that watches its server.
struct CmAlive : ::testing::Test {
    explicit CmAlive(const CmConfig& config = asking()) : pair(config) { pair.watches = true; }

    // What the client asks next; it goes no further.
    CmDatagram question() {
        const int before = pair.sent(wire::kCmLap);
        pair.drop_nth(wire::kCmLap, before + 1);
        while (pair.sent(wire::kCmLap) == before) pair.run_for(1_s);
        return pair.last_sent();
    }
    void answer(CmDatagram lap, uint32_t from, void (*change)(wire::CmApr&, wire::Key64& id)) {
        const auto asked = message_in<wire::CmLap>(lap);
        auto apr = cm::plain_message<wire::CmApr>({});
        apr.local_communication_id = asked.remote_communication_id;
        apr.remote_communication_id = asked.local_communication_id;
        apr.status = wire::kAprInvalidCommunicationId;
        wire::Key64 id = wire::parse<wire::MadHeader>(lap)->transaction_id;
        change(apr, id);
        pair.client.manager.on_mad(pair.now(), from, wire::Qpn{1}, cm::datagram(apr, id));
        pair.run_for(1_us);
    }
    CmEnd how_it_ended() { return pair.client.take<CmDisconnected>().second.how; }

    CmPair pair;
};

TEST_F(CmAlive, a_peer_that_lives_is_asked_for_ever_and_nothing_happens) {
    pair.connect();
    pair.run_for(100_s);
    EXPECT_GE(pair.sent(wire::kCmLap), 48);
    EXPECT_EQ(pair.sent(wire::kCmLap), pair.sent(wire::kCmApr));
    EXPECT_TRUE(pair.client.events.empty());
    EXPECT_TRUE(pair.server.events.empty());
}

TEST_F(CmAlive, who_does_not_want_it_asks_nothing) {
    pair.watches = false;
    pair.connect();
    EXPECT_EQ(pair.client.manager.next_deadline(), base::Instant::never());
}

TEST(CmNotAsking, without_an_interval_nothing_is_asked) {
    CmPair pair;
    pair.watches = true;
    pair.connect();
    EXPECT_EQ(pair.client.manager.next_deadline(), base::Instant::never());
}

TEST_F(CmAlive, a_successor_that_does_not_know_the_connection_ends_it) {
    const auto handles = pair.connect();
    pair.server.manager = sample_manager(3);
    pair.run_for(5_s);
    const auto [event, what] = pair.client.take<CmDisconnected>();
    EXPECT_EQ(event.handle, handles.client);
    EXPECT_EQ(what.how, CmEnd::peer_unaware);
    EXPECT_TRUE(pair.client.take<CmTimeWaitOver>().first.last);
    EXPECT_EQ(pair.sent(wire::kCmDreq), 0);
}

TEST_F(CmAlive, all_connections_to_a_process_end_soon_after_the_first) {
    for (uint32_t qpn = 0x100; qpn < 0x108; ++qpn) pair.connect(qpn);
    pair.server.manager = sample_manager(3);
    pair.run_for(3_s + 999_ms);
    EXPECT_TRUE(pair.client.events.empty());
    pair.run_for(1_ms);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(how_it_ended(), CmEnd::peer_unaware);
}

TEST_F(CmAlive, one_connection_of_many_is_asked_about) {
    for (uint32_t qpn = 0x100; qpn < 0x140; ++qpn) pair.connect(qpn);
    pair.run_for(20_s);
    EXPECT_LE(pair.sent(wire::kCmLap), 10);
}

TEST_F(CmAlive, another_is_asked_about_when_that_one_has_ended) {
    const auto first = pair.connect(0x100);
    pair.connect(0x101);
    pair.run_for(4_s);
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), first.client), CmStatus::ok);
    pair.run_for(1_s);
    const int before = pair.sent(wire::kCmLap);
    pair.run_for(10_s);
    EXPECT_GE(pair.sent(wire::kCmLap), before + 4);
}

// As the kernel's RoCE.
TEST_F(CmAlive, a_peer_that_never_answers_is_asked_seldom) {
    pair.connect(0x100);
    pair.connect(0x101);
    pair.drop_all(wire::kCmLap);
    pair.run_for(130_s);
    EXPECT_EQ(pair.sent(wire::kCmLap), 7) << "after 4, 6, 8, 16, 32, 64 and 128 s";
    pair.run_for(640_s);
    EXPECT_EQ(pair.sent(wire::kCmLap), 17);
    EXPECT_TRUE(pair.client.events.empty());
}

TEST_F(CmAlive, one_that_is_stopped_at_once_and_then_killed_is_not_believed_alive) {
    pair.connect();
    pair.server.manager = sample_manager(3);
    for (int n = 1; n <= 8; ++n) pair.drop_nth(wire::kCmLap, n);
    pair.run_for(300_s);
    EXPECT_EQ(how_it_ended(), CmEnd::peer_unaware);
}

TEST_F(CmAlive, one_that_has_answered_and_is_stopped_for_long_is_asked_on) {
    pair.connect();
    pair.run_for(5_s);
    pair.drop_all(wire::kCmLap);
    pair.run_for(60_s);
    EXPECT_TRUE(pair.client.events.empty());
    EXPECT_GE(pair.sent(wire::kCmLap), 30);
}

TEST_F(CmAlive, an_answer_ends_it_only_with_the_number_of_the_question_and_from_the_peer) {
    const auto handles = pair.connect();
    answer(question(), 2, [](wire::CmApr&, wire::Key64& id) { id.value ^= 1; });
    answer(question(), 2,
           [](wire::CmApr& apr, wire::Key64&) { apr.local_communication_id.value ^= 1; });
    answer(question(), 2, [](wire::CmApr& apr, wire::Key64&) { apr.status = wire::kAprRejected; });
    answer(question(), 7, [](wire::CmApr&, wire::Key64&) {});
    EXPECT_TRUE(pair.client.events.empty());
    const auto asked = question();
    answer(asked, 2, [](wire::CmApr&, wire::Key64&) {});
    EXPECT_EQ(pair.client.take<CmDisconnected>().first.handle, handles.client);
}

TEST_F(CmAlive, an_answer_to_an_old_question_ends_nothing) {
    pair.connect();
    const auto asked = question();
    pair.run_for(10_s);
    answer(asked, 2, [](wire::CmApr&, wire::Key64&) {});
    EXPECT_TRUE(pair.client.events.empty());
}

TEST_F(CmAlive, a_refusal_that_quotes_the_question_ends_all_connections_to_the_process) {
    pair.connect(0x100);
    pair.connect(0x101);
    const auto asked = question();
    pair.client.manager.on_unreachable(pair.now(), 2, true, asked);
    pair.run_for(1_us);
    EXPECT_EQ(how_it_ended(), CmEnd::peer_gone);
    EXPECT_EQ(how_it_ended(), CmEnd::peer_gone);
}

TEST_F(CmAlive, a_refusal_of_an_earlier_question_may_come_late) {
    pair.connect();
    const auto asked = question();
    (void)question();
    pair.client.manager.on_unreachable(pair.now(), 2, true, asked);
    pair.run_for(1_us);
    EXPECT_EQ(how_it_ended(), CmEnd::peer_gone);
}

TEST_F(CmAlive, other_reports_end_nothing) {
    pair.connect();
    const auto asked = question();
    auto forged = asked;
    forged[12] ^= std::byte{1};  // in the transaction ID
    ConnectionManager& client = pair.client.manager;
    client.on_unreachable(pair.now(), 2, true, forged);
    client.on_unreachable(pair.now(), 2, true);
    client.on_unreachable(pair.now(), 2, true, wire::Bytes(asked).first(100));
    client.on_unreachable(pair.now(), 2, false, asked);
    client.on_unreachable(pair.now(), 7, true, asked);
    pair.run_for(1_us);
    EXPECT_TRUE(pair.client.events.empty());
    pair.run_for(10_s);
    client.on_unreachable(pair.now(), 2, true, asked);
    pair.run_for(1_us);
    EXPECT_TRUE(pair.client.events.empty()) << "it was answered since";
}

TEST_F(CmAlive, the_passive_side_may_ask_as_well) {
    pair.watches = false;
    pair.server_watches = true;
    pair.connect();
    pair.client.manager = sample_manager(3);
    pair.run_for(5_s);
    EXPECT_EQ(pair.server.take<CmDisconnected>().second.how, CmEnd::peer_unaware);
}

}  // namespace
}  // namespace tulle::transport
