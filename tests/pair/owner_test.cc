// What an owner of an adapter does besides packets: work that it carried out by itself, and silence
// that it knows more about.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using namespace base::literals;

bool always(const Packet&) {
    return true;
}

SendRequest done(Work work, uint64_t id, uint8_t flags = kSignalled) {
    SendRequest request;
    request.id = id;
    request.work = work;
    request.flags = flags;
    return request;
}

TEST(Owner, work_that_it_did_completes_as_if_it_had_been_sent) {
    Pair pair;
    EXPECT_FALSE(pair.client.adapter.has_sends(pair.client.qpn));
    pair.client.adapter.complete_elsewhere(pair.client.qpn, done(Work::write, 7), 100);
    const Completion write = pair.client.completion();
    EXPECT_EQ(write.id, 7u);
    EXPECT_EQ(write.status, Status::success);
    EXPECT_EQ(write.kind, CompletionKind::write);
    EXPECT_EQ(write.byte_count, 100u);
    pair.client.adapter.complete_elsewhere(pair.client.qpn, done(Work::read, 8), 5);
    EXPECT_EQ(pair.client.completion().kind, CompletionKind::read);
    EXPECT_TRUE(pair.wire.log.empty());
}

TEST(Owner, work_that_nobody_asked_to_hear_of_completes_without_a_word) {
    Pair pair;
    pair.client.adapter.complete_elsewhere(pair.client.qpn, done(Work::write, 7, 0), 100);
    EXPECT_FALSE(pair.client.adapter.completions().has_any(pair.client.qp().send_cq));
}

TEST(Owner, a_queue_pair_has_sends_until_they_are_acknowledged) {
    Pair pair;
    pair.client.post({.work = Work::write, .length = 100});
    EXPECT_TRUE(pair.client.adapter.has_sends(pair.client.qpn));
    EXPECT_TRUE(pair.client.adapter.has_work());
    pair.run();
    EXPECT_FALSE(pair.client.adapter.has_sends(pair.client.qpn));
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Owner, a_peer_that_is_known_to_be_gone_is_given_up_in_the_time_that_is_set_then) {
    Pair pair({.ack_timeout = 0, .retry_count = 1});
    pair.wire.drop_if(always);
    pair.client.post({.work = Work::send, .length = 8});
    pair.run(10_ms);
    EXPECT_EQ(pair.wire.log.size(), 1u);  // waits for ever
    pair.client.adapter.queue_pairs().set_ack_timeout(pair.now, pair.client.qpn, 8);
    pair.run();
    EXPECT_EQ(pair.wire.log.size(), 2u);
    EXPECT_EQ(pair.client.completion().status, Status::retry_exceeded);
}

}  // namespace
}  // namespace tulle::transport
