// Two sides that connect to each other at once.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

CmHandle connect_to(CmPair& pair, Side& side, uint32_t endpoint, uint32_t qpn) {
    ConnectRequest request = sample_request(qpn);
    request.endpoint = endpoint;
    request.peer_to_peer = true;
    return side.manager.connect(pair.now(), request).handle;
}

// From where the passive one has its request to where both are connected.
void establish(CmPair& pair, Side& passive, Side& active, CmHandle expected_passive,
               CmHandle expected_active) {
    const auto [arrived, request] = passive.take<CmRequestArrived>();
    EXPECT_EQ(arrived.handle, expected_passive);
    EXPECT_EQ(request.listener, CmListener{});
    EXPECT_EQ(passive.manager.accept(pair.now(), arrived.handle, sample_reply(0x111)),
              CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(active.take<CmReplyArrived>().first.handle, expected_active);
    EXPECT_EQ(active.manager.ready(pair.now(), expected_active), CmStatus::ok);
    pair.run_for(10_us);
    active.take<CmEstablished>();
    passive.take<CmEstablished>();
    EXPECT_TRUE(active.events.empty());
    EXPECT_TRUE(passive.events.empty());
}

TEST(CmPeer, of_two_requests_that_cross_the_one_of_the_greater_guid_stands) {
    CmPair pair;  // the server has the greater GUID
    const CmHandle client = connect_to(pair, pair.client, 2, 0x111);
    const CmHandle server = connect_to(pair, pair.server, 1, 0x222);
    pair.run_for(10_us);
    EXPECT_TRUE(pair.server.events.empty());
    establish(pair, pair.client, pair.server, client, server);
    EXPECT_EQ(pair.sent(wire::kCmReq), 2);
    EXPECT_EQ(pair.sent(wire::kCmRep), 1);
    EXPECT_EQ(pair.sent(wire::kCmRej), 0);
    EXPECT_EQ(pair.client.manager.open_connections(), 1u);
    EXPECT_EQ(pair.server.manager.open_connections(), 1u);
}

TEST(CmPeer, on_one_node_the_greater_number_of_the_queue_pair_stands) {
    for (const bool client_is_greater : {false, true}) {
        CmPair pair;
        pair.server.manager = sample_manager(1);
        const CmHandle client = connect_to(pair, pair.client, 2, client_is_greater ? 0x333 : 0x111);
        const CmHandle server = connect_to(pair, pair.server, 1, 0x222);
        pair.run_for(10_us);
        if (client_is_greater)
            establish(pair, pair.server, pair.client, server, client);
        else
            establish(pair, pair.client, pair.server, client, server);
    }
}

TEST(CmPeer, whoever_is_early_waits_for_the_other) {
    for (const bool client_first : {false, true}) {
        CmPair pair;
        CmHandle client;
        CmHandle server;
        if (client_first)
            client = connect_to(pair, pair.client, 2, 0x111);
        else
            server = connect_to(pair, pair.server, 1, 0x222);
        pair.run_for(10_us);
        EXPECT_EQ(pair.sent(wire::kCmRej), 1);  // nobody listens
        EXPECT_TRUE(pair.client.events.empty());
        EXPECT_TRUE(pair.server.events.empty());
        if (client_first)
            server = connect_to(pair, pair.server, 1, 0x222);
        else
            client = connect_to(pair, pair.client, 2, 0x111);
        pair.run_for(2 * kOneTry);
        establish(pair, pair.client, pair.server, client, server);
    }
}

TEST(CmPeer, each_request_may_be_lost_once) {
    for (const int lost : {1, 2}) {
        CmPair pair;
        pair.drop_nth(wire::kCmReq, lost);
        const CmHandle client = connect_to(pair, pair.client, 2, 0x111);
        const CmHandle server = connect_to(pair, pair.server, 1, 0x222);
        pair.run_for(2 * kOneTry);
        establish(pair, pair.client, pair.server, client, server);
    }
}

TEST(CmPeer, a_request_that_crossed_and_comes_late_ends_nothing) {
    CmPair pair;
    pair.delay_nth(wire::kCmReq, 1, 100_us);
    const CmHandle client = connect_to(pair, pair.client, 2, 0x111);
    const CmHandle server = connect_to(pair, pair.server, 1, 0x222);
    pair.run_for(10_us);
    establish(pair, pair.client, pair.server, client, server);
    pair.run_for(200_us);
    EXPECT_TRUE(pair.client.events.empty());
    EXPECT_TRUE(pair.server.events.empty());
    EXPECT_EQ(pair.server.manager.stats().duplicates, 1u);
}

TEST(CmPeer, a_peer_that_never_connects_is_given_up) {
    CmPair pair;
    const CmHandle client = connect_to(pair, pair.client, 2, 0x111);
    pair.run_until_idle();
    const auto [event, unreachable] = pair.client.take<CmUnreachable>();
    EXPECT_EQ(event.handle, client);
    EXPECT_TRUE(event.last);
    EXPECT_EQ(unreachable.message, wire::kCmReq);
    EXPECT_EQ(pair.sent(wire::kCmReq), 1 + kRetries);
}

TEST(CmPeer, without_the_wish_a_request_that_crosses_is_refused) {
    CmPair pair;
    ConnectRequest request = sample_request(0x111);
    request.endpoint = 2;
    const auto client = pair.client.manager.connect(pair.now(), request);
    EXPECT_EQ(client.status, CmStatus::ok);
    request.endpoint = 1;
    const auto server = pair.server.manager.connect(pair.now(), request);
    EXPECT_EQ(server.status, CmStatus::ok);
    pair.run_until_idle();
    EXPECT_EQ(pair.client.take<CmRejected>().second.message.reason,
              wire::kCmRejectInvalidServiceId);
    EXPECT_EQ(pair.server.take<CmRejected>().second.message.reason,
              wire::kCmRejectInvalidServiceId);
}

}  // namespace
}  // namespace tulle::transport
