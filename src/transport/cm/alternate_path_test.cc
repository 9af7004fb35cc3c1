// A peer that proposes another path for an established connection (LAP) is told that there is none.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

constexpr wire::Key64 kTransaction{5};

// The client's proposal, as the server should get it.
wire::CmLap proposal(const CmPair::Handles& handles, CmPair& pair) {
    EXPECT_EQ(pair.client.manager.disconnect(pair.now(), handles.client), CmStatus::ok);
    const auto dreq = message_in<wire::CmDreq>(pair.client.manager.poll_mad({})->mad);
    auto lap = cm::plain_message<wire::CmLap>({});
    lap.local_communication_id = dreq.local_communication_id;
    lap.remote_communication_id = dreq.remote_communication_id;
    lap.remote_qpn = dreq.remote_qpn;
    return lap;
}

// What a manager answers to a LAP of a connection, changed on its way.
wire::CmApr answer_to(void (*change)(wire::CmLap&)) {
    CmPair pair;
    auto lap = proposal(pair.connect(), pair);
    change(lap);
    pair.server.manager.on_mad(pair.now(), 1, wire::Qpn{1}, cm::datagram(lap, kTransaction));
    EXPECT_FALSE(pair.server.manager.poll_event());
    const auto answer = pair.server.manager.poll_mad({});
    EXPECT_EQ(wire::parse<wire::MadHeader>(answer->mad)->transaction_id, kTransaction);
    return message_in<wire::CmApr>(answer->mad);
}

TEST(CmAlternatePath, a_path_that_a_peer_proposes_is_declined) {
    EXPECT_EQ(answer_to([](wire::CmLap&) {}).status, wire::kAprUnsupported);
}

TEST(CmAlternatePath, a_path_for_an_unknown_connection_or_queue_pair_is_refused) {
    EXPECT_EQ(answer_to([](wire::CmLap& lap) { lap.local_communication_id.value ^= 1; }).status,
              wire::kAprInvalidCommunicationId);
    EXPECT_EQ(answer_to([](wire::CmLap& lap) { lap.remote_qpn.value ^= 1; }).status,
              wire::kAprQpnMismatch);
}

TEST(CmAlternatePath, a_proposal_that_comes_again_is_declined_again) {
    CmPair pair;
    const auto lap = proposal(pair.connect(), pair);
    for (int i = 0; i < 2; ++i) {
        pair.server.manager.on_mad(pair.now(), 1, wire::Qpn{1}, cm::datagram(lap, kTransaction));
        ASSERT_TRUE(pair.server.manager.poll_mad({}));
    }
    EXPECT_FALSE(pair.server.manager.poll_mad({}));
}

}  // namespace
}  // namespace tulle::transport
