// Calls that no program of Debian makes: newer ones, rarer ones, wrong ones. Run by `tulle run`.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <malloc.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                     IBV_ACCESS_REMOTE_ATOMIC;
constexpr size_t kPage = 4096;

class Calls : public testing::Test {
protected:
    void SetUp() override {
        ibv_device** list = ibv_get_device_list(nullptr);
        ASSERT_NE(list[0], nullptr);
        context = ibv_open_device(list[0]);
        ibv_free_device_list(list);
        pd = ibv_alloc_pd(context);
        cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
        mr = ibv_reg_mr(pd, memory.data(), memory.size(), kAll);
        ASSERT_NE(mr, nullptr);
    }
    void TearDown() override {
        EXPECT_EQ(ibv_dereg_mr(mr), 0);
        EXPECT_EQ(ibv_destroy_cq(cq), 0);
        EXPECT_EQ(ibv_dealloc_pd(pd), 0);
        EXPECT_EQ(ibv_close_device(context), 0);
    }

    // A name that our headers do not declare.
    template <class Function>
    static Function* newer(const char* name, const char* version) {
        return reinterpret_cast<Function*>(dlvsym(RTLD_DEFAULT, name, version));
    }

    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_cq* cq = nullptr;
    ibv_mr* mr = nullptr;
    std::vector<char> memory = std::vector<char>(4 * kPage);
};

// Two queue pairs of this process, connected to each other.
class Connected : public Calls {
protected:
    void SetUp() override {
        Calls::SetUp();
        here = make();
        there = make();
        connect(here, there->qp_num);
        connect(there, here->qp_num);
    }
    void TearDown() override {
        EXPECT_EQ(ibv_destroy_qp(here), 0);
        EXPECT_EQ(ibv_destroy_qp(there), 0);
        Calls::TearDown();
    }

    ibv_qp* make() {
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = cq;
        init.qp_type = IBV_QPT_RC;
        init.cap = {8, 8, 1, 1, 64};
        return ibv_create_qp(pd, &init);
    }

