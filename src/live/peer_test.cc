#include "live/peer.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tulle::live
