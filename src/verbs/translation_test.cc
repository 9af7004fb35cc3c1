// What programs say in the words of verbs, in those of the engine.
#include "verbs/translation.h"

#include <endian.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace tulle::verbs {
namespace {

using transport::SendRequest;
using transport::Work;

class TranslationTest : public testing::Test {
protected:
    int send(const ibv_send_wr& from) {
        to = {};
        return translate_send(from, scratch, to);
    }
    ibv_send_wr request(ibv_wr_opcode opcode) {
        ibv_send_wr wr{};
        wr.wr_id = 7;
        wr.sg_list = sges.data();
        wr.num_sge = static_cast<int>(sges.size());
        wr.opcode = opcode;
        return wr;
    }

    std::vector<ibv_sge> sges{{0x1000, 10, 1}, {0x2000, 20, 2}};
    Scratch scratch;
    SendRequest to;
};

TEST_F(TranslationTest, a_write_keeps_its_pieces_its_place_and_its_flags) {
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE);
    wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
    wr.wr.rdma = {0xabc, 99};
    ASSERT_EQ(send(wr), 0);
    EXPECT_EQ(to.id, 7u);
    EXPECT_EQ(to.work, Work::write);
    EXPECT_EQ(to.flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
    EXPECT_EQ(to.remote_address, 0xabcu);
    EXPECT_EQ(to.rkey, 99u);
    ASSERT_EQ(to.sges.size(), 2u);
    EXPECT_EQ(to.sges[1].address, 0x2000u);
    EXPECT_EQ(to.sges[1].length, 20u);
    EXPECT_EQ(to.sges[1].lkey, 2u);
}

TEST_F(TranslationTest, immediate_data_has_the_order_of_the_wire) {
    ibv_send_wr wr = request(IBV_WR_SEND_WITH_IMM);
    wr.imm_data = htobe32(0x01020304);
    ASSERT_EQ(send(wr), 0);
    EXPECT_EQ(to.immediate, 0x01020304u);
}

TEST_F(TranslationTest, an_atomic_has_two_operands_and_a_key_of_its_own) {
    for (const ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
        ibv_send_wr wr = request(opcode);
        wr.wr.atomic = {0x88, 5, 6, 77};
        ASSERT_EQ(send(wr), 0);
        EXPECT_EQ(to.remote_address, 0x88u);
        EXPECT_EQ(to.compare_or_add, 5u);
        EXPECT_EQ(to.swap, 6u);
        EXPECT_EQ(to.rkey, 77u);
    }
}

TEST_F(TranslationTest, an_invalidation_names_a_key_and_no_place) {
    for (const ibv_wr_opcode opcode : {IBV_WR_LOCAL_INV, IBV_WR_SEND_WITH_INV}) {
        ibv_send_wr wr = request(opcode);
        wr.invalidate_rkey = 4711;
        ASSERT_EQ(send(wr), 0);
        EXPECT_EQ(to.rkey, 4711u);
        EXPECT_EQ(to.remote_address, 0u);
        EXPECT_EQ(to.immediate, 0u);
    }
}

TEST_F(TranslationTest, a_window_is_bound_to_a_region_or_to_none) {
    ibv_mw window{};
    window.rkey = 1;
    ibv_mr region{};
    region.lkey = 3;
    ibv_send_wr wr = request(IBV_WR_BIND_MW);
    wr.bind_mw.mw = &window;
    wr.bind_mw.rkey = 2;
    wr.bind_mw.bind_info = {&region, 0x5000, 64, IBV_ACCESS_REMOTE_READ};
    ASSERT_EQ(send(wr), 0);
    EXPECT_EQ(to.binding.window_rkey, 1u);
    EXPECT_EQ(to.binding.new_rkey, 2u);
    EXPECT_EQ(to.binding.region_lkey, 3u);
    EXPECT_EQ(to.binding.length, 64u);
    wr.bind_mw.bind_info.mr = nullptr;
    ASSERT_EQ(send(wr), 0);
    EXPECT_EQ(to.binding.region_lkey, 0u);
}

TEST_F(TranslationTest, inline_data_is_copied_piece_by_piece) {
    char first[] = {'a', 'b'};
    char second[] = {'c'};
    sges = {{reinterpret_cast<uint64_t>(first), 2, 0},
            {0, 0, 0},
            {reinterpret_cast<uint64_t>(second), 1, 0}};
    ibv_send_wr wr = request(IBV_WR_SEND);
    wr.send_flags = IBV_SEND_INLINE;
    ASSERT_EQ(send(wr), 0);
    ASSERT_EQ(to.inline_data.size(), 3u);
    EXPECT_EQ(std::memcmp(to.inline_data.data(), "abc", 3), 0);
    EXPECT_TRUE(to.sges.empty());
}

TEST_F(TranslationTest, inline_data_has_a_limit_and_is_not_for_what_fetches) {
    std::vector<char> data(kMaxInline + 1);
    sges = {{reinterpret_cast<uint64_t>(data.data()), kMaxInline, 0}};
    ibv_send_wr wr = request(IBV_WR_SEND);
    wr.send_flags = IBV_SEND_INLINE;
    EXPECT_EQ(send(wr), 0);
    sges[0].length = kMaxInline + 1;
    EXPECT_EQ(send(wr), EINVAL);
    sges[0].length = UINT32_MAX;
    EXPECT_EQ(send(wr), EINVAL);
    sges[0].length = 8;
    for (const ibv_wr_opcode opcode :
         {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
        wr.opcode = opcode;
        EXPECT_EQ(send(wr), EINVAL) << opcode;
    }
}

TEST_F(TranslationTest, what_is_no_work_and_has_too_many_pieces_is_refused) {
    ibv_send_wr wr = request(IBV_WR_SEND);
    wr.num_sge = -1;
    EXPECT_EQ(send(wr), EINVAL);
    wr.num_sge = kMaxSges + 1;
    EXPECT_EQ(send(wr), EINVAL);
    wr.num_sge = 0;
    wr.opcode = IBV_WR_TSO;
    EXPECT_EQ(send(wr), EINVAL);
    ibv_recv_wr receive{};
    transport::ReceiveRequest taken;
    for (const int count : {-1, kMaxSges + 1}) {
        receive.num_sge = count;
        EXPECT_EQ(translate_receive(receive, scratch, taken), EINVAL);
    }
}

TEST_F(TranslationTest, a_receive_keeps_its_name_and_its_pieces) {
    ibv_recv_wr receive{9, nullptr, sges.data(), 2};
    transport::ReceiveRequest taken;
    ASSERT_EQ(translate_receive(receive, scratch, taken), 0);
    EXPECT_EQ(taken.id, 9u);
    ASSERT_EQ(taken.sges.size(), 2u);
    EXPECT_EQ(taken.sges[0].address, 0x1000u);
}

// ---- queue pairs --------------------------------------------------------------------------------

TEST(AttributesTest, states_go_there_and_back) {
    for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                     IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR})
        EXPECT_EQ(shown_state(*state_of(state)), state);
    EXPECT_FALSE(state_of(IBV_QPS_UNKNOWN));
    EXPECT_FALSE(type_of(IBV_QPT_RAW_PACKET));
}

