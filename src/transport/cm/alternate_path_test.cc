// LAP and APR: another path for an established connection.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

AlternatePathRequest sample_path() {
    AlternatePathRequest request;
    request.path.local_gid = wire::gid_of(wire::Ipv4Address{{198, 51, 100, 1}});
    request.path.remote_gid = wire::gid_of(wire::Ipv4Address{{198, 51, 100, 2}});
    request.path.packet_lifetime = kLifetime;
    request.path.service_level = 2;
    request.remote_cm_response_timeout = kResponse;
    return request;
}

TEST(CmAlternatePath, a_path_is_proposed_and_loaded) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.load_alternate(pair.now(), handles.client, sample_path()),
              CmStatus::ok);
    EXPECT_EQ(pair.client.manager.load_alternate(pair.now(), handles.client, sample_path()),
              CmStatus::wrong_state);
    pair.run_for(10_us);
    const auto [event, requested] = pair.server.take<CmPathRequested>();
    EXPECT_EQ(event.handle, handles.server);
    EXPECT_EQ(requested.message.remote_qpn, wire::Qpn{0x100'100});
    EXPECT_EQ(requested.message.alternate_local_gid, sample_path().path.local_gid);
    EXPECT_EQ(requested.message.alternate_service_level, 2);
    EXPECT_EQ(requested.message.alternate_local_ack_timeout, ack_timeout_code(kLifetime, 3));
    EXPECT_EQ(pair.server.manager.answer_alternate(handles.server, {}), CmStatus::ok);
    pair.run_for(10_us);
    const auto [answer, answered] = pair.client.take<CmPathAnswered>();
    EXPECT_FALSE(answer.last);
    EXPECT_EQ(answered.message.status, wire::kAprLoaded);
    EXPECT_TRUE(pair.idle());
}

TEST(CmAlternatePath, a_path_may_be_rejected_with_information) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.server.manager.load_alternate(pair.now(), handles.server, sample_path()),
              CmStatus::ok);
    pair.run_for(10_us);
    pair.client.take<CmPathRequested>();
    EXPECT_EQ(pair.client.manager.answer_alternate(handles.client,
                                                   {.status = wire::kAprServiceLevel,
                                                    .additional_info = bytes_of("1"),
                                                    .private_data = bytes_of("no such lane")}),
              CmStatus::ok);
    pair.run_for(10_us);
    const auto [event, answered] = pair.server.take<CmPathAnswered>();
    EXPECT_EQ(answered.message.status, wire::kAprServiceLevel);
    EXPECT_EQ(answered.message.additional_info_length, 1);
    EXPECT_EQ(text_in(answered.message.private_data), "no such lane");
}

TEST(CmAlternatePath, a_lost_message_is_made_good) {
    for (const uint16_t lost : {wire::kCmLap, wire::kCmApr}) {
        CmPair pair;
        pair.drop_nth(lost, 1);
        const auto handles = pair.connect();
        EXPECT_EQ(pair.client.manager.load_alternate(pair.now(), handles.client, sample_path()),
                  CmStatus::ok);
        pair.run_for(kOneTry + 10_us);
        if (!pair.server.events.empty()) pair.server.take<CmPathRequested>();
        EXPECT_EQ(pair.server.manager.answer_alternate(handles.server, {}), CmStatus::ok);
        pair.run_until_idle();
        pair.client.take<CmPathAnswered>();
        EXPECT_TRUE(pair.client.events.empty() && pair.server.events.empty());
        EXPECT_EQ(pair.sent(lost), 2);
    }
}

TEST(CmAlternatePath, doubled_messages_are_seen_once) {
    CmPair pair;
    pair.double_nth(wire::kCmLap, 1);
    pair.double_nth(wire::kCmApr, 1);
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.load_alternate(pair.now(), handles.client, sample_path()),
              CmStatus::ok);
    pair.run_for(10_us);
    pair.server.take<CmPathRequested>();
    EXPECT_EQ(pair.server.manager.answer_alternate(handles.server, {}), CmStatus::ok);
    pair.run_until_idle();
    pair.client.take<CmPathAnswered>();
    EXPECT_TRUE(pair.client.events.empty() && pair.server.events.empty());
}

