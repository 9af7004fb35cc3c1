// Eight bytes there and back between two processes that both sleep until something arrives. Prints
// the half round trip in microseconds: the median, and the average.
//
// usage: sleeper get|poll|epoll|edge|uring ROUNDS [PAUSE_US]
//
// `get` blocks in ibv_get_cq_event; the others sleep on the channel's descriptor, `edge` in an
// epoll set that tells only of changes. Between two rounds the client pauses, so that the server is
// asleep.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr int kSkipped = 77;
constexpr int kDepth = 16;

void need(bool is_right, const char* what) {
    if (is_right) return;
    std::perror(what);
    std::exit(1);
}

// One request at a time: a notification when a descriptor is readable.
class Uring {
public:
    void open() {
        io_uring_params parameters{};
        file_ = static_cast<int>(syscall(SYS_io_uring_setup, 4, &parameters));
        if (file_ < 0) std::exit(kSkipped);
        const auto map = [&](size_t bytes, long long offset) {
            void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                               file_, static_cast<off_t>(offset));
            need(place != MAP_FAILED, "mmap");
            return static_cast<char*>(place);
        };
        char* in = map(parameters.sq_off.array + parameters.sq_entries * sizeof(uint32_t),
                       IORING_OFF_SQ_RING);
        char* out = map(parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe),
                        IORING_OFF_CQ_RING);
        requests_ = reinterpret_cast<io_uring_sqe*>(
            map(parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
        in_tail_ = reinterpret_cast<uint32_t*>(in + parameters.sq_off.tail);
        in_mask_ = *reinterpret_cast<uint32_t*>(in + parameters.sq_off.ring_mask);
        in_ = reinterpret_cast<uint32_t*>(in + parameters.sq_off.array);
        out_head_ = reinterpret_cast<uint32_t*>(out + parameters.cq_off.head);
    }
    void wait(int file) {
        const uint32_t tail = *in_tail_;
        io_uring_sqe& request = requests_[tail & in_mask_];
        request = {};
        request.opcode = IORING_OP_POLL_ADD;
        request.fd = file;
        request.poll32_events = POLLIN;
        in_[tail & in_mask_] = tail & in_mask_;
        __atomic_store_n(in_tail_, tail + 1, __ATOMIC_RELEASE);
        need(syscall(SYS_io_uring_enter, file_, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) == 1,
             "io_uring_enter");
        __atomic_store_n(out_head_, *out_head_ + 1, __ATOMIC_RELEASE);
    }

private:
    int file_ = -1;
    io_uring_sqe* requests_ = nullptr;
    uint32_t* in_tail_ = nullptr;
    uint32_t in_mask_ = 0;
    uint32_t* in_ = nullptr;
    uint32_t* out_head_ = nullptr;
};

class Sleeper {
public:
    explicit Sleeper(std::string how) : how_(std::move(how)) {
        ibv_device** list = ibv_get_device_list(nullptr);
        need(list != nullptr && list[0] != nullptr, "device");
        context_ = ibv_open_device(list[0]);
        ibv_free_device_list(list);
        pd_ = ibv_alloc_pd(context_);
        channel_ = ibv_create_comp_channel(context_);
        sent_ = ibv_create_cq(context_, kDepth, nullptr, nullptr, 0);
        received_ = ibv_create_cq(context_, kDepth, nullptr, channel_, 0);
        region_ = ibv_reg_mr(pd_, memory_, sizeof memory_, IBV_ACCESS_LOCAL_WRITE);
        ibv_qp_init_attr init{};
        init.send_cq = sent_;
        init.recv_cq = received_;
        init.qp_type = IBV_QPT_RC;
        init.cap = {kDepth, kDepth, 1, 1, sizeof memory_};
        qp_ = ibv_create_qp(pd_, &init);
        need(qp_ != nullptr, "queue pair");
        prepare_to_sleep();
    }

