// Two processes of one world, each with an adapter: the harness for both ends of a connection.
//
// The child is forked before either end opens its device. The ends exchange what they need over a
// pair of sockets, and wait for each other there.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <vector>

namespace two {

inline constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                            IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
inline constexpr int kGidIndex = 3;  // RoCE v2 over IPv4
inline constexpr size_t kPage = 4096;

// What one end must know about the other.
struct Card {
    uint32_t qpn;
    uint32_t rkey;
    uint64_t address;
    ibv_gid gid;
};

struct Options {
    int qp_access = kAll;
    ibv_mtu mtu = IBV_MTU_1024;
    uint32_t receive_psn = 0;
    uint8_t gid_index = kGidIndex;
    const char* device = nullptr;
    uint8_t port = 1;
    uint8_t retries = 1;
};

class Side {
public:
    explicit Side(int socket) : socket_(socket) {}

    template <class T>
    void tell(const T& word) {
        if (write(socket_, &word, sizeof word) != sizeof word) std::abort();
    }
    template <class T>
    T hear() {
        T word{};
        // A peer that has died sends nothing.
        if (read(socket_, &word, sizeof word) != sizeof word) std::abort();
        return word;
    }
    // Passes on a file, and receives one.
    void hand(int file) { (void)pass(&file, true); }
    int take() {
        int file = -1;
        return pass(&file, false) ? file : -1;
    }
    // Whether the other end has sent something, or is gone.
    bool is_told() {
        char word = 0;
        return recv(socket_, &word, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
    }
    // Polls for completions meanwhile, as a program that waits for data.
    void poll_until_told() {
        ibv_wc wc{};
        while (!is_told()) (void)ibv_poll_cq(cq, 1, &wc);
    }
    // Waits until both are here.
    void meet() {
        tell('.');
        (void)hear<char>();
    }

    void open(const char* device = nullptr) {
        ibv_device** list = ibv_get_device_list(nullptr);
        ibv_device** found = list;
        while (device != nullptr && std::strcmp(ibv_get_device_name(*found), device) != 0) ++found;
        context = ibv_open_device(*found);
        ibv_free_device_list(list);
        pd = ibv_alloc_pd(context);
        cq = ibv_create_cq(context, 256, nullptr, nullptr, 0);
        mr = ibv_reg_mr(pd, memory.data(), memory.size(), kAll);
        if (mr == nullptr) std::abort();
    }
    // Releases everything. False if something was refused.
    bool close() {
        return (qp == nullptr || ibv_destroy_qp(qp) == 0) && ibv_dereg_mr(mr) == 0 &&
               ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0;
    }
    ibv_qp* make(ibv_pd* domain = nullptr, ibv_qp_type type = IBV_QPT_RC) {
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = cq;
        init.qp_type = type;
        init.cap = {64, 64, 4, 4, 64};
        return ibv_create_qp(domain == nullptr ? pd : domain, &init);
    }
    Card card(const ibv_qp* own, const ibv_mr* region, uint8_t gid_index = kGidIndex,
              uint8_t port = 1) {
        Card mine{own->qp_num, region->rkey, reinterpret_cast<uint64_t>(region->addr), {}};
        if (ibv_query_gid(context, port, gid_index, &mine.gid) != 0) std::abort();
        return mine;
    }
    // Exchanges cards and moves the queue pair to RTS. False if a step was refused.
    bool connect(const Options& options = {}) {
        if (qp == nullptr) qp = make();
        tell(card(qp, mr, options.gid_index, options.port));
        peer = hear<Card>();
        const bool is_ready = bring_up(qp, peer, options);
        meet();
        return is_ready;
    }
    bool bring_up(ibv_qp* which, const Card& to, const Options& options = {}) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT;
        a.port_num = options.port;
        a.qp_access_flags = static_cast<unsigned>(options.qp_access);
        if (ibv_modify_qp(which, &a,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) !=
            0)
            return false;
        a.qp_state = IBV_QPS_RTR;
        a.path_mtu = options.mtu;
        a.dest_qp_num = to.qpn;
        a.rq_psn = options.receive_psn;
        a.max_dest_rd_atomic = a.max_rd_atomic = 4;
        a.min_rnr_timer = 1;
        a.ah_attr.is_global = 1;
        a.ah_attr.port_num = options.port;
        a.ah_attr.grh.sgid_index = options.gid_index;
        a.ah_attr.grh.dgid = to.gid;
        if (ibv_modify_qp(which, &a,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) !=
            0)
            return false;
        a.qp_state = IBV_QPS_RTS;
        a.timeout = 14;
        a.retry_cnt = options.retries;
        a.rnr_retry = 7;
        return ibv_modify_qp(which, &a,
                             IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
    }

    // A request of `length` bytes at the start of both ends' memory.
    ibv_send_wr request(ibv_wr_opcode opcode, uint32_t length) {
        sge = {reinterpret_cast<uint64_t>(memory.data()), length, mr->lkey};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = opcode;
        wr.send_flags = IBV_SEND_SIGNALED;
        if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
            wr.wr.atomic = {peer.address, 1, 0, peer.rkey};
        else
            wr.wr.rdma = {peer.address, peer.rkey};
        return wr;
    }
    int post(ibv_send_wr wr) {
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(qp, &wr, &bad);
    }
    int post_receive(uint64_t offset, uint32_t length) {
        ibv_sge place{reinterpret_cast<uint64_t>(memory.data()) + offset, length, mr->lkey};
        ibv_recv_wr wr{};
        wr.sg_list = &place;
        wr.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        return ibv_post_recv(qp, &wr, &bad);
    }
    ibv_wc completion() {
        ibv_wc wc{};
        while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
        return wc;
    }
    ibv_wc_status result_of(const ibv_send_wr& wr) {
        if (post(wr) != 0) return IBV_WC_GENERAL_ERR;
        return completion().status;
    }

    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_cq* cq = nullptr;
    ibv_mr* mr = nullptr;
    ibv_qp* qp = nullptr;
    Card peer{};
    ibv_sge sge{};
    std::vector<char> memory = std::vector<char>(64 * kPage);

private:
    bool pass(int* file, bool sends) {
        char word = 'f';
        iovec part{&word, 1};
        alignas(cmsghdr) char room[CMSG_SPACE(sizeof *file)] = {};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = room;
        message.msg_controllen = sizeof room;
        cmsghdr* head = CMSG_FIRSTHDR(&message);
        if (!sends) {
            if (recvmsg(socket_, &message, MSG_CMSG_CLOEXEC) != 1) std::abort();
            head = CMSG_FIRSTHDR(&message);
            if (head != nullptr) std::memcpy(file, CMSG_DATA(head), sizeof *file);
            return head != nullptr;
        }
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof *file);
        std::memcpy(CMSG_DATA(head), file, sizeof *file);
        if (sendmsg(socket_, &message, 0) != 1) std::abort();
        return true;
    }

    int socket_;
};

// Runs both ends. The child reports at its end whether it succeeded.
inline void run(const std::function<bool(Side&)>& child, const std::function<void(Side&)>& parent) {
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    const pid_t process = fork();
    if (process == 0) {
        close(sockets[0]);
        Side side(sockets[1]);
        _exit(child(side) ? 0 : 1);
    }
    close(sockets[1]);
    {
        Side side(sockets[0]);
        parent(side);
    }
    close(sockets[0]);
    int status = -1;
    EXPECT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0) << "the other process did not end well";
}

}  // namespace two