    void connect(ibv_qp* qp, uint32_t peer, int access = kAll) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT;
        a.port_num = 1;
        a.qp_access_flags = static_cast<unsigned>(access);
        ASSERT_EQ(ibv_modify_qp(
                      qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                  0);
        a.qp_state = IBV_QPS_RTR;
        a.path_mtu = IBV_MTU_1024;
        a.dest_qp_num = peer;
        a.max_dest_rd_atomic = a.max_rd_atomic = 1;
        a.min_rnr_timer = 12;
        a.ah_attr.is_global = 1;
        a.ah_attr.port_num = 1;
        a.ah_attr.grh.sgid_index = 3;
        ASSERT_EQ(ibv_query_gid(context, 1, 3, &a.ah_attr.grh.dgid), 0);
        ASSERT_EQ(
            ibv_modify_qp(qp, &a,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            0);
        a.qp_state = IBV_QPS_RTS;
        a.timeout = 14;
        a.retry_cnt = a.rnr_retry = 7;
        ASSERT_EQ(ibv_modify_qp(qp, &a,
                                IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                  0);
    }

    ibv_send_wr request(ibv_wr_opcode opcode, const ibv_mr* remote, uint32_t length) {
        sge = {reinterpret_cast<uint64_t>(memory.data()), length, mr->lkey};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = opcode;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(remote->addr);
        wr.wr.rdma.rkey = remote->rkey;
        return wr;
    }
    ibv_wc_status post(ibv_send_wr wr) {
        ibv_send_wr* bad = nullptr;
        EXPECT_EQ(ibv_post_send(here, &wr, &bad), 0);
        return next();
    }
    ibv_wc_status next() {
        ibv_wc wc{};
        while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
        return wc.status;
    }

    ibv_qp* here = nullptr;
    ibv_qp* there = nullptr;
    ibv_sge sge{};
};

// ---- rarer --------------------------------------------------------------------------------------

TEST_F(Calls, a_thread_domain_is_busy_while_a_parent_domain_has_it) {
    ibv_td_init_attr init{};
    ibv_td* td = ibv_alloc_td(context, &init);
    ASSERT_NE(td, nullptr);
    ibv_parent_domain_init_attr attributes{};
    attributes.pd = pd;
    attributes.td = td;
    ibv_pd* parent = ibv_alloc_parent_domain(context, &attributes);
    ASSERT_NE(parent, nullptr);
    EXPECT_EQ(ibv_dealloc_td(td), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    ibv_mr* region = ibv_reg_mr(parent, memory.data(), 64, kAll);
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    EXPECT_EQ(ibv_dealloc_pd(parent), 0);
    EXPECT_EQ(ibv_dealloc_td(td), 0);
}

TEST_F(Calls, a_shared_receive_queue_can_be_given_more_places_and_fewer) {
    ibv_srq_init_attr init{nullptr, {2, 1, 0}};
    ibv_srq* srq = ibv_create_srq(pd, &init);
    ASSERT_NE(srq, nullptr);
    const auto posts = [&](uint64_t count) {
        ibv_recv_wr wr{};
        ibv_recv_wr* bad = nullptr;
        for (uint64_t i = 0; i < count; ++i)
            if (const int error = ibv_post_srq_recv(srq, &wr, &bad)) return error;
        return 0;
    };
    EXPECT_EQ(posts(2), 0);
    EXPECT_EQ(posts(1), ENOMEM);
    ibv_srq_attr attributes{5, 1, 3};
    EXPECT_EQ(ibv_modify_srq(srq, &attributes, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
    EXPECT_EQ(posts(3), 0);
    EXPECT_EQ(posts(1), ENOMEM);
    attributes.max_wr = 4;  // five wait
    EXPECT_EQ(ibv_modify_srq(srq, &attributes, IBV_SRQ_MAX_WR), EINVAL);
    attributes.max_wr = 1u << 30;
    EXPECT_EQ(ibv_modify_srq(srq, &attributes, IBV_SRQ_MAX_WR), EINVAL);
    EXPECT_EQ(ibv_query_srq(srq, &attributes), 0);
    EXPECT_EQ(attributes.max_wr, 5u);
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(Calls, a_target_of_xrc_lives_as_long_as_a_handle_of_it) {
    ibv_xrcd_init_attr domain{};
    domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    domain.fd = -1;
    domain.oflags = O_CREAT;
    ibv_xrcd* xrcd = ibv_open_xrcd(context, &domain);
    ibv_xrcd* foreign = ibv_open_xrcd(context, &domain);
    ASSERT_NE(xrcd, nullptr);
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    init.xrcd = xrcd;
    ibv_qp* made = ibv_create_qp_ex(context, &init);
    ASSERT_NE(made, nullptr);
    ibv_qp_open_attr attributes{};
    attributes.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    attributes.qp_num = made->qp_num;
    attributes.xrcd = foreign;
    attributes.qp_type = IBV_QPT_XRC_RECV;
    EXPECT_EQ(ibv_open_qp(context, &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
    attributes.xrcd = xrcd;
    ibv_qp* opened = ibv_open_qp(context, &attributes);
    ASSERT_NE(opened, nullptr);
    EXPECT_EQ(opened->qp_num, made->qp_num);
    EXPECT_EQ(ibv_destroy_qp(made), 0);
    ibv_qp_attr state{};
    ibv_qp_init_attr old{};
    EXPECT_EQ(ibv_query_qp(opened, &state, IBV_QP_STATE, &old), 0);
    EXPECT_EQ(ibv_close_xrcd(xrcd), EBUSY);
    EXPECT_EQ(ibv_destroy_qp(opened), 0);
    EXPECT_EQ(ibv_open_qp(context, &attributes), nullptr);
    EXPECT_EQ(ibv_close_xrcd(xrcd), 0);
    EXPECT_EQ(ibv_close_xrcd(foreign), 0);
}

TEST_F(Calls, advice_is_taken_for_memory_that_is_there) {
    ibv_sge sge{reinterpret_cast<uint64_t>(memory.data()), 64, mr->lkey};
    const auto advise = [&](ibv_advise_mr_advice advice, uint32_t flags) {
        return ibv_advise_mr(pd, advice, flags, &sge, 1);
    };
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH), 0);
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, 0x80), EINVAL);
    EXPECT_EQ(advise(static_cast<ibv_advise_mr_advice>(77), 0), EOPNOTSUPP);
    sge.length = 1 << 20;
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, 0), EFAULT);
    sge = {sge.addr, 64, mr->lkey ^ 0x100};
    EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, 0), EFAULT);
}