    void connect(int socket) {
        struct Card {
            uint32_t qpn;
            ibv_gid gid;
        };
        Card card{qp_->qp_num, {}};
        need(ibv_query_gid(context_, 1, 3, &card.gid) == 0, "gid");
        need(write(socket, &card, sizeof card) == sizeof card, "card");
        need(read(socket, &card, sizeof card) == sizeof card, "card");
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT;
        a.port_num = 1;
        move(a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
        post_receive();
        a.qp_state = IBV_QPS_RTR;
        a.path_mtu = IBV_MTU_1024;
        a.dest_qp_num = card.qpn;
        a.min_rnr_timer = 12;
        a.ah_attr.is_global = 1;
        a.ah_attr.port_num = 1;
        a.ah_attr.grh.sgid_index = 3;
        a.ah_attr.grh.dgid = card.gid;
        move(a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
        a.qp_state = IBV_QPS_RTS;
        a.timeout = 14;
        a.retry_cnt = a.rnr_retry = 7;
        move(a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
        char ready = 0;
        need(write(socket, &ready, 1) == 1 && read(socket, &ready, 1) == 1, "ready");
    }

    void send() {
        ibv_sge sge{reinterpret_cast<uint64_t>(memory_), sizeof memory_, region_->lkey};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
        ibv_send_wr* bad = nullptr;
        need(ibv_post_send(qp_, &wr, &bad) == 0, "post_send");
    }

    // As programs do that do not poll: get the event, arm again, poll once more.
    void receive() {
        int found = take();
        while (found == 0) {
            await_event();
            ibv_cq* cq = nullptr;
            void* user = nullptr;
            if (ibv_get_cq_event(channel_, &cq, &user) != 0) continue;
            ibv_ack_cq_events(cq, 1);
            need(ibv_req_notify_cq(received_, 0) == 0, "req_notify_cq");
            found = take();
        }
        post_receive();
        ibv_wc wc{};
        while (ibv_poll_cq(sent_, 1, &wc) != 0) continue;
        // Nothing is left before it sleeps again.
        found = take();
        need(found == 0, "one at a time");
    }

private:
    void move(ibv_qp_attr& attributes, int mask) {
        need(ibv_modify_qp(qp_, &attributes, mask) == 0, "modify_qp");
    }
    void post_receive() {
        ibv_sge sge{reinterpret_cast<uint64_t>(memory_), sizeof memory_, region_->lkey};
        ibv_recv_wr wr{0, nullptr, &sge, 1};
        ibv_recv_wr* bad = nullptr;
        need(ibv_post_recv(qp_, &wr, &bad) == 0, "post_recv");
    }
    int take() {
        ibv_wc wc{};
        const int count = ibv_poll_cq(received_, 1, &wc);
        need(count == 0 || (count == 1 && wc.status == IBV_WC_SUCCESS), "completion");
        return count;
    }
    void prepare_to_sleep() {
        need(ibv_req_notify_cq(received_, 0) == 0, "req_notify_cq");
        if (how_ != "get") fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
        if (how_ == "uring") uring_.open();
        if (how_ != "epoll" && how_ != "edge") return;
        epoll_ = epoll_create1(EPOLL_CLOEXEC);
        epoll_event event{how_ == "edge" ? EPOLLIN | EPOLLET : uint32_t{EPOLLIN}, {}};
        need(epoll_ctl(epoll_, EPOLL_CTL_ADD, channel_->fd, &event) == 0, "epoll_ctl");
    }
    void await_event() {
        if (how_ == "poll") {
            pollfd wait{channel_->fd, POLLIN, 0};
            need(::poll(&wait, 1, -1) == 1, "poll");
        } else if (how_ == "epoll" || how_ == "edge") {
            epoll_event event{};
            need(epoll_wait(epoll_, &event, 1, -1) == 1, "epoll_wait");
        } else if (how_ == "uring") {
            uring_.wait(channel_->fd);
        }
    }

    const std::string how_;
    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* sent_ = nullptr;
    ibv_cq* received_ = nullptr;
    ibv_mr* region_ = nullptr;
    ibv_qp* qp_ = nullptr;
    int epoll_ = -1;
    Uring uring_;
    char memory_[8] = {};
};

}  // namespace

int main(int count, char** words) {
    need((count == 3 || count == 4) && std::atoi(words[2]) > 0,
         "usage: sleeper get|poll|epoll|edge|uring ROUNDS [PAUSE_US]");
    const int rounds = std::atoi(words[2]);
    const int pause_us = count == 4 ? std::atoi(words[3]) : 0;
    const timespec pause{pause_us / 1'000'000, pause_us % 1'000'000 * 1000};
    int sockets[2];
    need(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
    const pid_t child = fork();
    Sleeper sleeper(words[1]);
    sleeper.connect(sockets[child == 0 ? 1 : 0]);
    std::vector<double> taken;  // half of each round trip, in microseconds
    for (int round = 0; round < rounds; ++round) {
        if (child == 0) {
            sleeper.receive();
            sleeper.send();
            continue;
        }
        ppoll(nullptr, 0, &pause, nullptr);
        const auto begin = std::chrono::steady_clock::now();
        sleeper.send();
        sleeper.receive();
        const std::chrono::duration<double, std::micro> whole =
            std::chrono::steady_clock::now() - begin;
        taken.push_back(whole.count() / 2);
    }
    if (child == 0) {
        char end = 0;
        _exit(read(sockets[1], &end, 1) == 1 ? 0 : 1);  // its last message has arrived
    }
    char end = 0;
    need(write(sockets[0], &end, 1) == 1, "end");
    int status = -1;
    waitpid(child, &status, 0);
    std::ranges::sort(taken);
    const double sum = std::accumulate(taken.begin(), taken.end(), 0.0);
    std::printf("%.2f us, %.2f us on average\n", taken[taken.size() / 2], sum / rounds);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
