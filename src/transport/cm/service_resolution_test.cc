// SIDR: where a datagram service is.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

ServiceRequest sample_question() {
    return {.endpoint = 2,
            .service_id = kService,
            .packet_lifetime = kLifetime,
            .response_timeout = kResponse,
            .max_cm_retries = kRetries};
}

// Asked, and the question has arrived.
CmPair::Handles ask(CmPair& pair) {
    EXPECT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
    const CmHandle client =
        pair.client.manager.resolve_service(pair.now(), sample_question()).handle;
    pair.run_for(10_us);
    return {client, pair.server.take<CmServiceRequested>().first.handle};
}

TEST(CmService, queue_pair_and_key_are_found) {
    CmPair pair;
    EXPECT_EQ(pair.server.manager.listen(kService).status, CmStatus::ok);
    ServiceRequest question = sample_question();
    question.private_data = bytes_of("where");
    const CmHandle client = pair.client.manager.resolve_service(pair.now(), question).handle;
    pair.run_for(10_us);
    const auto [event, requested] = pair.server.take<CmServiceRequested>();
    EXPECT_EQ(requested.endpoint, 1u);
    EXPECT_EQ(requested.message.service_id, kService);
    EXPECT_EQ(requested.private_data()[0], 'w');
    EXPECT_EQ(pair.server.manager.answer_service(pair.now(), event.handle,
                                                 {.qpn = wire::Qpn{0x77},
                                                  .qkey = wire::QKey{0x1234567},
                                                  .private_data = bytes_of("here")}),
              CmStatus::ok);
    pair.run_for(10_us);
    const auto [answer, answered] = pair.client.take<CmServiceAnswered>();
    EXPECT_EQ(answer.handle, client);
    EXPECT_TRUE(answer.last);
    EXPECT_EQ(answered.message.status, wire::kSidrValid);
    EXPECT_EQ(answered.message.qpn, wire::Qpn{0x77});
    EXPECT_EQ(answered.message.qkey, wire::QKey{0x1234567});
    EXPECT_EQ(answered.message.service_id, kService);
    EXPECT_EQ(text_in(answered.message.private_data), "here");
    pair.run_until_idle();
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmService, nobody_listening_is_an_unsupported_service) {
    CmPair pair;
    EXPECT_EQ(pair.client.manager.resolve_service(pair.now(), sample_question()).status,
              CmStatus::ok);
    pair.run_until_idle();
    const auto [event, answered] = pair.client.take<CmServiceAnswered>();
    EXPECT_TRUE(event.last);
    EXPECT_EQ(answered.message.status, wire::kSidrServiceIdUnsupported);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmService, a_refusal_carries_its_status_and_no_queue_pair) {
    CmPair pair;
    const auto handles = ask(pair);
    EXPECT_EQ(pair.server.manager.answer_service(pair.now(), handles.server,
                                                 {.status = wire::kSidrNoQp, .qpn = wire::Qpn{9}}),
              CmStatus::ok);
    pair.run_until_idle();
    const auto answered = pair.client.take<CmServiceAnswered>().second;
    EXPECT_EQ(answered.message.status, wire::kSidrNoQp);
    EXPECT_EQ(answered.message.qpn, wire::Qpn{0});
}

TEST(CmService, a_lost_answer_is_given_again) {
    CmPair pair;
    pair.drop_nth(wire::kCmSidrRep, 1);
    const auto handles = ask(pair);
    EXPECT_EQ(
        pair.server.manager.answer_service(pair.now(), handles.server, {.qpn = wire::Qpn{0x77}}),
        CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.client.take<CmServiceAnswered>().second.message.qpn, wire::Qpn{0x77});
    EXPECT_EQ(pair.sent(wire::kCmSidrReq), 2);
    EXPECT_TRUE(pair.server.events.empty());
}

