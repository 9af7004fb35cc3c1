// REQ, REP and RTU: the ordinary way, each of them lost, doubled or late.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

TEST(CmConnect, three_messages_join_two_queue_pairs) {
    CmPair pair;
    ConnectRequest request = sample_request();
    request.private_data = bytes_of("hello");
    const auto handles = pair.request(request);
    AcceptReply reply = sample_reply();
    reply.private_data = bytes_of("welcome");
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, reply), CmStatus::ok);
    pair.run_for(10_us);
    const auto [event, arrived] = pair.client.take<CmReplyArrived>();
    EXPECT_EQ(event.handle, handles.client);
    EXPECT_EQ(arrived.message.local_qpn, wire::Qpn{0x200});
    EXPECT_EQ(arrived.message.starting_psn, wire::Psn{0x123456});
    EXPECT_EQ(arrived.message.responder_resources, 5);
    EXPECT_EQ(arrived.message.target_ack_delay, 3);
    EXPECT_EQ(text_in(arrived.message.private_data), "welcome");
    EXPECT_TRUE(pair.server.events.empty());
    EXPECT_EQ(pair.client.manager.ready(pair.now(), handles.client, bytes_of("go")), CmStatus::ok);
    pair.run_for(10_us);
    pair.client.take<CmEstablished>();
    EXPECT_EQ(text_in(pair.server.take<CmEstablished>().second.private_data), "go");
    EXPECT_TRUE(pair.idle());
}

TEST(CmConnect, the_request_shows_everything_that_the_client_asked_for) {
    CmPair pair;
    ASSERT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
    ConnectRequest request = sample_request();
    request.endpoint = 2;
    request.transport = CmTransport::xrc;
    request.srq = true;
    request.alternate = request.path;
    request.alternate->service_level = 3;
    request.private_data = bytes_of("data");
    EXPECT_EQ(pair.client.manager.connect(pair.now(), request).status, CmStatus::ok);
    pair.run_for(10_us);
    const auto [event, arrived] = pair.server.take<CmRequestArrived>();
    EXPECT_FALSE(event.last);
    EXPECT_EQ(arrived.endpoint, 1u);
    EXPECT_EQ(arrived.message.local_ca_guid, wire::Guid{0xca01});
    EXPECT_EQ(arrived.message.transport_service, wire::kCmExtended);
    EXPECT_EQ(arrived.message.extended_transport, wire::kCmExtendedXrc);
    EXPECT_TRUE(arrived.message.srq);
    EXPECT_EQ(arrived.message.responder_resources, 4);
    EXPECT_EQ(arrived.message.initiator_depth, 5);
    EXPECT_EQ(arrived.message.alternate.service_level, 3);
    EXPECT_EQ(arrived.message.max_cm_retries, kRetries);
    EXPECT_EQ(arrived.private_data()[0], 'd');
    EXPECT_FALSE(arrived.ip);
    EXPECT_EQ(arrived.message.primary.local_gid, request.path.local_gid);
    EXPECT_EQ(arrived.message.primary.local_ack_timeout, ack_timeout_code(kLifetime, 3));
}

TEST(CmConnect, each_message_of_the_establishment_may_be_lost_once) {
    for (const uint16_t lost : {wire::kCmReq, wire::kCmRep, wire::kCmRtu}) {
        CmPair pair;
        pair.drop_nth(lost, 1);
        ASSERT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
        ConnectRequest request = sample_request();
        request.endpoint = 2;
        const CmHandle client = pair.client.manager.connect(pair.now(), request).handle;
        pair.run_for(kOneTry + 10_us);
        const CmHandle server = pair.server.take<CmRequestArrived>().first.handle;
        EXPECT_EQ(pair.server.manager.accept(pair.now(), server, sample_reply()), CmStatus::ok);
        pair.run_for(kOneTry + 200_us);
        pair.client.take<CmReplyArrived>();
        EXPECT_EQ(pair.client.manager.ready(pair.now(), client), CmStatus::ok);
        pair.run_until_idle();
        pair.client.take<CmEstablished>();
        pair.server.take<CmEstablished>();
        EXPECT_GE(pair.sent(lost), 2) << lost;
        EXPECT_TRUE(pair.client.events.empty() && pair.server.events.empty()) << lost;
    }
}

