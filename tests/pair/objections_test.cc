// Why a responder refused, for owners who tell people: more than its NAK says.
#include <gtest/gtest.h>

#include "pair.h"

namespace tulle::transport {
namespace {

using Cause = Objection::Cause;

// What the server's responder has against this request.
Objection objection(const Post& post, const PairOptions& options = {}) {
    Pair pair(options);
    pair.client.post(post);
    pair.run();
    EXPECT_TRUE(pair.server.adapter.has_objection());
    const Objection found = pair.server.adapter.take_objection();
    EXPECT_FALSE(pair.server.adapter.has_objection());
    EXPECT_EQ(found.qpn, pair.server.qpn);
    return found;
}

TEST(Objections, a_key_that_is_wrong_is_told_from_a_range_and_a_right_that_are) {
    const Objection unknown = objection({.work = Work::write, .length = 16, .rkey = 0x1234});
    EXPECT_EQ(unknown.cause, Cause::unknown_key);
    EXPECT_EQ(unknown.rkey, 0x1234u);
    EXPECT_EQ(unknown.work, Work::write);
    const Objection beyond =
        objection({.work = Work::read, .length = 100, .remote_offset = Host::kMemory - 50});
    EXPECT_EQ(beyond.cause, Cause::out_of_bounds);
    EXPECT_EQ(beyond.address, Host::kBase + Host::kMemory - 50);
    EXPECT_EQ(beyond.length, 100u);
    EXPECT_EQ(beyond.work, Work::read);
    EXPECT_EQ(objection({.work = Work::write, .length = 16}, {.region_access = kLocalWrite}).cause,
              Cause::missing_right);
}

TEST(Objections, what_the_queue_pair_does_not_offer_is_named) {
    EXPECT_EQ(objection({.work = Work::write, .length = 16}, {.access = kRemoteRead}).cause,
              Cause::not_offered);
    EXPECT_EQ(objection({.work = Work::fetch_add, .length = 8}, {.access = kRemoteRead}).work,
              Work::fetch_add);
}

TEST(Objections, a_receive_that_is_too_short_is_named) {
    EXPECT_EQ(objection({.work = Work::send, .length = 3000}, {.receive_bytes = 100}).cause,
              Cause::receive_too_short);
}

TEST(Objections, a_receiver_that_is_not_ready_has_none) {
    Pair pair({.rnr_retry = 0, .receives = 0});
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::rnr_retry_exceeded);
    EXPECT_FALSE(pair.server.adapter.has_objection());
}

}  // namespace
}  // namespace tulle::transport
