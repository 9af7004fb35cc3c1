// Requests that their responder refuses because its owner said so: what follows is what follows
// from a refusal with a cause.
#include <gtest/gtest.h>

#include "pair.h"
#include "wire/syndrome.h"

namespace tulle::transport {
namespace {

using wire::NakCode;
using wire::Operation;
using wire::syndrome_of;

constexpr uint8_t kNotReady = syndrome_of(wire::AckKind::rnr_nak, 0);

TEST(Refusals, a_message_for_a_receiver_that_is_called_not_ready_goes_again_and_arrives) {
    Pair pair;
    pair.wire.refuse(Operation::send_first, 1, kNotReady);
    pair.client.post({.work = Work::send, .length = 3000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_EQ(pair.server.receive_completion().byte_count, 3000u);
    EXPECT_EQ(pair.server.counters().out_of_buffer, 1u);
    EXPECT_EQ(pair.wire.count(Operation::send_first), 2u);
}

TEST(Refusals, a_middle_packet_that_is_refused_ends_nothing) {
    Pair pair;
    pair.wire.refuse(Operation::write_middle, 2, kNotReady);
    pair.wire.refuse(Operation::write_middle, 25, syndrome_of(NakCode::psn_sequence_error));
    pair.client.post({.work = Work::write, .length = 20'000, .remote_offset = 4096});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
    EXPECT_TRUE(same_bytes(pair.client, 0, pair.server, 4096, 20'000));
    EXPECT_GE(pair.client.counters().packet_seq_err, 1u);
    EXPECT_EQ(pair.client.counters().local_ack_timeout_err, 0u);
}

TEST(Refusals, each_code_gives_the_status_that_it_means) {
    struct Case {
        NakCode code;
        Status status;
    };
    for (const Case& c :
         {Case{NakCode::invalid_request, Status::remote_invalid_request},
          Case{NakCode::remote_access_error, Status::remote_access_error},
          Case{NakCode::remote_operational_error, Status::remote_operational_error}}) {
        Pair pair;
        pair.wire.refuse(Operation::write_only, 2, syndrome_of(c.code));
        pair.client.post({.work = Work::write, .length = 100});
        pair.client.post({.work = Work::write, .length = 100});
        pair.run();
        EXPECT_EQ(pair.client.completion().status, Status::success);
        EXPECT_EQ(pair.client.completion().status, c.status);
        EXPECT_EQ(pair.client.state(), QpState::error);
        EXPECT_EQ(pair.server.state(), QpState::error);
    }
}

TEST(Refusals, what_is_not_in_its_turn_is_taken_as_usual) {
    Pair pair;
    pair.wire.drop(Operation::write_first, 1);
    pair.wire.refuse(Operation::write_middle, 1, syndrome_of(NakCode::remote_access_error));
    pair.client.post({.work = Work::write, .length = 5000});
    pair.run();
    EXPECT_EQ(pair.client.completion().status, Status::success);
}

TEST(Refusals, a_datagram_has_nobody_who_refuses_it) {
    Pair pair({.type = QpType::ud});
    pair.wire.refuse(Operation::send_only, 1, kNotReady);
    pair.client.post({.work = Work::send, .length = 100});
    pair.run();
    EXPECT_EQ(pair.server.receive_completion().status, Status::success);
}

}  // namespace
}  // namespace tulle::transport
