// Mistakes that real adapters punish. Run by `tulle run --strict`.
#include "two.h"

namespace {

using two::Options;
using two::Side;

constexpr uint32_t kLength = 2048;

// Each end connects with the given attributes; the parent writes.
ibv_wc_status result(const Options& child, const Options& parent, ibv_wr_opcode opcode) {
    ibv_wc_status found = IBV_WC_GENERAL_ERR;
    two::run(
        [&](Side& side) {
            side.open();
            const bool is_ready = side.connect(child) && side.post_receive(0, kLength) == 0;
            side.meet();
            side.poll_until_told();
            side.meet();
            return is_ready;
        },
        [&](Side& side) {
            side.open();
            ASSERT_TRUE(side.connect(parent));
            side.meet();
            found = side.result_of(side.request(opcode, kLength));
            side.meet();
        });
    return found;
}

constexpr ibv_wr_opcode kKinds[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ};

TEST(Strict, ends_that_agree_are_served) {
    for (const ibv_wr_opcode opcode : kKinds) EXPECT_EQ(result({}, {}, opcode), IBV_WC_SUCCESS);
}

// Packets with too old and with too new numbers.
TEST(Strict, a_sequence_number_that_the_peer_does_not_expect_gets_no_answer) {
    for (const ibv_wr_opcode opcode : kKinds) {
        EXPECT_EQ(result({.receive_psn = 1000}, {}, opcode), IBV_WC_RETRY_EXC_ERR) << opcode;
        EXPECT_EQ(result({.receive_psn = 0xff'ff00}, {}, opcode), IBV_WC_RETRY_EXC_ERR) << opcode;
    }
}

TEST(Strict, packets_longer_than_the_peers_path_mtu_are_an_invalid_request) {
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND})
        EXPECT_EQ(result({.mtu = IBV_MTU_256}, {.mtu = IBV_MTU_4096}, opcode),
                  IBV_WC_REM_INV_REQ_ERR)
            << opcode;
}

TEST(Strict, a_gid_of_roce_v1_and_one_of_v2_do_not_meet) {
    EXPECT_EQ(result({.gid_index = 2}, {.gid_index = 3}, IBV_WR_SEND), IBV_WC_RETRY_EXC_ERR);
}

// Both queue pairs of one process.
TEST(Strict, a_process_is_as_strict_with_itself) {
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    Side side(sockets[0]);
    side.open();
    for (const bool is_wrong : {false, true}) {
        ibv_qp* there = side.make();
        side.qp = side.make();
        side.peer = side.card(there, side.mr);
        ASSERT_TRUE(side.bring_up(side.qp, side.peer));
        ASSERT_TRUE(side.bring_up(there, side.card(side.qp, side.mr),
                                  {.receive_psn = is_wrong ? 1000u : 0u}));
        EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)),
                  is_wrong ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
    }
    close(sockets[0]);
    close(sockets[1]);
}

}  // namespace
