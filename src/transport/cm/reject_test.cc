// REJ and MRA, and owners who give up.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

TEST(CmReject, reason_information_and_private_data_reach_the_client) {
    CmPair pair;
    const auto handles = pair.request();
    const std::array<std::byte, 3> info{std::byte{1}, std::byte{2}, std::byte{3}};
    EXPECT_EQ(pair.server.manager.reject(pair.now(), handles.server,
                                         {.reason = wire::kCmRejectConsumer,
                                          .additional_info = info,
                                          .private_data = bytes_of("not today")}),
              CmStatus::ok);
    pair.run_for(10_us);
    const auto [event, rejected] = pair.client.take<CmRejected>();
    EXPECT_EQ(event.handle, handles.client);
    EXPECT_TRUE(event.last);
    EXPECT_FALSE(rejected.here);
    EXPECT_EQ(rejected.message.reason, wire::kCmRejectConsumer);
    EXPECT_EQ(rejected.message.message_rejected, wire::kCmAnswersReq);
    EXPECT_EQ(rejected.message.reject_info_length, 3);
    EXPECT_EQ(rejected.message.additional_info[2], 3);
    EXPECT_EQ(text_in(rejected.message.private_data), "not today");
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
}

TEST(CmReject, a_rejected_request_that_comes_again_is_rejected_again) {
    CmPair pair;
    pair.drop_nth(wire::kCmRej, 1);
    const auto handles = pair.request();
    EXPECT_EQ(
        pair.server.manager.reject(pair.now(), handles.server, {.private_data = bytes_of("twice")}),
        CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.sent(wire::kCmReq), 2);
    EXPECT_EQ(text_in(pair.client.take<CmRejected>().second.message.private_data), "twice");
    EXPECT_TRUE(pair.server.events.empty());
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);  // remembered for a while only
}

TEST(CmReject, nobody_listening_is_an_invalid_service_id) {
    CmPair pair;
    ConnectRequest request = sample_request();
    EXPECT_EQ(pair.client.manager.connect(pair.now(), request).status, CmStatus::ok);
    pair.run_until_idle();
    const auto [event, rejected] = pair.client.take<CmRejected>();
    EXPECT_TRUE(event.last);
    EXPECT_EQ(rejected.message.reason, wire::kCmRejectInvalidServiceId);
    EXPECT_EQ(rejected.message.local_communication_id.value, 0u);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmReject, a_listener_may_take_a_range_of_services) {
    CmPair pair;
    ConnectionManager& server = pair.server.manager;
    const auto range = server.listen(wire::Key64{0x4200}, wire::Key64{~uint64_t{0xff}});
    EXPECT_EQ(range.status, CmStatus::ok);
    EXPECT_EQ(server.listen(wire::Key64{0x4217}).status, CmStatus::in_use);
    EXPECT_EQ(server.listen(wire::Key64{0x4300}).status, CmStatus::ok);
    ConnectRequest request = sample_request();
    request.service_id = wire::Key64{0x42aa};
    EXPECT_EQ(pair.client.manager.connect(pair.now(), request).status, CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.server.take<CmRequestArrived>().second.listener, range.listener);
    EXPECT_EQ(server.stop_listening(range.listener), CmStatus::ok);
    EXPECT_EQ(server.stop_listening(range.listener), CmStatus::no_such_connection);
    request.qpn = wire::Qpn{0x101};
    EXPECT_EQ(pair.client.manager.connect(pair.now(), request).status, CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.client.take<CmRejected>().second.message.reason,
              wire::kCmRejectInvalidServiceId);
}

TEST(CmReject, listeners_are_bounded_by_the_configuration) {
    ConnectionManager manager = sample_manager(1, {.max_listeners = 1});
    EXPECT_EQ(manager.listen(wire::Key64{1}).status, CmStatus::ok);
    EXPECT_EQ(manager.listen(wire::Key64{2}).status, CmStatus::no_room);
}

