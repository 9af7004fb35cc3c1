#include "transport/loss/scoreboard.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace tulle::transport {
namespace {

using wire::Psn;
using wire::psn_plus;
using wire::SelectiveAck;

// Packets 100 to 199 are out, and each is a packet of the sender's.
struct Sender {
    explicit Sender(uint32_t tolerance = 0, uint32_t first = 100)
        : board(tolerance), end{psn_plus({first}, 100)} {
        board.start({first});
        board.reserve(end);
    }
    void hear(std::initializer_list<uint32_t> psns) {
        for (const uint32_t psn : psns) {
            SelectiveAck ack;
            ack.first_psn = psn;
            ack.bits = 1;
            board.note_received(ack, end);
        }
        judge();
    }
    void judge() {
        board.judge([](Psn psn) { return psn; });
    }
    // Sends what is lost, and tells which packets that are.
    std::vector<uint32_t> repair() {
        std::vector<uint32_t> psns;
        while (board.lost() != 0) {
            const Psn psn = board.first_lost(end);
            board.on_sent_again(psn, psn_plus(psn, 1), end);
            psns.push_back(psn.value);
        }
        return psns;
    }
    Scoreboard board;
    Psn end;
};

TEST(Scoreboard, every_hole_before_an_arrival_is_lost_and_goes_again_once) {
    Sender sender;
    sender.hear({103, 106});
    EXPECT_EQ(sender.repair(), (std::vector<uint32_t>{100, 101, 102, 104, 105}));
    sender.hear({107, 108});
    EXPECT_TRUE(sender.repair().empty());
    EXPECT_EQ(sender.board.settled(), 4u);
}

TEST(Scoreboard, a_packet_is_late_until_more_than_the_tolerance_have_overtaken_it) {
    Sender sender(3);
    sender.hear({101, 102, 103});
    EXPECT_TRUE(sender.repair().empty());
    sender.hear({104});
    EXPECT_EQ(sender.repair(), (std::vector<uint32_t>{100}));
}

TEST(Scoreboard, a_resent_packet_is_lost_again_if_the_next_new_one_arrives_without_it) {
    Sender sender;
    sender.hear({101});
    EXPECT_EQ(sender.repair(), (std::vector<uint32_t>{100}));  // before the new packet 200
    sender.end = {210};
    sender.board.reserve(sender.end);
    sender.hear({150});
    EXPECT_EQ(sender.repair().size(), 48u);
    sender.hear({200});
    EXPECT_EQ(sender.board.first_lost(sender.end), Psn{100});
}

TEST(Scoreboard, that_a_later_copy_arrived_proves_that_an_earlier_one_is_lost) {
    Sender sender;
    sender.hear({199});
    EXPECT_EQ(sender.repair().size(), 99u);
    sender.hear({102});  // the third copy that went; nothing new follows
    EXPECT_EQ(sender.repair(), (std::vector<uint32_t>{100, 101}));
}

TEST(Scoreboard, where_packets_overtake_only_a_probe_proves_anything) {
    Sender sender(5);
    sender.hear({199});
    EXPECT_EQ(sender.repair().size(), 94u);
    sender.hear({110});
    EXPECT_TRUE(sender.repair().empty());
    sender.board.mark_probe({100});
    EXPECT_EQ(sender.repair(), (std::vector<uint32_t>{100}));
    sender.board.advance({101});
    sender.judge();
    EXPECT_EQ(sender.board.first_lost(sender.end), Psn{101});
    EXPECT_EQ(sender.board.lost(), 97u);  // all but 100, 110 and 199
}

TEST(Scoreboard, what_arrives_late_does_not_go_again) {
    Sender sender;
    sender.hear({102});
    sender.hear({100});
    EXPECT_EQ(sender.repair(), (std::vector<uint32_t>{101}));
}

TEST(Scoreboard, is_not_needed_when_everything_is_acknowledged) {
    Sender sender(0, 0xff'ffd0);
    sender.hear({5});
    EXPECT_EQ(sender.repair().size(), 53u);
    EXPECT_TRUE(sender.board.is_needed());
    sender.board.advance(sender.end);
    sender.judge();
    EXPECT_FALSE(sender.board.is_needed());
    EXPECT_EQ(sender.board.settled(), 0u);
}

TEST(Scoreboard, answers_that_are_missing_are_asked_for_once) {
    Sender sender;
    sender.board.note_delivered({150});
    EXPECT_TRUE(sender.board.note_answer({102}));
    EXPECT_FALSE(sender.board.note_answer({102}));
    sender.board.mark_missing_answers({100}, {105}, false);
    EXPECT_EQ(sender.board.lost(), 4u);
    EXPECT_EQ(sender.board.end_of_lost({100}, {105}), Psn{102});
    sender.board.on_sent_again({100}, {102}, sender.end);
    sender.board.on_sent_again({103}, {105}, sender.end);
    sender.board.mark_missing_answers({100}, {105}, false);
    EXPECT_EQ(sender.board.lost(), 0u);
    sender.board.mark_missing_answers({100}, {105}, true);
    EXPECT_EQ(sender.board.lost(), 4u);
}

}  // namespace
}  // namespace tulle::transport
