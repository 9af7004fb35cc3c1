// Peers whose process is gone, and those who take their place.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

TEST(CmGone, a_connection_ends_at_once_and_nothing_of_it_is_kept) {
    CmPair pair;
    const auto handles = pair.connect();
    pair.server.manager.lose_endpoint(1);
    pair.run_for(1_us);
    const auto [event, what] = pair.server.take<CmDisconnected>();
    EXPECT_EQ(event.handle, handles.server);
    EXPECT_EQ(what.how, CmEnd::peer_gone);
    EXPECT_TRUE(pair.server.take<CmTimeWaitOver>().first.last);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
    EXPECT_EQ(pair.server.manager.next_deadline(), base::Instant::never());
    EXPECT_EQ(pair.sent(wire::kCmDreq), 0);
}

TEST(CmGone, others_go_on) {
    CmPair pair;
    const auto handles = pair.connect();
    pair.server.manager.lose_endpoint(7);
    pair.run_for(1_us);
    EXPECT_TRUE(pair.server.events.empty());
    EXPECT_EQ(pair.server.manager.disconnect(pair.now(), handles.server), CmStatus::ok);
}

TEST(CmGone, one_that_rests_need_not_rest_any_longer) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    pair.run_for(10_us);
    pair.server.take<CmDisconnected>();
    pair.server.manager.lose_endpoint(1);
    pair.run_for(1_us);
    EXPECT_TRUE(pair.server.take<CmTimeWaitOver>().first.last);
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmGone, one_that_was_told_of_the_end_is_not_told_twice) {
    CmPair pair;
    const auto handles = pair.connect();
    EXPECT_EQ(pair.server.manager.abandon(pair.now(), handles.server), CmStatus::ok);
    pair.server.manager.lose_endpoint(1);
    pair.run_for(1_us);
    EXPECT_TRUE(pair.server.events.empty());
    EXPECT_EQ(pair.server.manager.open_connections(), 0u);
}

TEST(CmGone, a_request_without_an_answer_is_refused) {
    CmPair pair;
    const auto handles = pair.request();
    pair.client.manager.lose_endpoint(2);
    pair.run_for(1_us);
    const auto [refused, what] = pair.client.take<CmRejected>();
    EXPECT_EQ(refused.handle, handles.client);
    EXPECT_TRUE(refused.last);
    EXPECT_EQ(what.message.reason, wire::kCmRejectConsumer);
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
}

TEST(CmGone, a_request_that_nobody_answered_leaves_the_backlog) {
    CmPair pair;
    ASSERT_EQ(pair.server.manager.listen(kService, wire::Key64{~uint64_t{0}}, 1).status,
              CmStatus::ok);
    ConnectRequest request = sample_request();
    request.endpoint = 2;
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(pair.client.manager.connect(pair.now(), request).status, CmStatus::ok);
        pair.run_for(10_us);
        pair.server.take<CmRequestArrived>();
        pair.server.manager.lose_endpoint(1);
        pair.run_for(1_us);
        const auto [event, what] = pair.server.take<CmRejected>();
        EXPECT_TRUE(event.last);
        EXPECT_EQ(what.message.reason, wire::kCmRejectTimeout);
    }
    EXPECT_TRUE(pair.server.events.empty());
    EXPECT_TRUE(pair.client.events.empty());
}

// The successor of a process has its GUID and may have the numbers of its queue pairs. It may even
// come before anybody has noticed that its predecessor is gone.
TEST(CmGone, a_successor_with_the_same_numbers_is_not_stale) {
    CmPair pair;
    const auto handles = pair.connect();
    ConnectionManager successor = sample_manager(1);
    EXPECT_EQ(successor.connect(pair.now(), sample_request()).status, CmStatus::ok);
    const auto req = successor.poll_mad(pair.now());
    ASSERT_TRUE(req);
    pair.server.manager.on_mad(pair.now(), 3, wire::Qpn{1}, req->mad);
    pair.run_for(1_us);
    const auto [event, what] = pair.server.take<CmRequestArrived>();
    EXPECT_EQ(what.endpoint, 3u);
    pair.server.manager.lose_endpoint(1);
    pair.run_for(1_us);
    EXPECT_EQ(pair.server.take<CmDisconnected>().first.handle, handles.server);
    EXPECT_TRUE(pair.server.take<CmTimeWaitOver>().first.last);
    EXPECT_EQ(pair.server.manager.accept(pair.now(), event.handle, sample_reply()), CmStatus::ok);
}