// What the server answers to a REQ that was changed on its way.
uint16_t reason_for(void (*change)(wire::CmReq&)) {
    ConnectionManager client = sample_manager(1);
    ConnectionManager server = sample_manager(2);
    EXPECT_EQ(server.listen(kService).status, CmStatus::ok);
    EXPECT_EQ(client.connect({}, sample_request()).status, CmStatus::ok);
    auto req = message_in<wire::CmReq>(client.poll_mad({})->mad);
    change(req);
    server.on_mad({}, 1, wire::Qpn{1}, cm::datagram(req, wire::Key64{1}));
    return message_in<wire::CmRej>(server.poll_mad({})->mad).reason;
}

TEST(CmReject, a_request_that_we_cannot_serve_says_why) {
    EXPECT_EQ(reason_for([](wire::CmReq& req) { req.transport_service = wire::kCmRd; }),
              wire::kCmRejectInvalidTransport);
    EXPECT_EQ(reason_for([](wire::CmReq& req) {
                  req.transport_service = wire::kCmExtended;
                  req.extended_transport = 5;
              }),
              wire::kCmRejectInvalidTransport);
    EXPECT_EQ(reason_for([](wire::CmReq& req) { req.path_mtu = 0; }), wire::kCmRejectInvalidMtu);
    EXPECT_EQ(reason_for([](wire::CmReq& req) { req.service_id.value = 9; }),
              wire::kCmRejectInvalidServiceId);
}

TEST(CmReject, requests_of_another_class_version_are_refused_as_such) {
    ConnectionManager client = sample_manager(1);
    ConnectionManager server = sample_manager(2);
    EXPECT_EQ(client.connect({}, sample_request()).status, CmStatus::ok);
    CmDatagram req = client.poll_mad({})->mad;
    req[2] = std::byte{1};
    server.on_mad({}, 1, wire::Qpn{1}, req);
    const auto rej = message_in<wire::CmRej>(server.poll_mad({})->mad);
    EXPECT_EQ(rej.reason, wire::kCmRejectClassVersion);
    EXPECT_EQ(rej.remote_communication_id, message_in<wire::CmReq>(req).local_communication_id);
}

TEST(CmReject, the_client_may_reject_the_reply) {
    CmPair pair;
    pair.drop_nth(wire::kCmRej, 1);
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    pair.client.take<CmReplyArrived>();
    EXPECT_EQ(pair.client.manager.reject(pair.now(), handles.client,
                                         {.reason = wire::kCmRejectInvalidMtu}),
              CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.sent(wire::kCmRej), 2);  // the second answers the repeated REP
    const auto [event, rejected] = pair.server.take<CmRejected>();
    EXPECT_TRUE(event.last);
    EXPECT_EQ(rejected.message.reason, wire::kCmRejectInvalidMtu);
    EXPECT_EQ(rejected.message.message_rejected, wire::kCmAnswersRep);
    EXPECT_TRUE(pair.client.events.empty());
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
}

TEST(CmReject, a_reject_from_somebody_else_is_ignored) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    const auto dreq = message_in<wire::CmDreq>(pair.client.manager.poll_mad({})->mad);
    const cm::Ids wrong{dreq.local_communication_id.value ^ 1, dreq.remote_communication_id.value};
    const auto rej = cm::rej_message({}, wire::kCmAnswersOther, wrong);
    pair.server.manager.on_mad(pair.now(), 1, wire::Qpn{1}, cm::datagram(rej, {}));
    EXPECT_FALSE(pair.server.manager.poll_event());
    EXPECT_EQ(pair.server.manager.stats().unknown, 1u);
}

TEST(CmReject, a_guid_in_place_of_our_id_does_not_end_an_established_connection) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    const auto dreq = message_in<wire::CmDreq>(pair.client.manager.poll_mad({})->mad);
    const auto rej = cm::timeout_rej_message({.ca_guid = wire::Guid{0xca01}}, wire::kCmAnswersOther,
                                             {dreq.local_communication_id.value, 0});
    pair.server.manager.on_mad(pair.now(), 1, wire::Qpn{1}, cm::datagram(rej, {}));
    EXPECT_FALSE(pair.server.manager.poll_event());
    EXPECT_EQ(pair.server.manager.stats().unknown, 1u);
}

