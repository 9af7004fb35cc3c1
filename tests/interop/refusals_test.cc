// Unsupported calls, and objects that are still in use: calls that must be refused, or must wait.
// One process; run by `tulle run`.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <future>

#include "two.h"

namespace {

using two::Side;

class Refusals : public testing::Test {
protected:
    Refusals() { side.open(); }
    ~Refusals() override { EXPECT_TRUE(side.close()); }

    int to_init(ibv_qp* qp, uint8_t port) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT;
        a.port_num = port;
        return ibv_modify_qp(qp, &a,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    }
    int to_rtr(ibv_qp* qp, const ibv_qp* peer, uint8_t gid_index, uint8_t reads) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_RTR;
        a.path_mtu = IBV_MTU_1024;
        a.dest_qp_num = peer->qp_num;
        a.max_dest_rd_atomic = reads;
        a.ah_attr.is_global = 1;
        a.ah_attr.port_num = 1;
        a.ah_attr.grh.sgid_index = gid_index;
        a.ah_attr.grh.dgid = side.card(qp, side.mr).gid;
        return ibv_modify_qp(qp, &a,
                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    }
    int to_rts(ibv_qp* qp, uint8_t reads) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_RTS;
        a.max_rd_atomic = reads;
        return ibv_modify_qp(qp, &a,
                             IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }

    Side side{-1};
};

TEST_F(Refusals, there_is_no_other_port_gid_or_number_of_reads_than_the_device_says) {
    ibv_device_attr device{};
    ASSERT_EQ(ibv_query_device(side.context, &device), 0);
    ibv_port_attr port{};
    ASSERT_EQ(ibv_query_port(side.context, 1, &port), 0);
    const auto reads = static_cast<uint8_t>(device.max_qp_rd_atom);
    const auto one_more = static_cast<uint8_t>(reads + 1);
    ibv_qp* qp = side.make();
    EXPECT_EQ(to_init(qp, 0), EINVAL);
    EXPECT_EQ(to_init(qp, static_cast<uint8_t>(device.phys_port_cnt + 1)), EINVAL);
    ASSERT_EQ(to_init(qp, 1), 0);
    EXPECT_EQ(to_rtr(qp, qp, static_cast<uint8_t>(port.gid_tbl_len), reads), EINVAL);
    EXPECT_EQ(to_rtr(qp, qp, two::kGidIndex, one_more), EINVAL);
    ASSERT_EQ(to_rtr(qp, qp, two::kGidIndex, reads), 0);
    EXPECT_EQ(to_rts(qp, one_more), EINVAL);
    EXPECT_EQ(to_rts(qp, reads), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(Refusals, whoever_lets_peers_write_has_to_be_able_to_write_itself) {
    for (const int access : {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC}) {
        errno = 0;
        EXPECT_EQ(ibv_reg_mr(side.pd, side.memory.data(), two::kPage, access), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
}

TEST_F(Refusals, a_domain_stays_while_another_stands_on_it) {
    ibv_pd* pd = ibv_alloc_pd(side.context);
    ibv_parent_domain_init_attr attributes{};
    attributes.pd = pd;
    ibv_pd* parent = ibv_alloc_parent_domain(side.context, &attributes);
    ASSERT_NE(parent, nullptr);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Refusals, a_region_is_imported_into_its_own_domain_alone) {
    ibv_pd* other = ibv_alloc_pd(side.context);
    ibv_context* again = ibv_import_device(dup(side.context->cmd_fd));
    ASSERT_NE(again, nullptr);
    ibv_pd* own = ibv_import_pd(again, side.pd->handle);
    ibv_pd* foreign = ibv_import_pd(again, other->handle);
    ASSERT_NE(own, nullptr);
    ASSERT_NE(foreign, nullptr);
    EXPECT_EQ(ibv_import_mr(foreign, side.mr->handle), nullptr);
    ibv_mr* region = ibv_import_mr(own, side.mr->handle);
    ASSERT_NE(region, nullptr);
    ibv_unimport_mr(region);
    ibv_unimport_pd(own);
    ibv_unimport_pd(foreign);
    EXPECT_EQ(ibv_close_device(again), 0);
    EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST_F(Refusals, a_limit_is_not_beyond_the_places_of_its_queue) {
    ibv_srq_init_attr init{};
    init.attr = {16, 1, 0};
    ibv_srq* srq = ibv_create_srq(side.pd, &init);
    ASSERT_NE(srq, nullptr);
    ibv_srq_attr change{};
    change.srq_limit = 17;
    EXPECT_EQ(ibv_modify_srq(srq, &change, IBV_SRQ_LIMIT), EINVAL);
    // A refused change changes nothing.
    change.max_wr = 32;
    change.srq_limit = 33;
    EXPECT_EQ(ibv_modify_srq(srq, &change, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
    ibv_srq_attr now{};
    EXPECT_EQ(ibv_query_srq(srq, &now), 0);
    EXPECT_EQ(now.max_wr, 16u);
    change.srq_limit = 16;
    EXPECT_EQ(ibv_modify_srq(srq, &change, IBV_SRQ_LIMIT), 0);
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(Refusals, a_target_of_xrc_is_opened_by_its_own_domain_alone) {
    ibv_xrcd_init_attr domain{};
    domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    domain.fd = -1;
    domain.oflags = O_CREAT;
    ibv_xrcd* own = ibv_open_xrcd(side.context, &domain);
    ibv_xrcd* other = ibv_open_xrcd(side.context, &domain);
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    init.xrcd = own;
    ibv_qp* target = ibv_create_qp_ex(side.context, &init);
    ASSERT_NE(target, nullptr);
    ibv_qp_open_attr open{};
    open.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    open.qp_num = target->qp_num;
    open.qp_type = IBV_QPT_XRC_RECV;
    open.xrcd = other;
    EXPECT_EQ(ibv_open_qp(side.context, &open), nullptr);
    open.xrcd = own;
    ibv_qp* second = ibv_open_qp(side.context, &open);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(ibv_destroy_qp(second), 0);
    EXPECT_EQ(ibv_destroy_qp(target), 0);
    EXPECT_EQ(ibv_close_xrcd(own), 0);
    EXPECT_EQ(ibv_close_xrcd(other), 0);
}

// The first message to a queue pair in RTR raises the event "communication established".
TEST_F(Refusals, events_of_a_queue_pair_go_with_it) {
    side.qp = side.make();
    ibv_qp* receiver = side.make();
    ASSERT_EQ(to_init(receiver, 1), 0);
    std::swap(side.qp, receiver);
    ASSERT_EQ(side.post_receive(0, 64), 0);
    std::swap(side.qp, receiver);
    ASSERT_EQ(to_rtr(receiver, side.qp, two::kGidIndex, 1), 0);
    side.peer = side.card(receiver, side.mr);
    ASSERT_TRUE(side.bring_up(side.qp, side.peer));
    ASSERT_EQ(side.post(side.request(IBV_WR_SEND, 8)), 0);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(side.completion().status, IBV_WC_SUCCESS);
    pollfd look{side.context->async_fd, POLLIN, 0};
    EXPECT_EQ(poll(&look, 1, 0), 1) << "no event, so this test tests nothing";
    EXPECT_EQ(ibv_destroy_qp(receiver), 0);
    EXPECT_EQ(poll(&look, 1, 0), 0);
    fcntl(side.context->async_fd, F_SETFL, O_NONBLOCK);
    ibv_async_event event{};
    EXPECT_EQ(ibv_get_async_event(side.context, &event), -1);
}

TEST_F(Refusals, a_queue_waits_until_its_events_are_acknowledged) {
    ibv_comp_channel* channel = ibv_create_comp_channel(side.context);
    ibv_cq* cq = ibv_create_cq(side.context, 16, nullptr, channel, 0);
    ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
    std::swap(side.cq, cq);
    side.qp = side.make();
    std::swap(side.cq, cq);
    side.peer = side.card(side.qp, side.mr);
    ASSERT_TRUE(side.bring_up(side.qp, side.peer));
    ASSERT_EQ(side.post(side.request(IBV_WR_RDMA_WRITE, 8)), 0);
    ibv_cq* told = nullptr;
    void* user = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel, &told, &user), 0);
    ASSERT_EQ(ibv_destroy_qp(side.qp), 0);
    side.qp = nullptr;
    std::future<int> destroyed = std::async(std::launch::async, [&] { return ibv_destroy_cq(cq); });
    EXPECT_EQ(destroyed.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    ibv_ack_cq_events(told, 1);
    EXPECT_EQ(destroyed.get(), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

}  // namespace