TEST(CmAlternatePath, without_an_answer_the_connection_goes_on_as_it_was) {
    CmPair pair;
    pair.drop_all(wire::kCmLap);
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.load_alternate(pair.now(), handles.client, sample_path()),
              CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.sent(wire::kCmLap), 1 + kRetries);
    const auto [event, unreachable] = pair.client.take<CmUnreachable>();
    EXPECT_EQ(unreachable.message, wire::kCmLap);
    EXPECT_FALSE(event.last);
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
}

TEST(CmAlternatePath, the_answer_may_be_announced_for_later) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.load_alternate(pair.now(), handles.client, sample_path()),
              CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.server.manager.prepare(handles.server, 15), CmStatus::ok);
    pair.run_for(cm_time(15));
    EXPECT_EQ(pair.client.take<CmMoreTime>().second.message.message_mraed, wire::kCmAnswersOther);
    EXPECT_EQ(pair.sent(wire::kCmLap), 1);
    EXPECT_EQ(pair.server.manager.answer_alternate(handles.server, {}), CmStatus::ok);
    pair.run_until_idle();
    pair.client.take<CmPathAnswered>();
}

// What a manager answers to a LAP of a connection, changed on its way.
wire::CmApr answer_to(void (*change)(wire::CmLap&)) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.load_alternate(pair.now(), handles.client, sample_path()),
              CmStatus::ok);
    auto lap = message_in<wire::CmLap>(pair.client.manager.poll_mad({})->mad);
    change(lap);
    pair.server.manager.on_mad(pair.now(), 1, wire::Qpn{1}, cm::datagram(lap, wire::Key64{5}));
    EXPECT_FALSE(pair.server.manager.poll_event());
    return message_in<wire::CmApr>(pair.server.manager.poll_mad({})->mad);
}

TEST(CmAlternatePath, a_path_for_an_unknown_connection_or_queue_pair_is_refused) {
    EXPECT_EQ(answer_to([](wire::CmLap& lap) { lap.local_communication_id.value ^= 1; }).status,
              wire::kAprInvalidCommunicationId);
    EXPECT_EQ(answer_to([](wire::CmLap& lap) { lap.remote_qpn.value ^= 1; }).status,
              wire::kAprQpnMismatch);
}

TEST(CmAlternatePath, a_repeated_proposal_gets_the_announcement_again) {
    CmPair pair;
    pair.drop_nth(wire::kCmMra, 1);
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.load_alternate(pair.now(), handles.client, sample_path()),
              CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.server.manager.prepare(handles.server, 15), CmStatus::ok);
    pair.run_for(kOneTry + 10_us);
    EXPECT_EQ(pair.sent(wire::kCmLap), 2);
    EXPECT_EQ(pair.sent(wire::kCmMra), 2);
    pair.client.take<CmMoreTime>();
}

TEST(CmAlternatePath, what_was_announced_for_the_establishment_is_not_announced_again) {
    CmPair pair;
    const auto handles = pair.request();
    EXPECT_EQ(pair.server.manager.prepare(handles.server, 15), CmStatus::ok);
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.client.manager.ready(handles.client), CmStatus::ok);
    pair.run_for(10_us);
    pair.double_nth(wire::kCmLap, 1);
    EXPECT_EQ(pair.client.manager.load_alternate(pair.now(), handles.client, sample_path()),
              CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.sent(wire::kCmMra), 1);
}

TEST(CmAlternatePath, an_answer_to_an_older_proposal_is_not_taken_for_the_new_one) {
    CmPair pair;
    pair.drop_all(wire::kCmLap);
    const auto handles = pair.connect();
    ConnectionManager& client = pair.client.manager;
    EXPECT_EQ(client.load_alternate(pair.now(), handles.client, sample_path()), CmStatus::ok);
    const CmDatagram first = client.poll_mad(pair.now())->mad;
    pair.run_until_idle();
    pair.client.take<CmUnreachable>();
    EXPECT_EQ(client.load_alternate(pair.now(), handles.client, sample_path()), CmStatus::ok);
    pair.server.manager.on_mad(pair.now(), 1, wire::Qpn{1}, first);
    EXPECT_EQ(pair.server.manager.answer_alternate(handles.server, {}), CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_TRUE(pair.client.events.empty());
    EXPECT_EQ(client.stats().duplicates, 1u);
}

}  // namespace
}  // namespace tulle::transport