TEST(CmConnect, a_request_that_nobody_answers_is_given_up_after_its_retries) {
    CmPair pair;
    pair.drop_all(wire::kCmReq);
    ConnectRequest request = sample_request();
    const CmHandle handle = pair.client.manager.connect(pair.now(), request).handle;
    pair.run_until_idle();
    const auto [event, unreachable] = pair.client.take<CmUnreachable>();
    EXPECT_EQ(event.handle, handle);
    EXPECT_TRUE(event.last);
    EXPECT_EQ(unreachable.message, wire::kCmReq);
    EXPECT_EQ(pair.sent(wire::kCmReq), 1 + kRetries);
    EXPECT_EQ(pair.client.manager.stats().retries, uint64_t{kRetries});
    // The response timeout and both ways of the path, for each of the four (12.9.5).
    EXPECT_EQ(pair.now(), base::Instant{} + (1 + kRetries) * kOneTry + 1_us);
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
    EXPECT_EQ(pair.client.manager.ready(pair.now(), handle), CmStatus::no_such_connection);
}

TEST(CmConnect, what_is_lost_is_sent_once_more_before_its_time_if_that_is_wanted) {
    const base::Duration early = 10_us;
    for (const uint16_t lost : {wire::kCmReq, wire::kCmRep}) {
        CmPair pair({.early_repeat = early});
        pair.drop_nth(lost, 1);
        ASSERT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
        ConnectRequest request = sample_request();
        request.endpoint = 2;
        (void)pair.client.manager.connect(pair.now(), request);
        while (pair.server.events.empty()) pair.run_for(1_us);
        const CmHandle server = pair.server.take<CmRequestArrived>().first.handle;
        EXPECT_EQ(pair.server.manager.accept(pair.now(), server, sample_reply()), CmStatus::ok);
        while (pair.client.events.empty()) pair.run_for(1_us);
        EXPECT_LT(pair.now(), base::Instant{} + early + 10_us);
        EXPECT_LT(pair.now(), base::Instant{} + kOneTry);
        EXPECT_GE(pair.sent(lost), 2) << lost;
    }
}

TEST(CmConnect, an_early_repeat_is_one_beside_the_retries) {
    CmPair pair({.early_repeat = 10_us});
    pair.drop_all(wire::kCmReq);
    (void)pair.client.manager.connect(pair.now(), sample_request());
    pair.run_until_idle();
    pair.client.take<CmUnreachable>();
    EXPECT_EQ(pair.sent(wire::kCmReq), 2 + kRetries);
    EXPECT_EQ(pair.now(), base::Instant{} + (1 + kRetries) * kOneTry + 1_us);
}

TEST(CmConnect, a_peer_that_asks_for_time_gets_no_early_repeat) {
    CmPair pair({.early_repeat = 20_us});
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.prepare(handles.server, kResponse + 4), CmStatus::ok);
    pair.run_for(kOneTry);
    EXPECT_EQ(pair.sent(wire::kCmReq), 1);
}