TEST(CmReject, an_accepted_request_may_still_be_rejected) {
    CmPair pair;
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    pair.client.take<CmReplyArrived>();
    EXPECT_EQ(pair.server.manager.reject(pair.now(), handles.server, {}), CmStatus::ok);
    EXPECT_EQ(pair.server.manager.reject(pair.now(), handles.server, {}),
              CmStatus::no_such_connection);
    pair.run_until_idle();
    EXPECT_EQ(pair.client.take<CmRejected>().second.message.reason, wire::kCmRejectConsumer);
    EXPECT_TRUE(pair.client.take<CmTimeWaitOver>().first.last);
    EXPECT_TRUE(pair.server.events.empty());
}

TEST(CmMra, a_server_that_needs_long_is_waited_for) {
    CmPair pair;
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.prepare(handles.server, 15, bytes_of("wait")), CmStatus::ok);
    pair.run_for(10_us);
    const auto [event, more] = pair.client.take<CmMoreTime>();
    EXPECT_EQ(event.handle, handles.client);
    EXPECT_EQ(more.message.service_timeout, 15);
    EXPECT_EQ(text_in(more.message.private_data), "wait");
    pair.run_for(cm_time(15) - 10_us);
    EXPECT_EQ(pair.sent(wire::kCmReq), 1);
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    pair.client.take<CmReplyArrived>();
}

TEST(CmMra, after_the_time_that_was_asked_for_the_request_is_sent_again) {
    CmPair pair;
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.prepare(handles.server, 15), CmStatus::ok);
    pair.run_for(cm_time(15) + round_trip(kLifetime) + 50_us);
    EXPECT_EQ(pair.sent(wire::kCmReq), 2);
    EXPECT_EQ(pair.sent(wire::kCmMra), 2);  // a repeated REQ gets the MRA again
    pair.run_until_idle();
    EXPECT_EQ(pair.sent(wire::kCmReq), 1 + kRetries);
}

TEST(CmMra, a_client_that_needs_long_is_waited_for) {
    CmPair pair;
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    pair.client.take<CmReplyArrived>();
    EXPECT_EQ(pair.client.manager.prepare(handles.client, 15), CmStatus::ok);
    pair.run_for(cm_time(15));
    pair.server.take<CmMoreTime>();
    EXPECT_EQ(pair.sent(wire::kCmRep), 1);
    EXPECT_EQ(pair.client.manager.ready(pair.now(), handles.client), CmStatus::ok);
    pair.run_until_idle();
    pair.server.take<CmEstablished>();
}

TEST(CmMra, a_repeated_reply_gets_the_mra_again) {
    CmPair pair;
    pair.drop_nth(wire::kCmMra, 1);
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.client.manager.prepare(handles.client, 15), CmStatus::ok);
    pair.run_for(kOneTry + 20_us);
    EXPECT_EQ(pair.sent(wire::kCmMra), 2);
    EXPECT_EQ(pair.server.take<CmMoreTime>().second.message.message_mraed, wire::kCmAnswersRep);
}

TEST(CmMra, nobody_can_make_us_wait_for_hours) {
    CmPair pair({.max_peer_time = 12});
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.prepare(handles.server, 31), CmStatus::ok);
    pair.run_for(cm_time(12) + round_trip(kLifetime) + 50_us);
    EXPECT_EQ(pair.sent(wire::kCmReq), 2);
    EXPECT_EQ(pair.server.manager.prepare(handles.server, 32), CmStatus::invalid);
}

enum class Moment { after_request, after_accept, after_reply, after_ready, after_disconnect };