TEST(AttributesTest, what_no_queue_pair_can_have_is_refused_only_where_it_is_meant) {
    struct Wrong {
        int bit;
        void (*set)(ibv_qp_attr&);
    };
    const Wrong wrongs[] = {
        {IBV_QP_STATE, [](ibv_qp_attr& a) { a.qp_state = IBV_QPS_UNKNOWN; }},
        {IBV_QP_CUR_STATE, [](ibv_qp_attr& a) { a.cur_qp_state = IBV_QPS_UNKNOWN; }},
        {IBV_QP_PORT, [](ibv_qp_attr& a) { a.port_num = 2; }},
        {IBV_QP_PORT, [](ibv_qp_attr& a) { a.port_num = 0; }},
        {IBV_QP_PKEY_INDEX, [](ibv_qp_attr& a) { a.pkey_index = 1; }},
        {IBV_QP_ALT_PATH, [](ibv_qp_attr& a) { a.alt_pkey_index = 1; }},
        {IBV_QP_ALT_PATH, [](ibv_qp_attr& a) { a.alt_port_num = 2; }},
        {IBV_QP_PATH_MTU, [](ibv_qp_attr& a) { a.path_mtu = static_cast<ibv_mtu>(0); }},
        {IBV_QP_PATH_MTU, [](ibv_qp_attr& a) { a.path_mtu = static_cast<ibv_mtu>(6); }},
        {IBV_QP_MAX_QP_RD_ATOMIC, [](ibv_qp_attr& a) { a.max_rd_atomic = kMaxReads + 1; }},
        {IBV_QP_MAX_DEST_RD_ATOMIC, [](ibv_qp_attr& a) { a.max_dest_rd_atomic = kMaxReads + 1; }},
        {IBV_QP_DEST_QPN, [](ibv_qp_attr& a) { a.dest_qp_num = 1 << 24; }},
        {IBV_QP_PATH_MIG_STATE,
         [](ibv_qp_attr& a) { a.path_mig_state = static_cast<ibv_mig_state>(3); }},
    };
    const live::Identity device;
    for (const Wrong& wrong : wrongs) {
        ibv_qp_attr a{};
        a.port_num = a.alt_port_num = 1;
        a.path_mtu = IBV_MTU_1024;
        EXPECT_EQ(check_attributes(device, a, wrong.bit), 0) << wrong.bit;
        wrong.set(a);
        EXPECT_EQ(check_attributes(device, a, wrong.bit), EINVAL) << wrong.bit;
        EXPECT_EQ(check_attributes(device, a, 0), 0) << wrong.bit;
    }
}

