// What the swarm (tests/swarm) found, each as a story of its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "pair.h"

namespace tulle::transport {
namespace {

bool contains(const std::vector<EventKind>& events, EventKind kind) {
    return std::find(events.begin(), events.end(), kind) != events.end();
}

TEST(SwarmFound, a_send_queue_that_is_drained_by_an_acknowledgement_says_so) {
    Pair pair;
    pair.client.post({.work = Work::send, .length = 100});
    pair.run(base::Duration{500'000});  // it is under way
    QpAttributes attributes;
    attributes.state = QpState::sqd;
    attributes.drain_notify = true;
    ASSERT_EQ(pair.client.adapter.modify_qp(pair.client.qpn, attributes, kState | kDrainNotify),
              Refusal::none);
    EXPECT_FALSE(contains(pair.client.events(), EventKind::sq_drained));
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(contains(pair.client.events(), EventKind::sq_drained));
}

}  // namespace
}  // namespace tulle::transport