// Takes a connection as far as that. Nothing of the last step has arrived yet.
void advance(CmPair& pair, const CmPair::Handles& handles, Moment moment) {
    if (moment < Moment::after_accept) return;
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    if (moment < Moment::after_reply) return;
    pair.run_for(10_us);
    if (moment < Moment::after_ready) return;
    EXPECT_EQ(pair.client.manager.ready(pair.now(), handles.client), CmStatus::ok);
    if (moment < Moment::after_disconnect) return;
    pair.run_for(10_us);
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
}

void expect_silence_after_abandon(Moment moment, bool at_client) {
    CmPair pair;
    const auto handles = pair.request();
    advance(pair, handles, moment);
    pair.run_for({});
    Side& leaving = at_client ? pair.client : pair.server;
    const Side& staying = at_client ? pair.server : pair.client;
    const CmHandle handle = at_client ? handles.client : handles.server;
    leaving.events.clear();
    EXPECT_EQ(leaving.manager.abandon(pair.now(), handle), CmStatus::ok);
    EXPECT_EQ(leaving.manager.abandon(pair.now(), handle), CmStatus::no_such_connection);
    pair.run_until_idle();
    EXPECT_TRUE(leaving.events.empty());
    ASSERT_FALSE(staying.events.empty());
    EXPECT_TRUE(staying.events.back().last);
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmAbandon, an_owner_may_give_up_at_any_time_and_hears_no_more) {
    for (const Moment moment : {Moment::after_request, Moment::after_accept, Moment::after_reply,
                                Moment::after_ready, Moment::after_disconnect}) {
        for (const bool at_client : {true, false}) {
            SCOPED_TRACE(static_cast<int>(moment) * 10 + at_client);
            expect_silence_after_abandon(moment, at_client);
        }
    }
}

TEST(CmReject, a_request_that_is_ignored_comes_again) {
    CmPair pair;
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.ignore(handles.server), CmStatus::ok);
    EXPECT_EQ(pair.server.manager.ignore(handles.server), CmStatus::no_such_connection);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
    pair.run_for(kOneTry);
    EXPECT_EQ(pair.sent(wire::kCmReq), 2);
    const CmHandle again = pair.server.take<CmRequestArrived>().first.handle;
    EXPECT_EQ(pair.server.manager.accept(pair.now(), again, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    pair.client.take<CmReplyArrived>();
}

TEST(CmReject, a_path_that_is_too_wide_for_the_peer_is_narrowed) {
    CmPair pair({.max_path_mtu = 3});
    EXPECT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
    ConnectRequest request = sample_request();
    request.endpoint = 2;
    request.path_mtu = 5;
    const auto opened = pair.client.manager.connect(pair.now(), request);
    pair.run_for(20_us);
    for (const uint8_t mtu : {4, 3}) {
        const auto [event, what] = pair.client.take<CmPathNarrowed>();
        EXPECT_EQ(event.handle, opened.handle);
        EXPECT_FALSE(event.last);
        EXPECT_EQ(what.path_mtu, mtu);
    }
    const auto [asked, what] = pair.server.take<CmRequestArrived>();
    EXPECT_EQ(what.message.path_mtu, 3);
    EXPECT_EQ(pair.server.manager.accept(pair.now(), asked.handle, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.client.take<CmReplyArrived>().first.handle, opened.handle);
    EXPECT_TRUE(pair.client.events.empty());
}

TEST(CmReject, the_narrowest_path_is_refused_for_good) {
    CmPair pair({.max_path_mtu = 0});
    EXPECT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
    ConnectRequest request = sample_request();
    request.endpoint = 2;
    request.path_mtu = 1;
    EXPECT_EQ(pair.client.manager.connect(pair.now(), request).status, CmStatus::ok);
    pair.run_for(20_us);
    const auto [event, what] = pair.client.take<CmRejected>();
    EXPECT_TRUE(event.last);
    EXPECT_EQ(what.message.reason, wire::kCmRejectInvalidMtu);
}

}  // namespace
}  // namespace tulle::transport