TEST(AttributesTest, numbers_of_packets_have_24_bits_and_an_mtu_is_a_power_of_two) {
    ibv_qp_attr a{};
    a.rq_psn = a.sq_psn = 0xffff'ffff;
    a.path_mtu = IBV_MTU_4096;
    a.qp_state = IBV_QPS_RTR;
    transport::QpAttributes to;
    translate_attributes(a, IBV_QP_STATE, to);
    EXPECT_EQ(to.receive_psn.value, 0xff'ffffu);
    EXPECT_EQ(to.send_psn.value, 0xff'ffffu);
    EXPECT_EQ(to.path_mtu, 4096u);
    EXPECT_EQ(to.state, transport::QpState::rtr);
}

TEST(AttributesTest, each_half_of_an_xrc_connection_takes_its_own_part) {
    constexpr int kBoth = IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
                          IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
    EXPECT_EQ(own_part(transport::QpType::rc, kBoth), kBoth);
    EXPECT_EQ(own_part(transport::QpType::xrc_initiator, kBoth),
              IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
    EXPECT_EQ(own_part(transport::QpType::xrc_target, kBoth),
              IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

TEST(AttributesTest, what_was_set_is_remembered_and_nothing_else) {
    ibv_qp_attr kept{};
    ibv_qp_attr a{};
    a.timeout = 14;
    a.retry_cnt = 7;
    a.rq_psn = 0x1234567;
    remember(kept, a, IBV_QP_TIMEOUT | IBV_QP_RQ_PSN);
    EXPECT_EQ(kept.timeout, 14);
    EXPECT_EQ(kept.retry_cnt, 0);
    EXPECT_EQ(kept.rq_psn, 0x234567u);
}

TEST(AttributesTest, a_reset_forgets_all_but_the_size) {
    ibv_qp_attr kept{};
    kept.cap.max_send_wr = 16;
    kept.timeout = 14;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RESET;
    remember(kept, a, IBV_QP_STATE);
    EXPECT_EQ(kept.timeout, 0);
    EXPECT_EQ(kept.cap.max_send_wr, 16u);
    EXPECT_EQ(kept.path_mtu, IBV_MTU_4096);
}

// Blocks of 64 bytes, as mlx5 has them.
TEST(AttributesTest, inline_data_fills_the_blocks_of_its_queue) {
    const auto room = [](uint32_t sges, uint32_t data) {
        return inline_room({.max_send_wr = 1,
                            .max_recv_wr = 1,
                            .max_send_sge = sges,
                            .max_recv_sge = 1,
                            .max_inline_data = data});
    };
    EXPECT_EQ(room(1, 0), 28u);
    EXPECT_EQ(room(1, 28), 28u);
    EXPECT_EQ(room(1, 29), 92u);
    EXPECT_EQ(room(3, 0), 92u);
    EXPECT_EQ(room(1, kMaxInline), static_cast<uint32_t>(kMaxInline));
}

}  // namespace
}  // namespace tulle::verbs
