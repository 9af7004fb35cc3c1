// DREQ and DREP, time wait, and connections that only one side still believes in.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

// A round trip and the delay of the other adapter, which is code 3 here.
constexpr base::Duration kClientTimeWait = round_trip(kLifetime) + cm_time(3);
constexpr base::Duration kServerTimeWait = cm_time(ack_timeout_code(kLifetime, 3));

TEST(CmDisconnect, both_sides_part_and_let_their_queue_pairs_rest) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client, bytes_of("bye")),
              CmStatus::ok);
    const base::Instant start = pair.now();
    pair.run_for(10_us);
    const auto [asked, at_server] = pair.server.take<CmDisconnected>();
    EXPECT_EQ(asked.handle, handles.server);
    EXPECT_FALSE(asked.last);
    EXPECT_EQ(at_server.how, CmEnd::peer_asked);
    EXPECT_EQ(text_in(at_server.private_data), "bye");
    EXPECT_EQ(pair.client.take<CmDisconnected>().second.how, CmEnd::peer_agreed);
    EXPECT_EQ(pair.client.manager.next_deadline(), start + 2_us + kClientTimeWait);
    EXPECT_EQ(pair.server.manager.next_deadline(), start + 1_us + kServerTimeWait);
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::wrong_state);
    pair.run_until_idle();
    EXPECT_TRUE(pair.client.take<CmTimeWaitOver>().first.last);
    EXPECT_TRUE(pair.server.take<CmTimeWaitOver>().first.last);
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client),
              CmStatus::no_such_connection);
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmDisconnect, each_message_may_be_lost_once_or_doubled) {
    for (const uint16_t attribute : {wire::kCmDreq, wire::kCmDrep}) {
        for (const bool lost : {true, false}) {
            CmPair pair;
            if (lost)
                pair.drop_nth(attribute, 1);
            else
                pair.double_nth(attribute, 1);
            const auto handles = pair.connect();
            EXPECT_EQ(pair.server.manager.disconnect(pair.now(), handles.server), CmStatus::ok);
            pair.run_until_idle();
            EXPECT_EQ(pair.client.take<CmDisconnected>().second.how, CmEnd::peer_asked);
            EXPECT_EQ(pair.server.take<CmDisconnected>().second.how, CmEnd::peer_agreed);
            EXPECT_TRUE(pair.client.take<CmTimeWaitOver>().first.last);
            EXPECT_TRUE(pair.server.take<CmTimeWaitOver>().first.last);
            EXPECT_TRUE(pair.client.events.empty() && pair.server.events.empty());
        }
    }
}

TEST(CmDisconnect, a_repeated_request_in_time_wait_is_answered_again) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    pair.double_nth(wire::kCmDreq, 1);
    pair.run_for(10_us);
    EXPECT_EQ(pair.sent(wire::kCmDrep), 2);
    EXPECT_EQ(pair.server.manager.stats().duplicates, 1u);
    EXPECT_EQ(pair.client.manager.stats().duplicates, 1u);
}

TEST(CmDisconnect, a_request_for_a_forgotten_connection_is_answered_all_the_same) {
    CmPair pair;
    pair.drop_nth(wire::kCmDrep, 1);
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    pair.run_for(kServerTimeWait + 100_us);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);  // the second DREQ finds nobody
    pair.run_until_idle();
    EXPECT_EQ(pair.sent(wire::kCmDreq), 2);
    EXPECT_EQ(pair.client.take<CmDisconnected>().second.how, CmEnd::peer_agreed);
}

TEST(CmDisconnect, a_peer_that_never_answers_is_left_after_the_retries) {
    CmPair pair;
    pair.drop_all(wire::kCmDreq);
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.sent(wire::kCmDreq), 1 + kRetries);
    EXPECT_EQ(pair.client.take<CmDisconnected>().second.how, CmEnd::no_answer);
    EXPECT_TRUE(pair.client.take<CmTimeWaitOver>().first.last);
    EXPECT_TRUE(pair.server.events.empty());
    EXPECT_EQ(pair.server.manager.open_connections(), 1u);
}

TEST(CmDisconnect, both_sides_may_disconnect_at_once) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    EXPECT_EQ(pair.server.manager.disconnect(pair.now(), handles.server), CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.sent(wire::kCmDreq), 2);
    EXPECT_EQ(pair.sent(wire::kCmDrep), 2);
    for (Side* side : {&pair.client, &pair.server}) {
        EXPECT_EQ(side->take<CmDisconnected>().second.how, CmEnd::peer_asked);
        EXPECT_TRUE(side->take<CmTimeWaitOver>().first.last);
        EXPECT_TRUE(side->events.empty());
    }
}

TEST(CmDisconnect, a_request_may_overtake_the_rtu) {
    CmPair pair;
    pair.drop_nth(wire::kCmRtu, 1);
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.client.manager.ready(pair.now(), handles.client), CmStatus::ok);
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    pair.run_until_idle();
    pair.server.take<CmDisconnected>();
    EXPECT_TRUE(pair.server.take<CmTimeWaitOver>().first.last);
}

TEST(CmDisconnect, a_request_that_names_another_queue_pair_is_dropped) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    auto dreq = message_in<wire::CmDreq>(pair.client.manager.poll_mad(pair.now())->mad);
    dreq.remote_qpn.value += 1;
    pair.server.manager.on_mad(pair.now(), 1, wire::Qpn{1}, cm::datagram(dreq, {}));
    EXPECT_FALSE(pair.server.manager.poll_mad(pair.now()));
    EXPECT_EQ(pair.server.manager.stats().malformed, 1u);
}

