#include "transport/loss/receive_bitmap.h"

#include <gtest/gtest.h>

namespace tulle::transport {
namespace {

using wire::Psn;
using wire::psn_plus;
using wire::SelectiveAck;

std::vector<uint32_t> told(const SelectiveAck& ack) {
    std::vector<uint32_t> psns;
    for (uint32_t i = 0; i < SelectiveAck::kPsns; ++i)
        if ((uint64_t{ack.bits} >> i & 1) != 0) psns.push_back(psn_plus({ack.first_psn}, i).value);
    return psns;
}

TEST(ReceiveBitmap, tells_what_is_here_behind_the_gap) {
    ReceiveBitmap bitmap(100);
    for (const uint32_t psn : {12u, 13u, 17u}) EXPECT_EQ(bitmap.note({10}, {psn}), Arrival::early);
    EXPECT_EQ(bitmap.note({10}, {13}), Arrival::known);
    EXPECT_EQ(bitmap.note({10}, {110}), Arrival::too_far);
    const SelectiveAck ack = bitmap.tell({10});
    EXPECT_FALSE(ack.tells_trimmed());
    EXPECT_EQ(told(ack), (std::vector<uint32_t>{12, 13, 17}));
}

TEST(ReceiveBitmap, tells_of_all_that_came_in_as_many_answers_as_it_takes) {
    ReceiveBitmap bitmap(1000);
    for (const uint32_t psn : {50u, 100u, 500u}) bitmap.note({0}, {psn});
    EXPECT_EQ(told(bitmap.tell({0})), (std::vector<uint32_t>{50, 100}));
    EXPECT_TRUE(bitmap.has_more());
    std::vector<uint32_t> rest;
    while (bitmap.has_more())
        for (const uint32_t psn : told(bitmap.tell({0}))) rest.push_back(psn);
    EXPECT_EQ(rest, (std::vector<uint32_t>{500}));
    // What was told is told again, of the furthest; and of one that comes again.
    EXPECT_EQ(told(bitmap.tell({0})), (std::vector<uint32_t>{500}));
    EXPECT_EQ(bitmap.note({0}, {50}), Arrival::known);
    EXPECT_EQ(told(bitmap.tell({0})), (std::vector<uint32_t>{50, 100}));
    EXPECT_FALSE(bitmap.has_more());
}

TEST(ReceiveBitmap, goes_around_the_end_of_the_psns) {
    ReceiveBitmap bitmap(1000);
    const Psn expected{0xff'ffff};
    bitmap.note(expected, {0});
    EXPECT_EQ(told(bitmap.tell(expected)), (std::vector<uint32_t>{0}));
    bitmap.note(expected, {300});
    EXPECT_EQ(told(bitmap.tell(expected)), (std::vector<uint32_t>{300}));
    bitmap.forget({0});
    EXPECT_FALSE(bitmap.has({0}));
    EXPECT_TRUE(bitmap.has({300}));
    bitmap.forget({300});
    EXPECT_TRUE(bitmap.empty());
}

TEST(ReceiveBitmap, has_nothing_that_lies_behind_the_furthest) {
    ReceiveBitmap bitmap(1000);
    bitmap.note({10}, {12});
    // So far behind it that a ring of 64 bits has the same one for both.
    EXPECT_FALSE(bitmap.has({12 + 64}));
    EXPECT_FALSE(bitmap.has({12 + 128}));
}

TEST(ReceiveBitmap, tells_of_a_trimmed_packet_once_and_not_if_it_has_come_since) {
    ReceiveBitmap bitmap(100);
    for (const uint32_t psn : {20u, 21u, 90u}) bitmap.note_trimmed({psn});
    bitmap.note({10}, {21});
    const SelectiveAck first = bitmap.tell({10});
    EXPECT_TRUE(first.tells_trimmed());
    EXPECT_EQ(told(first), (std::vector<uint32_t>{20}));
    EXPECT_TRUE(bitmap.has_trimmed());
    EXPECT_EQ(told(bitmap.tell({10})), (std::vector<uint32_t>{90}));
    EXPECT_FALSE(bitmap.has_trimmed());
    EXPECT_EQ(told(bitmap.tell({10})), (std::vector<uint32_t>{21}));
}

}  // namespace
}  // namespace tulle::transport