TEST_F(Connected, a_region_of_all_memory_opens_what_is_mapped_and_nothing_else) {
    ibv_mr* all = ibv_reg_mr(pd, nullptr, SIZE_MAX, kAll | IBV_ACCESS_ON_DEMAND);
    ASSERT_NE(all, nullptr);
    std::strcpy(memory.data(), "here");
    std::vector<char> sink(64);
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, all, 5);
    wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(sink.data());
    EXPECT_EQ(post(wr), IBV_WC_SUCCESS);
    EXPECT_STREQ(sink.data(), "here");
    wr.wr.rdma.remote_addr = kPage;
    EXPECT_EQ(post(wr), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dereg_mr(all), 0);
}

TEST_F(Calls, what_this_adapter_does_not_have_says_so) {
    ibv_alloc_dm_attr memory_of_device{64, 0, 0};
    EXPECT_EQ(ibv_alloc_dm(context, &memory_of_device), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(ibv_reg_dmabuf_mr(pd, 0, 64, 0, 3, kAll), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    errno = 0;
    EXPECT_EQ(rsocket(AF_UNIX, SOCK_STREAM, 0), -1);
    EXPECT_EQ(errno, EAFNOSUPPORT);
}

// ---- events -------------------------------------------------------------------------------------

// As with an adapter: a program that arms a queue and then sleeps misses nothing.
TEST_F(Connected, arming_a_queue_that_is_not_empty_raises_an_event) {
    ibv_comp_channel* channel = ibv_create_comp_channel(context);
    ibv_cq* told = ibv_create_cq(context, 8, nullptr, channel, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = told;
    init.qp_type = IBV_QPT_RC;
    init.cap = {8, 8, 1, 1, 64};
    ibv_qp* qp = ibv_create_qp(pd, &init);
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_recv(qp, &receive, &bad), 0);  // is flushed at once
    pollfd wait{channel->fd, POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 0), 0);
    ASSERT_EQ(ibv_req_notify_cq(told, 1), 0);
    EXPECT_EQ(poll(&wait, 1, 0), 1);
    {
        ibv_cq* of = nullptr;
        void* user = nullptr;
        ASSERT_EQ(ibv_get_cq_event(channel, &of, &user), 0);
        EXPECT_EQ(of, told);
        ibv_ack_cq_events(of, 1);
    }
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(told, 1, &wc), 1);
    ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
    EXPECT_EQ(poll(&wait, 1, 0), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(told), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(Calls, a_channel_is_busy_while_a_queue_reports_to_it) {
    ibv_comp_channel* channel = ibv_create_comp_channel(context);
    ASSERT_NE(channel, nullptr);
    ibv_cq* queue = ibv_create_cq(context, 1, nullptr, channel, 0);
    ASSERT_NE(queue, nullptr);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(queue), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(Calls, a_channel_that_does_not_wait_says_so) {
    ibv_comp_channel* channel = ibv_create_comp_channel(context);
    fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
    ibv_cq* cq_told = nullptr;
    void* user = nullptr;
    EXPECT_EQ(ibv_get_cq_event(channel, &cq_told, &user), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

// ---- newer --------------------------------------------------------------------------------------

TEST_F(Calls, regions_are_registered_by_attributes) {
    struct Attributes {
        size_t length;
        int access;
        uint64_t mask, iova;
        void* address;
        int file;
        uint64_t file_offset;
        void *hints, *buffer;
    };
    auto* reg_mr_ex = newer<ibv_mr*(ibv_pd*, Attributes*)>("ibv_reg_mr_ex", "IBVERBS_1.15");
    ASSERT_NE(reg_mr_ex, nullptr);
    Attributes a{64, kAll, 1 | 2, 0x1000, memory.data(), -1, 0, nullptr, nullptr};
    ibv_mr* region = reg_mr_ex(pd, &a);
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    a.mask = 4 | 8;  // a file that represents memory
    EXPECT_EQ(reg_mr_ex(pd, &a), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Calls, a_buffer_of_the_device_is_memory_that_its_domain_registers) {
    auto* allocate = newer<void*(ibv_pd*, size_t, void**)>("ibv_alloc_buf", "IBVERBS_1.17");
    auto* release = newer<void(void*)>("ibv_free_buf", "IBVERBS_1.17");
    auto* register_it =
        newer<ibv_mr*(ibv_pd*, void*, void*, size_t, int)>("ibv_reg_buf_mr", "IBVERBS_1.17");
    ASSERT_TRUE(allocate != nullptr && release != nullptr && register_it != nullptr);
    void* handle = nullptr;
    auto* bytes = static_cast<char*>(allocate(pd, 3 * kPage, &handle));
    ASSERT_NE(bytes, nullptr);
    bytes[3 * kPage - 1] = 'x';
    ibv_mr* region = register_it(pd, handle, bytes + kPage, 2 * kPage, kAll);
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    EXPECT_EQ(register_it(pd, handle, bytes + kPage, 3 * kPage, kAll), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_pd* other = ibv_alloc_pd(context);
    EXPECT_EQ(register_it(other, handle, bytes, kPage, kAll), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_dealloc_pd(other), 0);
    auto* export_it = newer<int(void*)>("ibv_export_buf_dmabuf_fd", "IBVERBS_1.18");
    ASSERT_NE(export_it, nullptr);
    EXPECT_EQ(export_it(handle), -1);
    EXPECT_EQ(errno, ENODATA);
    release(handle);
}

TEST_F(Connected, memory_is_flushed_where_both_ends_allow_it) {
    constexpr uint64_t kWithFlush = 1 << 11;
    constexpr int kGlobal = 1 << 8;
    struct Flushing {  // as declared by programs that know the call
        ibv_qp_ex known;
        void (*wr_flush)(ibv_qp_ex*, uint32_t, uint64_t, size_t, uint8_t, uint8_t);
    };
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {8, 8, 1, 1, 0};
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.pd = pd;
    init.send_ops_flags = kWithFlush;
    ibv_qp* target = make();
    // A range, and a whole region, whose length is ignored.
    for (const auto& [is_allowed, level] :
         {std::pair{true, 0}, {true, 1}, {false, 0}, {false, 1}}) {
        ibv_mr* region = ibv_reg_mr(pd, memory.data(), kPage, kAll | (is_allowed ? kGlobal : 0));
        ibv_qp* qp = ibv_create_qp_ex(context, &init);
        ASSERT_NE(qp, nullptr);
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_RESET;
        ASSERT_EQ(ibv_modify_qp(target, &a, IBV_QP_STATE), 0);
        connect(qp, target->qp_num);
        connect(target, qp->qp_num, kAll | kGlobal);
        ibv_qp_ex* extended = ibv_qp_to_qp_ex(qp);
        extended->wr_id = 7;
        extended->wr_flags = IBV_SEND_SIGNALED;
        ibv_wr_start(extended);
        reinterpret_cast<Flushing*>(extended)->wr_flush(
            extended, region->rkey, reinterpret_cast<uint64_t>(memory.data()),
            level == 0 ? 64 : 1 << 30, 1, static_cast<uint8_t>(level));
        ASSERT_EQ(ibv_wr_complete(extended), 0);
        ibv_wc wc{};
        while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
        EXPECT_EQ(wc.wr_id, 7u);
        EXPECT_EQ(wc.status, is_allowed ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
        EXPECT_TRUE(!is_allowed || wc.opcode == 8);  // IBV_WC_FLUSH
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
        EXPECT_EQ(ibv_dereg_mr(region), 0);
    }
    EXPECT_EQ(ibv_destroy_qp(target), 0);
}

TEST_F(Connected, a_region_without_memory_swallows_data_and_gives_zeros) {
    ibv_mr* nothing = ibv_alloc_null_mr(pd);
    ASSERT_NE(nothing, nullptr);
    std::strcpy(memory.data(), "0123456789abcdef");
    // Sends data and empty messages in turn.
    ibv_sge from[2] = {{0x1000, 8, nothing->lkey},
                       {reinterpret_cast<uint64_t>(memory.data()), 4, mr->lkey}};
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, mr, 0);
    wr.wr.rdma.remote_addr += 100;
    wr.sg_list = from;
    for (const int count : {1, 2}) {
        std::memset(memory.data() + 100, 'x', 16);
        wr.num_sge = count;
        ibv_qp* qp = here;
        if (count == 2) {
            ibv_qp_init_attr init{};
            init.send_cq = init.recv_cq = cq;
            init.qp_type = IBV_QPT_RC;
            init.cap = {8, 8, 2, 1, 0};
            qp = ibv_create_qp(pd, &init);
            connect(qp, there->qp_num);
            ibv_qp_attr a{};
            a.qp_state = IBV_QPS_RESET;
            ASSERT_EQ(ibv_modify_qp(there, &a, IBV_QP_STATE), 0);
            connect(there, qp->qp_num);
        }
        ibv_send_wr* bad = nullptr;
        ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
        EXPECT_EQ(next(), IBV_WC_SUCCESS);
        EXPECT_EQ(std::string(memory.data() + 100, 8), std::string(8, '\0'));
        EXPECT_EQ(std::string(memory.data() + 108, 4), count == 2 ? "0123" : "xxxx");
        EXPECT_TRUE(qp == here || ibv_destroy_qp(qp) == 0);
    }
    EXPECT_EQ(ibv_dereg_mr(nothing), 0);
}

TEST_F(Calls, handles_are_imported_by_the_file_of_a_device) {
    ibv_context* other = ibv_import_device(dup(context->cmd_fd));
    ASSERT_NE(other, nullptr);
    ibv_pd* domain = ibv_import_pd(other, pd->handle);
    ASSERT_NE(domain, nullptr);
    EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
    ibv_mr* region = ibv_import_mr(domain, mr->handle);
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(region->rkey, mr->rkey);
    EXPECT_EQ(region->addr, nullptr);
    ibv_unimport_mr(region);
    EXPECT_EQ(ibv_import_mr(domain, mr->handle + 1), nullptr);
    ibv_unimport_pd(domain);
    EXPECT_EQ(ibv_import_pd(other, pd->handle + 1000), nullptr);
    EXPECT_EQ(ibv_close_device(other), 0);
    EXPECT_EQ(ibv_import_device(STDIN_FILENO), nullptr);
}

TEST_F(Calls, completion_queues_have_several_vectors_to_choose_from) {
    EXPECT_GE(context->num_comp_vectors, 2);
    ibv_cq* last = ibv_create_cq(context, 4, nullptr, nullptr, context->num_comp_vectors - 1);
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(ibv_destroy_cq(last), 0);
    EXPECT_EQ(ibv_create_cq(context, 4, nullptr, nullptr, context->num_comp_vectors), nullptr);
}

TEST_F(Calls, newer_names_are_there_and_answer) {
    auto* speed =
        newer<int(ibv_context*, uint32_t, uint64_t*)>("ibv_query_port_speed", "IBVERBS_1.16");
    ASSERT_NE(speed, nullptr);
    uint64_t found = 0;
    EXPECT_EQ(speed(context, 1, &found), 0);
    EXPECT_EQ(found, 1000u);  // of 100 Mb/s
    EXPECT_EQ(speed(context, 2, &found), EINVAL);
    auto* hints = newer<void*(ibv_context*, void*)>("ibv_alloc_dmah", "IBVERBS_1.15");
    ASSERT_NE(hints, nullptr);
    EXPECT_EQ(hints(context, nullptr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    auto* counter = newer<void*(ibv_context*, void*)>("ibv_create_comp_cntr", "IBVERBS_1.18");
    ASSERT_NE(counter, nullptr);
    EXPECT_EQ(counter(context, nullptr), nullptr);
    ASSERT_NE(dlopen("librdmacm.so.1", RTLD_NOW | RTLD_GLOBAL), nullptr);
    auto* poll = newer<int(int)>("repoll_create", "RDMACM_1.5");
    ASSERT_NE(poll, nullptr);
    EXPECT_EQ(poll(0), -1);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Calls, what_an_address_stands_for_is_told_by_an_event) {
    auto* resolve = newer<int(rdma_cm_id*, const char*, const char*, const rdma_addrinfo*)>(
        "rdma_resolve_addrinfo", "RDMACM_1.4");
    auto* query = newer<int(rdma_cm_id*, rdma_addrinfo**)>("rdma_query_addrinfo", "RDMACM_1.4");
    ASSERT_TRUE(resolve != nullptr && query != nullptr);
    rdma_event_channel* channel = rdma_create_event_channel();
    rdma_cm_id* id = nullptr;
    ASSERT_EQ(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), 0);
    rdma_addrinfo* found = nullptr;
    EXPECT_EQ(query(id, &found), -1);
    EXPECT_EQ(errno, ENOENT);
    ASSERT_EQ(resolve(id, "127.0.0.1", "7471", nullptr), 0);
    EXPECT_EQ(resolve(id, "127.0.0.1", "7471", nullptr), -1);
    EXPECT_EQ(errno, EBUSY);
    rdma_cm_event* event = nullptr;
    ASSERT_EQ(rdma_get_cm_event(channel, &event), 0);
    EXPECT_STREQ(rdma_event_str(event->event), "RDMA_CM_EVENT_ADDRINFO_RESOLVED");
    EXPECT_EQ(event->status, 0);
    EXPECT_EQ(rdma_ack_cm_event(event), 0);
    ASSERT_EQ(query(id, &found), 0);
    EXPECT_EQ(reinterpret_cast<sockaddr_in*>(found->ai_dst_addr)->sin_port, htons(7471));
    rdma_freeaddrinfo(found);
    EXPECT_EQ(query(id, &found), -1);
    rdma_addrinfo by_subnet{};
    by_subnet.ai_flags = 0x10;
    EXPECT_EQ(resolve(id, nullptr, "service", &by_subnet), -1);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ASSERT_EQ(resolve(id, "127.0.0.1", "1", nullptr), 0);  // and nobody takes the answer
    EXPECT_EQ(rdma_destroy_id(id), 0);
    rdma_destroy_event_channel(channel);
}

TEST_F(Calls, a_program_writes_an_event_of_its_own) {
    auto* write = newer<int(rdma_cm_id*, rdma_cm_event_type, int, uint64_t)>("rdma_write_cm_event",
                                                                             "RDMACM_1.4");
    ASSERT_NE(write, nullptr);
    rdma_event_channel* channel = rdma_create_event_channel();
    rdma_cm_id* id = nullptr;
    ASSERT_EQ(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), 0);
    EXPECT_EQ(write(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0), -1);
    EXPECT_EQ(errno, EINVAL);
    constexpr auto kUser = static_cast<rdma_cm_event_type>(18);
    ASSERT_EQ(write(id, kUser, -5, 0x1234'5678'9abc), 0);
    rdma_cm_event* event = nullptr;
    ASSERT_EQ(rdma_get_cm_event(channel, &event), 0);
    EXPECT_EQ(event->event, kUser);
    EXPECT_EQ(event->id, id);
    EXPECT_EQ(event->status, -5);
    uint64_t argument = 0;
    std::memcpy(&argument, &event->param, sizeof argument);
    EXPECT_EQ(argument, 0x1234'5678'9abcu);
    EXPECT_EQ(rdma_ack_cm_event(event), 0);
    EXPECT_EQ(rdma_destroy_id(id), 0);
    rdma_destroy_event_channel(channel);
}

// One thread takes and frees events as soon as it sees them, while another one makes more.
TEST_F(Calls, an_event_may_be_gone_as_soon_as_it_is_seen) {
    constexpr int kEvents = 200'000;
    constexpr auto kUser = static_cast<rdma_cm_event_type>(18);
    auto* write = newer<int(rdma_cm_id*, rdma_cm_event_type, int, uint64_t)>("rdma_write_cm_event",
                                                                             "RDMACM_1.4");
    ASSERT_NE(write, nullptr);
    rdma_event_channel* channel = rdma_create_event_channel();
    rdma_cm_id* id = nullptr;
    ASSERT_EQ(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), 0);
    mallopt(M_PERTURB, 0x5a);  // what was freed holds no pointers any more
    std::thread taker([&] {
        rdma_cm_event* event = nullptr;
        for (int i = 0; i < kEvents && rdma_get_cm_event(channel, &event) == 0; ++i)
            rdma_ack_cm_event(event);
    });
    for (int i = 0; i < kEvents; ++i) EXPECT_EQ(write(id, kUser, 0, 0), 0);
    taker.join();
    mallopt(M_PERTURB, 0);
    EXPECT_EQ(rdma_destroy_id(id), 0);
    rdma_destroy_event_channel(channel);
}

TEST_F(Calls, providers_of_each_release_find_what_they_need_to_load) {
    for (const char* release : {"34", "57", "59", "64", "65"}) {
        const std::string version = std::string("IBVERBS_PRIVATE_") + release;
        const std::string driver = std::string("verbs_register_driver_") + release;
        for (const char* name : {"ibv_cmd_create_qp", "ibv_query_gid_type", "verbs_open_device",
                                 "verbs_allow_disassociate_destroy", driver.c_str()})
            EXPECT_NE(dlvsym(RTLD_DEFAULT, name, version.c_str()), nullptr) << name << version;
    }
}

// ---- wrong --------------------------------------------------------------------------------------

TEST_F(Connected, nothing_at_all_can_be_read_written_and_sent) {
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
        ibv_send_wr wr = request(opcode, mr, 0);
        wr.wr.rdma = {0, 0};  // without data neither address nor key is checked
        EXPECT_EQ(post(wr), IBV_WC_SUCCESS) << opcode;
        wr.num_sge = 0;
        EXPECT_EQ(post(wr), IBV_WC_SUCCESS) << opcode;
    }
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_recv(there, &receive, &bad), 0);
    ibv_send_wr wr = request(IBV_WR_SEND, mr, 0);
    wr.num_sge = 0;
    wr.send_flags |= IBV_SEND_INLINE;
    EXPECT_EQ(post(wr), IBV_WC_SUCCESS);
    EXPECT_EQ(next(), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_reg_mr(pd, memory.data(), 0, kAll), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(Connected, a_key_of_the_past_is_refused_where_it_is_used) {
    ibv_mr* past = ibv_reg_mr(pd, memory.data(), 64, kAll);
    const uint32_t key = past->lkey;
    EXPECT_EQ(ibv_dereg_mr(past), 0);
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, mr, 8);
    sge.lkey = key;
    EXPECT_EQ(post(wr), IBV_WC_LOC_PROT_ERR);
}

// The child has an adapter of its own, in the same world.
TEST_F(Connected, a_key_of_another_process_opens_nothing) {
    struct Word {
        uint64_t address;
        uint32_t key;
    };
    int to_parent[2];
    int to_child[2];
    ASSERT_EQ(pipe(to_parent), 0);
    ASSERT_EQ(pipe(to_child), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(to_child[1]);
        std::vector<char> own(64, 'x');
        ibv_device** list = ibv_get_device_list(nullptr);
        ibv_pd* domain = ibv_alloc_pd(ibv_open_device(list[0]));
        const ibv_mr* region = ibv_reg_mr(domain, own.data(), own.size(), kAll);
        const Word word{reinterpret_cast<uint64_t>(own.data()), region->rkey};
        char end = 0;
        const bool told = write(to_parent[1], &word, sizeof word) == sizeof word &&
                          read(to_child[0], &end, 1) == 0;
        _exit(told && own == std::vector<char>(64, 'x') ? 0 : 1);
    }
    Word word{};
    ASSERT_EQ(read(to_parent[0], &word, sizeof word), ssize_t{sizeof word});
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, mr, 8);
    wr.wr.rdma.remote_addr = word.address;
    wr.wr.rdma.rkey = word.key;
    EXPECT_EQ(post(wr), IBV_WC_REM_ACCESS_ERR);
    for (const int file : {to_parent[0], to_parent[1], to_child[0], to_child[1]}) close(file);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(Connected, memory_that_was_unmapped_while_registered_is_as_if_it_had_no_key) {
    for (const ibv_wr_opcode opcode :
         {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
        void* pages =
            mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ibv_mr* region = ibv_reg_mr(pd, pages, 4 * kPage, kAll);
        ASSERT_NE(region, nullptr);
        munmap(static_cast<char*>(pages) + kPage, kPage);  // a hole
        ibv_send_wr wr = request(opcode, region, 8);
        wr.wr.rdma.remote_addr += kPage;
        if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
            wr.wr.atomic = {reinterpret_cast<uint64_t>(pages) + kPage, 1, 0, region->rkey};
        else
            wr.wr.rdma.remote_addr -= 4;  // begins in existing memory
        EXPECT_EQ(post(wr), IBV_WC_REM_ACCESS_ERR) << opcode;
        EXPECT_EQ(ibv_dereg_mr(region), 0);
        munmap(pages, 4 * kPage);
        TearDown();
        SetUp();  // the connection has ended
    }
}

TEST_F(Calls, memory_is_registered_only_for_what_its_pages_allow) {
    constexpr size_t kPages = 8;
    auto* pages = static_cast<char*>(
        mmap(nullptr, kPages * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const auto refusal_of = [&](size_t count, int access) {
        errno = 0;
        ibv_mr* region = ibv_reg_mr(pd, pages, count * kPage, access);
        const int refusal = errno;
        return region == nullptr ? refusal : ibv_dereg_mr(region);
    };
    for (const size_t count : {size_t{1}, kPages}) {
        EXPECT_EQ(refusal_of(count, IBV_ACCESS_LOCAL_WRITE), EFAULT) << count;
        EXPECT_EQ(refusal_of(count, kAll), EFAULT) << count;
        EXPECT_EQ(refusal_of(count, IBV_ACCESS_REMOTE_READ), 0) << count;
    }
    ASSERT_EQ(mprotect(pages, kPages * kPage, PROT_READ | PROT_WRITE), 0);
    EXPECT_EQ(refusal_of(kPages, kAll), 0);
    ASSERT_EQ(mprotect(pages + 3 * kPage, kPage, PROT_READ), 0);
    EXPECT_EQ(refusal_of(kPages, kAll), EFAULT);
    ASSERT_EQ(mprotect(pages + 3 * kPage, kPage, PROT_NONE), 0);
    EXPECT_EQ(refusal_of(kPages, 0), EFAULT);
    munmap(pages + 3 * kPage, kPage);
    EXPECT_EQ(refusal_of(kPages, 0), EFAULT);
    munmap(pages, kPages * kPage);
}

TEST_F(Connected, completions_go_with_their_queue_pair) {
    ibv_send_wr* bad = nullptr;
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, mr, 8);
    ibv_wc wc{};
    ASSERT_EQ(ibv_post_send(here, &wr, &bad), 0);
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RESET;
    ASSERT_EQ(ibv_modify_qp(here, &a, IBV_QP_STATE), 0);
    EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
    connect(here, there->qp_num);
    ibv_qp* other = make();
    connect(other, here->qp_num);
    a.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(other, &a, IBV_QP_STATE), 0);
    ASSERT_EQ(ibv_post_send(other, &wr, &bad), 0);  // flushed
    EXPECT_EQ(ibv_destroy_qp(other), 0);
    EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
}

TEST_F(Connected, a_word_is_sent_inline_whatever_was_asked_for) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {1, 1, 1, 1, 0};
    ibv_qp* qp = ibv_create_qp(pd, &init);
    ASSERT_NE(qp, nullptr);
    EXPECT_GE(init.cap.max_inline_data, 16u);
    connect(qp, there->qp_num);
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, mr, init.cap.max_inline_data);
    sge.lkey = 0;
    wr.send_flags |= IBV_SEND_INLINE;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
    ++sge.length;
    EXPECT_NE(ibv_post_send(qp, &wr, &bad), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(Calls, on_demand_paging_promises_what_a_service_can_do) {
    ibv_device_attr_ex a{};
    ASSERT_EQ(ibv_query_device_ex(context, nullptr, &a), 0);
    constexpr uint32_t kFetches = IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
    EXPECT_EQ(a.odp_caps.per_transport_caps.rc_odp_caps & kFetches, kFetches);
    EXPECT_EQ(a.odp_caps.per_transport_caps.uc_odp_caps & kFetches, 0u);
    EXPECT_EQ(a.odp_caps.per_transport_caps.ud_odp_caps & (kFetches | IBV_ODP_SUPPORT_WRITE), 0u);
}

TEST_F(Calls, a_device_has_a_file_and_a_network_interface) {
    EXPECT_GE(fcntl(context->cmd_fd, F_GETFD), 0);
    EXPECT_EQ(access("/sys/class/infiniband/tulle0/device/net/lo", F_OK), 0);
}

TEST_F(Connected, no_other_partition_key_than_the_first) {
    ibv_qp* qp = make();
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    constexpr int kMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    for (const uint16_t index : {1, 2, 0x7fff, 0xffff}) {
        a.pkey_index = index;
        EXPECT_EQ(ibv_modify_qp(qp, &a, kMask), EINVAL) << index;
    }
    __be16 key = 0;
    EXPECT_EQ(ibv_query_pkey(context, 1, 0, &key), 0);
    EXPECT_EQ(ibv_query_pkey(context, 1, 1, &key), -1);
    a.pkey_index = 0;
    EXPECT_EQ(ibv_modify_qp(qp, &a, kMask), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(Connected, no_way_through_the_states_but_the_legal_one) {
    struct Step {
        ibv_qp_state from, to;
    };
    for (const Step& step : {Step{IBV_QPS_RESET, IBV_QPS_RTR}, Step{IBV_QPS_RESET, IBV_QPS_RTS},
                             Step{IBV_QPS_RESET, IBV_QPS_SQD}, Step{IBV_QPS_RTS, IBV_QPS_RTR},
                             Step{IBV_QPS_RTS, IBV_QPS_INIT}, Step{IBV_QPS_ERR, IBV_QPS_RTS}}) {
        ibv_qp* qp = make();
        ibv_qp_attr a{};
        if (step.from == IBV_QPS_RTS) connect(qp, there->qp_num);
        if (step.from == IBV_QPS_ERR) {
            a.qp_state = IBV_QPS_ERR;
            EXPECT_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
        }
        a.qp_state = step.to;
        EXPECT_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), EINVAL) << step.from << step.to;
        ibv_qp_init_attr init{};
        EXPECT_EQ(ibv_query_qp(qp, &a, IBV_QP_STATE, &init), 0);
        EXPECT_EQ(a.qp_state, step.from);
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
    }
}

}  // namespace
