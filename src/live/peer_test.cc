#include "live/peer.h"

#include <gtest/gtest.h>

#include <functional>

namespace tulle::live {
namespace {

// Instances are on the board, for everybody to read; who calls is what the kernel says.
TEST(PeerTest, a_peer_is_its_instance_and_the_process_that_the_kernel_names) {
    const Credentials own{.pid = 100, .uid = 1000};
    const Peer peer(7, 3, own);
    Introduction introduction;
    introduction.instance = 7;
    introduction.who = own;
    EXPECT_TRUE(peer.is(introduction));
    introduction.who.uid = 1001;
    EXPECT_FALSE(peer.is(introduction));
    introduction.who = {.pid = 101, .uid = own.uid};
    EXPECT_FALSE(peer.is(introduction));
    introduction.who = own;
    introduction.instance = 8;
    EXPECT_FALSE(peer.is(introduction));
}

// A board as a stranger makes it, and whether it is taken.
bool is_taken(const std::function<void(Board&)>& change) {
    SharedMemory memory = SharedMemory::create(sizeof(Board), SharedMemory::Peers::read);
    auto& board = *reinterpret_cast<Board*>(memory.data());
    board.magic = kBoardMagic;
    board.instance = 7;
    board.gid_count = board.port_count = 1;
    change(board);
    Introduction introduction;
    introduction.board = Descriptor(dup(memory.file()));
    const Credentials stranger{.pid = 100, .uid = 1000};
    Peer peer(7, 3, stranger);
    return peer.meet(introduction, Realm{"", 1001, true});
}

// Packets to a port go to the last of its addresses.
TEST(PeerTest, each_port_of_a_board_has_an_address_and_not_too_many) {
    EXPECT_TRUE(is_taken([](Board&) {}));
    for (const uint32_t count : {1u, kGidsOfPort})
        EXPECT_TRUE(is_taken([&](Board& board) {
            board.port_count = 2;
            board.more_ports[0].gid_count = count;
        }));
    for (const uint32_t count : {0u, kGidsOfPort + 1, UINT32_MAX})
        EXPECT_FALSE(is_taken([&](Board& board) {
            board.port_count = 2;
            board.more_ports[0].gid_count = count;
        }));
    for (const uint32_t count : {0u, kMaxPorts + 1, UINT32_MAX})
        EXPECT_FALSE(is_taken([&](Board& board) { board.port_count = count; }));
}

}  // namespace
}  // namespace tulle::live