TEST(CmService, doubled_messages_are_seen_once) {
    CmPair pair;
    pair.double_nth(wire::kCmSidrReq, 1);
    pair.double_nth(wire::kCmSidrRep, 1);
    const auto handles = ask(pair);
    EXPECT_EQ(
        pair.server.manager.answer_service(pair.now(), handles.server, {.qpn = wire::Qpn{0x77}}),
        CmStatus::ok);
    pair.run_until_idle();
    pair.client.take<CmServiceAnswered>();
    EXPECT_TRUE(pair.client.events.empty() && pair.server.events.empty());
}

TEST(CmService, a_question_that_nobody_answers_is_given_up_after_its_retries) {
    CmPair pair;
    pair.drop_all(wire::kCmSidrReq);
    const auto opened = pair.client.manager.resolve_service(pair.now(), sample_question());
    pair.run_until_idle();
    const auto [event, unreachable] = pair.client.take<CmUnreachable>();
    EXPECT_EQ(event.handle, opened.handle);
    EXPECT_TRUE(event.last);
    EXPECT_EQ(unreachable.message, wire::kCmSidrReq);
    EXPECT_EQ(pair.sent(wire::kCmSidrReq), 1 + kRetries);
    EXPECT_EQ(pair.now(), base::Instant{} + (1 + kRetries) * kOneTry);
}

TEST(CmService, an_answer_is_kept_for_as_long_as_the_question_comes_again) {
    ConnectionManager client = sample_manager(1);
    ConnectionManager server = sample_manager(2);
    EXPECT_EQ(server.listen(kService).status, CmStatus::ok);
    EXPECT_EQ(client.resolve_service({}, sample_question()).status, CmStatus::ok);
    const CmDatagram question = client.poll_mad({})->mad;
    base::Instant now;
    server.on_mad(now, 1, wire::Qpn{1}, question);
    const CmHandle handle = server.poll_event()->handle;
    EXPECT_EQ(server.answer_service(now, handle, {.qpn = wire::Qpn{0x77}}), CmStatus::ok);
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(server.poll_mad(now));
        now += cm_time(20) + 1_s;
        server.on_timer(now);
        server.on_mad(now, 1, wire::Qpn{1}, question);
    }
    EXPECT_FALSE(server.poll_event());
}

TEST(CmService, a_request_id_may_be_used_again_for_another_question) {
    ConnectionManager client = sample_manager(1);
    ConnectionManager server = sample_manager(2);
    EXPECT_EQ(server.listen(kService).status, CmStatus::ok);
    EXPECT_EQ(client.resolve_service({}, sample_question()).status, CmStatus::ok);
    const auto question = message_in<wire::CmSidrReq>(client.poll_mad({})->mad);
    for (uint64_t transaction = 1; transaction < 4; ++transaction) {
        server.on_mad({}, 1, wire::Qpn{1}, cm::datagram(question, wire::Key64{transaction}));
        const auto event = server.poll_event();
        ASSERT_TRUE(event);
        EXPECT_EQ(server.answer_service({}, event->handle, {.qpn = wire::Qpn{0x77}}), CmStatus::ok);
        EXPECT_EQ(server.open_connections(), 1u);
    }
}

TEST(CmService, an_owner_may_give_up) {
    CmPair pair;
    auto handles = ask(pair);
    EXPECT_EQ(pair.server.manager.abandon(pair.now(), handles.server), CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.client.take<CmServiceAnswered>().second.message.status, wire::kSidrRejected);
    const auto again = pair.client.manager.resolve_service(pair.now(), sample_question());
    EXPECT_EQ(pair.client.manager.abandon(pair.now(), again.handle), CmStatus::ok);
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
}

TEST(CmService, calls_for_connections_do_not_fit) {
    CmPair pair;
    const auto handles = ask(pair);
    EXPECT_EQ(pair.server.manager.accept(pair.now(), handles.server, sample_reply()),
              CmStatus::wrong_state);
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::wrong_state);
    EXPECT_EQ(pair.server.manager.answer_service(pair.now(), handles.server, {}),
              CmStatus::invalid);  // no QPN
}

}  // namespace
}  // namespace tulle::transport