TEST(CmConnect, giving_up_tells_the_peer_by_a_reject_with_our_guid) {
    CmPair pair;
    const auto handles = pair.request();
    pair.run_until_idle();  // the server's owner is too slow
    pair.client.take<CmUnreachable>();
    const auto [event, rejected] = pair.server.take<CmRejected>();
    EXPECT_EQ(event.handle, handles.server);
    EXPECT_TRUE(event.last);
    EXPECT_FALSE(rejected.here);
    EXPECT_EQ(rejected.message.reason, wire::kCmRejectTimeout);
    EXPECT_EQ(rejected.message.reject_info_length, 8);
    EXPECT_EQ(rejected.message.additional_info[6], 0xca);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmConnect, a_reply_that_never_gets_through_leaves_both_sides_with_nothing) {
    CmPair pair;
    pair.drop_all(wire::kCmRep);
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_until_idle();
    const auto [event, gone] = pair.client.take<CmUnreachable>();
    EXPECT_EQ(gone.message, wire::kCmReq);
    // The client gives up first, and says so.
    EXPECT_EQ(pair.server.take<CmRejected>().second.message.reason, wire::kCmRejectTimeout);
    EXPECT_TRUE(pair.server.events.empty());
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmConnect, a_server_without_rtu_gives_up_and_lets_its_queue_pair_rest) {
    CmPair pair;
    pair.drop_all(wire::kCmRtu);
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    pair.client.take<CmReplyArrived>();
    EXPECT_EQ(pair.client.manager.ready(pair.now(), handles.client), CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.sent(wire::kCmRep), 1 + kRetries);
    EXPECT_EQ(pair.sent(wire::kCmRtu), 1 + kRetries);  // each repeated REP gets one
    const auto [event, unreachable] = pair.server.take<CmUnreachable>();
    EXPECT_FALSE(event.last);
    EXPECT_EQ(unreachable.message, wire::kCmRep);
    EXPECT_TRUE(pair.server.take<CmTimeWaitOver>().first.last);
    pair.client.take<CmEstablished>();
    const auto [rejection, rejected] = pair.client.take<CmRejected>();
    EXPECT_FALSE(rejection.last);
    EXPECT_EQ(rejected.message.reason, wire::kCmRejectTimeout);
    EXPECT_TRUE(pair.client.take<CmTimeWaitOver>().first.last);
}

TEST(CmConnect, a_packet_on_the_queue_pair_stands_for_the_lost_rtu) {
    CmPair pair;
    pair.drop_all(wire::kCmRtu);
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    pair.client.take<CmReplyArrived>();
    EXPECT_EQ(pair.client.manager.ready(pair.now(), handles.client), CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.server.manager.communication_established(pair.now(), handles.server),
              CmStatus::ok);
    pair.run_until_idle();
    pair.server.take<CmEstablished>();
    EXPECT_EQ(pair.sent(wire::kCmRep), 1);
    EXPECT_EQ(pair.server.manager.communication_established(pair.now(), handles.server),
              CmStatus::wrong_state);
}

TEST(CmConnect, a_doubled_message_changes_nothing) {
    for (const uint16_t twice : {wire::kCmReq, wire::kCmRep, wire::kCmRtu}) {
        CmPair pair;
        pair.double_nth(twice, 1);
        pair.connect();
        pair.run_until_idle();
        EXPECT_TRUE(pair.client.events.empty() && pair.server.events.empty()) << twice;
        EXPECT_EQ(pair.client.manager.stats().duplicates + pair.server.manager.stats().duplicates,
                  1u)
            << twice;
        EXPECT_EQ(pair.server.manager.open_connections(), 1u);
    }
}

TEST(CmConnect, a_repeated_request_gets_the_same_reply_again) {
    CmPair pair;
    pair.drop_nth(wire::kCmRep, 1);
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    const CmDatagram first = pair.last_sent();
    pair.run_for(kOneTry - 15_us);  // the client asks again before the server tries again
    EXPECT_EQ(pair.sent(wire::kCmReq), 2);
    EXPECT_EQ(pair.sent(wire::kCmRep), 2);
    EXPECT_EQ(pair.last_sent(), first);
    EXPECT_EQ(pair.server.manager.stats().duplicates, 1u);
}

TEST(CmConnect, a_repeated_reply_gets_the_same_rtu_again) {
    CmPair pair;
    pair.drop_nth(wire::kCmRtu, 1);
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.client.manager.ready(pair.now(), handles.client, bytes_of("again")),
              CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.sent(wire::kCmRtu), 2);
    EXPECT_EQ(text_in(pair.server.take<CmEstablished>().second.private_data), "again");
}