// ---- what the network reports -------------------------------------------------------------------

struct CmUnheard : ::testing::Test {
    CmUnheard() {
        pair.drop_all(wire::kCmReq);
        pair.drop_all(wire::kCmDreq);
        pair.drop_all(wire::kCmSidrReq);
    }
    // As a kernel does where nobody has the port: an answer to each message.
    void report_until(base::Instant end, bool is_refused) {
        while (pair.now() < end) {
            pair.client.manager.on_unreachable(pair.now(), 2, is_refused);
            pair.run_for(300_ms);
        }
    }
    static ConnectRequest patient_request() {
        ConnectRequest request = sample_request();
        request.endpoint = 2;
        request.remote_cm_response_timeout = 20;  // 4.3 s
        return request;
    }
    CmPair pair;
};

TEST_F(CmUnheard, a_request_that_a_host_refuses_ends_after_a_second) {
    const auto opened = pair.client.manager.connect(pair.now(), patient_request());
    report_until(pair.now() + 900_ms, true);
    EXPECT_TRUE(pair.client.events.empty()) << "the peer may be about to begin";
    pair.run_for(200_ms);
    pair.client.manager.on_unreachable(pair.now(), 2, true);
    pair.run_for(1_us);
    const auto [event, what] = pair.client.take<CmUnreachable>();
    EXPECT_EQ(event.handle, opened.handle);
    EXPECT_TRUE(event.last);
    EXPECT_EQ(what.message, wire::kCmReq);
    EXPECT_TRUE(what.is_refused);
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
    EXPECT_GE(pair.sent(wire::kCmReq), 4) << "asked again at each report";
}

TEST_F(CmUnheard, a_peer_that_begins_within_the_second_is_connected) {
    CmPair late;
    late.drop_nth(wire::kCmReq, 1);
    EXPECT_EQ(late.server.manager.listen(kService).status, CmStatus::ok);
    EXPECT_EQ(late.client.manager.connect(late.now(), patient_request()).status, CmStatus::ok);
    late.client.manager.on_unreachable(late.now(), 2, true);
    late.run_for(400_ms);
    late.server.take<CmRequestArrived>();
    EXPECT_EQ(late.sent(wire::kCmReq), 2) << "long before the timeout";
}

TEST_F(CmUnheard, a_question_for_a_service_ends_too) {
    ServiceRequest request;
    request.endpoint = 2;
    request.service_id = kService;
    EXPECT_EQ(pair.client.manager.resolve_service(pair.now(), request).status, CmStatus::ok);
    pair.run_for(1_s);
    pair.client.manager.on_unreachable(pair.now(), 2, false);
    pair.run_for(1_us);
    const auto what = pair.client.take<CmUnreachable>().second;
    EXPECT_EQ(what.message, wire::kCmSidrReq);
    EXPECT_FALSE(what.is_refused);
}

TEST_F(CmUnheard, who_says_goodbye_to_nobody_need_not_wait) {
    CmPair both;
    both.drop_all(wire::kCmDreq);
    const auto connected = both.connect();
    EXPECT_EQ(both.client.manager.disconnect(both.now(), connected.client), CmStatus::ok);
    both.client.manager.on_unreachable(both.now() + 1_s, 2, true);
    both.run_for(1_us);
    EXPECT_EQ(both.client.take<CmDisconnected>().second.how, CmEnd::no_answer);
}

TEST_F(CmUnheard, reports_about_others_and_about_connections_change_nothing) {
    CmPair both;
    const auto connected = both.connect();
    both.client.manager.on_unreachable(both.now() + 2_s, 2, true);
    both.run_for(1_us);
    EXPECT_TRUE(both.client.events.empty());
    EXPECT_EQ(pair.client.manager.connect(pair.now(), patient_request()).status, CmStatus::ok);
    pair.client.manager.on_unreachable(pair.now() + 2_s, 7, true);
    pair.run_for(1_us);
    EXPECT_TRUE(pair.client.events.empty());
    EXPECT_EQ(both.client.manager.disconnect(both.now(), connected.client), CmStatus::ok);
}

}  // namespace
}  // namespace tulle::transport