TEST(CmTimeWait, the_peers_queue_pair_may_connect_again_at_once) {
    CmPair pair;
    const auto handles = pair.connect(0x100);
    EXPECT_EQ(pair.server.manager.disconnect(pair.now(), handles.server), CmStatus::ok);
    pair.run_for(10_us);
    pair.server.events.clear();
    pair.client.events.clear();
    EXPECT_EQ(pair.client.manager.open_connections(), 1u);
    pair.connect(0x100);
}

TEST(CmTimeWait, a_late_request_meets_a_stale_connection) {
    CmPair pair;
    pair.double_nth(wire::kCmReq, 1);
    ConnectionManager& server = pair.server.manager;
    const auto handles = pair.request();
    EXPECT_EQ(server.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    EXPECT_EQ(server.reject(pair.now(), handles.server, {}), CmStatus::ok);
    pair.run_for(10_us);
    ConnectionManager copy = sample_manager(1);  // the same seed sends the same REQ
    EXPECT_EQ(copy.connect({}, sample_request()).status, CmStatus::ok);
    server.on_mad(pair.now(), 1, wire::Qpn{1}, copy.poll_mad({})->mad);
    EXPECT_EQ(message_in<wire::CmRej>(server.poll_mad({})->mad).reason,
              wire::kCmRejectStaleConnection);
}

// The client forgets everything and connects again with the same QP number.
TEST(CmStale, a_request_from_a_connected_queue_pair_ends_the_old_connection) {
    CmPair pair;
    const auto handles = pair.connect();
    pair.client.manager = ConnectionManager({.ca_guid = wire::Guid{0xca01}},
                                            base::RandomStream({.seed = 99, .kind = 1}));
    const auto again = pair.client.manager.connect(pair.now(), sample_request());
    pair.run_for(10_us);
    const auto [event, rejected] = pair.client.take<CmRejected>();
    EXPECT_EQ(event.handle, again.handle);
    EXPECT_FALSE(event.last);  // our QP number has packets in its past
    EXPECT_EQ(rejected.message.reason, wire::kCmRejectStaleConnection);
    const auto [old, disconnected] = pair.server.take<CmDisconnected>();
    EXPECT_EQ(old.handle, handles.server);
    EXPECT_EQ(disconnected.how, CmEnd::stale);
    EXPECT_EQ(pair.sent(wire::kCmDreq), 1);
    EXPECT_EQ(pair.sent(wire::kCmDrep), 1);  // the client answers, though it knows of nothing
    pair.run_until_idle();
    EXPECT_TRUE(pair.client.take<CmTimeWaitOver>().first.last);
    EXPECT_TRUE(pair.server.take<CmTimeWaitOver>().first.last);
    pair.connect();
}

TEST(CmStale, a_client_that_repeats_all_its_numbers_is_told_from_a_repeated_request) {
    CmPair pair;
    const auto handles = pair.connect();
    auto req = sample_request();
    ConnectionManager reborn = sample_manager(1);
    EXPECT_EQ(reborn.connect({}, req).status, CmStatus::ok);
    const auto message = message_in<wire::CmReq>(reborn.poll_mad({})->mad);
    ConnectionManager& server = pair.server.manager;
    server.on_mad(pair.now(), 1, wire::Qpn{1}, cm::datagram(message, wire::Key64{4711}));
    EXPECT_EQ(message_in<wire::CmRej>(server.poll_mad({})->mad).reason,
              wire::kCmRejectStaleConnection);
    pair.run_for(1_us);
    EXPECT_EQ(pair.server.take<CmDisconnected>().first.handle, handles.server);
}

TEST(CmStale, an_id_in_use_by_another_queue_pair_is_a_duplicate_id) {
    CmPair pair;
    pair.connect();
    ConnectionManager reborn = sample_manager(1);
    EXPECT_EQ(reborn.connect({}, sample_request(0x333)).status, CmStatus::ok);
    ConnectionManager& server = pair.server.manager;
    server.on_mad(pair.now(), 1, wire::Qpn{1}, reborn.poll_mad({})->mad);
    EXPECT_EQ(message_in<wire::CmRej>(server.poll_mad({})->mad).reason,
              wire::kCmRejectDuplicateCommunicationId);
    EXPECT_FALSE(server.poll_event());
}

TEST(CmStale, a_new_request_of_a_queue_pair_replaces_one_that_waits) {
    CmPair pair;
    const auto handles = pair.request();
    pair.drop_all(wire::kCmRej);
    EXPECT_EQ(pair.client.manager.abandon(pair.now(), handles.client), CmStatus::ok);
    const CmHandle again = pair.client.manager.connect(pair.now(), sample_request()).handle;
    EXPECT_TRUE(again);
    pair.run_for(10_us);
    const auto [event, replaced] = pair.server.take<CmRejected>();
    EXPECT_EQ(event.handle, handles.server);
    EXPECT_TRUE(event.last);
    EXPECT_TRUE(replaced.here);
    pair.server.take<CmRequestArrived>();
}

TEST(CmStale, a_reply_that_names_a_connected_queue_pair_is_rejected) {
    CmPair pair;
    const auto handles = pair.connect(0x100);
    auto second = pair.request(sample_request(0x101));
    EXPECT_EQ(pair.server.manager.accept(pair.now(), second.server, sample_reply(0x100'100)),
              CmStatus::ok);
    pair.run_for(10_us);
    const auto [stale, disconnected] = pair.client.take<CmDisconnected>();
    EXPECT_EQ(stale.handle, handles.client);
    EXPECT_EQ(disconnected.how, CmEnd::stale);
    const auto [event, rejected] = pair.client.take<CmRejected>();
    EXPECT_EQ(event.handle, second.client);
    EXPECT_TRUE(event.last);
    EXPECT_TRUE(rejected.here);
    EXPECT_EQ(rejected.message.reason, wire::kCmRejectStaleConnection);
}

}  // namespace
}  // namespace tulle::transport