TEST(CmConnect, a_late_copy_of_the_request_does_not_disturb_a_connection) {
    CmPair pair;
    pair.delay_nth(wire::kCmReq, 1, kOneTry + 1_ms);
    ASSERT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
    ConnectRequest request = sample_request();
    request.endpoint = 2;
    const CmHandle client = pair.client.manager.connect(pair.now(), request).handle;
    pair.run_for(kOneTry + 10_us);
    const CmHandle server = pair.server.take<CmRequestArrived>().first.handle;
    EXPECT_EQ(pair.server.manager.accept(pair.now(), server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.client.manager.ready(pair.now(), client), CmStatus::ok);
    pair.run_until_idle();
    pair.server.take<CmEstablished>();
    EXPECT_TRUE(pair.server.events.empty());
    EXPECT_EQ(pair.server.manager.stats().duplicates, 1u);
}

TEST(CmConnect, a_reply_to_nobody_is_rejected_as_unknown) {
    CmPair pair;
    const auto handles = pair.request();
    EXPECT_EQ(pair.client.manager.abandon(pair.now(), handles.client), CmStatus::ok);
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.drop_nth(wire::kCmRej, 1);  // the client's farewell
    pair.run_for(10_us);
    const auto [event, rejected] = pair.server.take<CmRejected>();
    EXPECT_EQ(rejected.message.reason, wire::kCmRejectInvalidCommunicationId);
    EXPECT_EQ(rejected.message.message_rejected, wire::kCmAnswersRep);
    EXPECT_TRUE(event.last);
}

TEST(CmConnect, the_server_waits_as_long_as_the_client_asked_for) {
    CmPair pair;
    ConnectRequest request = sample_request();
    request.local_cm_response_timeout = kResponse + 2;
    const auto handles = pair.request(request);
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    const base::Duration round_trip_there = cm_time(ack_timeout_code(kLifetime, 3));
    EXPECT_EQ(pair.server.manager.next_deadline(),
              pair.now() + cm_time(kResponse + 2) + round_trip_there);
}

TEST(CmConnect, answers_go_to_the_queue_pair_that_the_peers_manager_uses) {
    ConnectionManager client = sample_manager(1);
    ConnectionManager server = sample_manager(2);
    EXPECT_EQ(server.listen(kService).status, CmStatus::ok);
    const CmHandle handle = client.connect({}, sample_request()).handle;
    const auto req = client.poll_mad({});
    EXPECT_EQ(req->qpn, wire::Qpn{1});
    server.on_mad({}, 1, wire::Qpn{0x51}, req->mad);
    EXPECT_EQ(server.accept({}, server.poll_event()->handle, sample_reply()), CmStatus::ok);
    const auto rep = server.poll_mad({});
    EXPECT_EQ(rep->qpn, wire::Qpn{0x51});
    client.on_mad({}, 2, wire::Qpn{0x52}, rep->mad);
    EXPECT_EQ(client.ready({}, handle), CmStatus::ok);
    EXPECT_EQ(client.poll_mad({})->qpn, wire::Qpn{0x52});
}

TEST(CmConnect, calls_that_are_not_due_are_refused) {
    CmPair pair;
    const auto handles = pair.request();
    ConnectionManager& client = pair.client.manager;
    ConnectionManager& server = pair.server.manager;
    EXPECT_EQ(client.ready(pair.now(), handles.client), CmStatus::wrong_state);
    EXPECT_EQ(client.accept(pair.now(), handles.client, sample_reply()), CmStatus::wrong_state);
    EXPECT_EQ(client.reject(pair.now(), handles.client, {}), CmStatus::wrong_state);
    EXPECT_EQ(client.prepare(handles.client, 10), CmStatus::wrong_state);
    EXPECT_EQ(client.disconnect(pair.now(), handles.client), CmStatus::wrong_state);
    EXPECT_EQ(server.answer_service(pair.now(), handles.server, {}), CmStatus::wrong_state);
    EXPECT_EQ(server.accept(pair.now(), CmHandle{12345}, {}), CmStatus::no_such_connection);
    EXPECT_EQ(server.accept(pair.now(), handles.server, {}), CmStatus::invalid);  // no QPN
}

TEST(CmConnect, what_does_not_fit_the_message_is_refused) {
    ConnectionManager manager = sample_manager(1);
    const std::array<std::byte, 225> large{};
    ConnectRequest request = sample_request();
    request.private_data = wire::Bytes(large).first(93);
    EXPECT_EQ(manager.connect({}, request).status, CmStatus::too_long);
    request = sample_request();
    request.path_mtu = 6;
    EXPECT_EQ(manager.connect({}, request).status, CmStatus::invalid);
    request = sample_request(1);
    EXPECT_EQ(manager.connect({}, request).status, CmStatus::invalid);
    EXPECT_EQ(manager.open_connections(), 0u);
    EXPECT_FALSE(manager.poll_mad({}));
}

TEST(CmConnect, memory_is_bounded_by_the_configuration) {
    CmPair pair({.max_connections = 2});
    pair.connect(0x100);
    pair.connect(0x101);
    EXPECT_EQ(pair.client.manager.connect(pair.now(), sample_request(0x102)).status,
              CmStatus::no_room);
    ConnectionManager third = sample_manager(3);
    EXPECT_EQ(third.connect(pair.now(), sample_request()).status, CmStatus::ok);
    pair.server.manager.on_mad(pair.now(), 3, wire::Qpn{1}, third.poll_mad({})->mad);
    const auto out = pair.server.manager.poll_mad({});
    EXPECT_EQ(message_in<wire::CmRej>(out->mad).reason, wire::kCmRejectNoResources);
    EXPECT_EQ(out->endpoint, 3u);
}

TEST(CmConnect, a_manager_whose_owner_does_not_poll_drops_what_arrives) {
    ConnectionManager server = sample_manager(2, {.max_waiting = 1});
    ConnectionManager client = sample_manager(1);
    EXPECT_EQ(client.connect({}, sample_request()).status, CmStatus::ok);
    const CmDatagram req = client.poll_mad({})->mad;
    for (int i = 0; i < 5; ++i) server.on_mad({}, 1, wire::Qpn{1}, req);
    EXPECT_EQ(server.stats().overload, 4u);
    EXPECT_TRUE(server.poll_mad({}));
    EXPECT_FALSE(server.poll_mad({}));
}

TEST(CmConnect, a_thousand_connections_at_once) {
    CmPair pair;
    ASSERT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
    constexpr uint32_t kMany = 1'000;
    for (uint32_t i = 0; i < kMany; ++i) {
        ConnectRequest request = sample_request(0x1000 + i);
        request.endpoint = 2;
        ASSERT_EQ(pair.client.manager.connect(pair.now(), request).status, CmStatus::ok);
    }
    pair.drop_nth(wire::kCmReq, 17);
    pair.drop_nth(wire::kCmRep, 500);
    pair.drop_nth(wire::kCmRtu, 900);
    std::vector<CmHandle> connected;
    uint32_t accepted = 0;
    for (int round = 0; round < 1'000 && connected.size() < kMany; ++round) {
        pair.run_for(100_us);
        for (const CmEvent& event : std::exchange(pair.server.events, {})) {
            if (std::holds_alternative<CmEstablished>(event.what)) {
                connected.push_back(event.handle);
            } else {
                const AcceptReply reply = sample_reply(0x2000 + accepted++);
                EXPECT_EQ(pair.server.manager.accept(pair.now(), event.handle, reply),
                          CmStatus::ok);
            }
        }
        for (const CmEvent& event : std::exchange(pair.client.events, {})) {
            if (std::holds_alternative<CmEstablished>(event.what)) continue;
            EXPECT_EQ(pair.client.manager.ready(pair.now(), event.handle), CmStatus::ok);
        }
    }
    EXPECT_EQ(connected.size(), kMany);
    EXPECT_EQ(accepted, kMany);
    for (const CmHandle handle : connected)
        EXPECT_EQ(pair.server.manager.disconnect(pair.now(), handle), CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmTimes, codes_are_powers_of_two_of_four_microseconds) {
    EXPECT_EQ(cm_time(0), 4'096_ns);
    EXPECT_EQ(cm_time(20), 4'294'967'296_ns);
    EXPECT_EQ(cm_time(255), cm_time(31));
}

TEST(CmTimes, an_ack_timeout_is_a_round_trip_and_the_adapters_delay) {
    EXPECT_EQ(ack_timeout_code(18, 15), 19);  // what Linux puts into a REQ
    EXPECT_EQ(ack_timeout_code(18, 18), 20);
    EXPECT_EQ(ack_timeout_code(10, 15), 15);
    EXPECT_EQ(ack_timeout_code(31, 31), 31);
}

}  // namespace
}  // namespace tulle::transport
