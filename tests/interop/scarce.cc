// A program without memory, threads or descriptors: each failing call reports it by NULL or a
// number and errno, none ends the program, and afterwards everything works again.
//
// For each n, the n-th allocation of a life fails, in whichever thread.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace {

std::atomic<long> allocations_left{-1};  // until one fails; negative: none fails
std::atomic<bool> threads_are_refused{false};

bool shall_fail() {
    return allocations_left.load(std::memory_order_relaxed) >= 0 &&
           allocations_left.fetch_sub(1) == 0;
}

}  // namespace

// From releases after the one that this is compiled with.
extern "C" {
void* ibv_alloc_buf(ibv_pd* pd, size_t size, void** handle);
ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, void* handle, void* address, size_t length, int access);
void ibv_free_buf(void* handle);
}

// Replaces the C library's, also for our libraries.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t bytes) {
    if (!shall_fail()) return __libc_malloc(bytes);
    errno = ENOMEM;
    return nullptr;
}
void* calloc(size_t count, size_t bytes) {
    if (!shall_fail()) return __libc_calloc(count, bytes);
    errno = ENOMEM;
    return nullptr;
}
void* realloc(void* old, size_t bytes) {
    if (!shall_fail()) return __libc_realloc(old, bytes);
    errno = ENOMEM;
    return nullptr;
}
}

namespace {

constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// The errors that are allowed here.
bool is_scarcity(int error) {
    return error == ENOMEM || error == EAGAIN || error == EMFILE || error == ENFILE ||
           error == ENODEV;  // of the connection manager, which found no device to open
}

// Eight bytes that a queue pair sends to itself.
class Message {
public:
    Message(char* memory, const ibv_mr* mr, unsigned flags = 0)
        : sge_{reinterpret_cast<uint64_t>(memory), 8, mr->lkey} {
        send_.send_flags = flags;
        send_.opcode = IBV_WR_SEND;
        send_.sg_list = receive_.sg_list = &sge_;
        send_.num_sge = receive_.num_sge = 1;
    }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    int receive(ibv_qp* qp) {
        ibv_recv_wr* bad = nullptr;
        return ibv_post_recv(qp, &receive_, &bad);
    }
    int send(ibv_qp* qp) {
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(qp, &send_, &bad);
    }

private:
    ibv_sge sge_;
    ibv_recv_wr receive_{};
    ibv_send_wr send_{};
};

// The calls of a program, one after another. A life goes on as far as it can: objects that could
// not be made are not used. Returns whether everything succeeded; `is_right` says whether all
// failures were reported.
class Life {
public:
    bool live() {
        errno = 0;
        if (open() && make() && connect() && talk()) ++steps_;
        cm();
        end();
        return steps_ == 2 && is_right;
    }
    bool is_right = true;
    const char* wrong = "";

    bool begin() { return open() && make() && connect(); }
    // Arms the queue. False if that was refused.
    bool arm() { return ibv_req_notify_cq(cq_, 0) == 0; }
    // Sends a message to itself. Repeats what failed for lack of memory.
    bool say() {
        Message message(memory_, mr_);
        while (message.receive(qp_) != 0) continue;
        while (message.send(qp_) != 0) continue;
        ibv_wc wc{};
        while (ibv_poll_cq(cq_, 1, &wc) <= 0) continue;
        return wc.status == IBV_WC_SUCCESS;
    }
    // Whether an event is there.
    bool hear() {
        pollfd look{channel_->fd, POLLIN, 0};
        ibv_cq* cq = nullptr;
        void* user = nullptr;
        if (poll(&look, 1, 20'000) != 1 || ibv_get_cq_event(channel_, &cq, &user) != 0)
            return false;
        ibv_ack_cq_events(cq, 1);
        return true;
    }

private:
    template <class Made>
    bool made(Made* what, const char* call) {
        if (what != nullptr) return true;
        note(is_scarcity(errno), call);
        return false;
    }
    bool done(int answer, const char* call) {
        if (answer == 0) return true;
        note(is_scarcity(answer < 0 ? errno : answer), call);
        return false;
    }
    void note(bool is_fine, const char* call) {
        if (is_fine || !is_right) return;
        is_right = false;
        wrong = call;
        std::fprintf(stderr, "%s: errno %d\n", call, errno);
    }

    bool open() {
        ibv_device** list = ibv_get_device_list(nullptr);
        if (!made(list, "get_device_list")) return false;
        context_ = list[0] == nullptr ? nullptr : ibv_open_device(list[0]);
        const bool is_open = made(context_, "open_device");
        ibv_free_device_list(list);
        return is_open;
    }
    bool make() {
        pd_ = ibv_alloc_pd(context_);
        if (!made(pd_, "alloc_pd")) return false;
        channel_ = ibv_create_comp_channel(context_);
        if (!made(channel_, "create_comp_channel")) return false;
        cq_ = ibv_create_cq(context_, 16, nullptr, channel_, 0);
        if (!made(cq_, "create_cq")) return false;
        mr_ = ibv_reg_mr(pd_, memory_, sizeof memory_, kAll);
        if (!made(mr_, "reg_mr")) return false;
        ibv_srq_init_attr shared{nullptr, {4, 1, 0}};
        srq_ = ibv_create_srq(pd_, &shared);
        if (!made(srq_, "create_srq")) return false;
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = cq_;
        init.qp_type = IBV_QPT_RC;
        init.cap = {8, 8, 1, 1, 64};
        qp_ = ibv_create_qp(pd_, &init);
        return made(qp_, "create_qp");
    }
    bool connect() {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT;
        a.port_num = 1;
        a.qp_access_flags = kAll;
        if (!done(
                ibv_modify_qp(qp_, &a,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                "modify_qp"))
            return false;
        a.qp_state = IBV_QPS_RTR;
        a.path_mtu = IBV_MTU_1024;
        a.dest_qp_num = qp_->qp_num;
        a.max_dest_rd_atomic = a.max_rd_atomic = 1;
        a.min_rnr_timer = 12;
        a.ah_attr.is_global = 1;
        a.ah_attr.port_num = 1;
        a.ah_attr.grh.sgid_index = 3;
        if (!done(ibv_query_gid(context_, 1, 3, &a.ah_attr.grh.dgid), "query_gid")) return false;
        ibv_ah* ah = ibv_create_ah(pd_, &a.ah_attr);
        if (!made(ah, "create_ah")) return false;
        done(ibv_destroy_ah(ah), "destroy_ah");
        if (!done(
                ibv_modify_qp(qp_, &a,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                "modify_qp"))
            return false;
        a.qp_state = IBV_QPS_RTS;
        a.timeout = 14;
        a.retry_cnt = a.rnr_retry = 7;
        return done(ibv_modify_qp(qp_, &a,
                                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                    "modify_qp");
    }
    // A message to itself, and its two completions.
    bool talk() {
        Message message(memory_, mr_, IBV_SEND_SIGNALED);
        if (!done(message.receive(qp_), "post_recv")) return false;
        if (!done(message.send(qp_), "post_send")) return false;
        for (int found = 0; found < 2;) {
            ibv_wc wc{};
            const int now = ibv_poll_cq(cq_, 1, &wc);
            if (now < 0) note(is_scarcity(-now), "poll_cq");
            found += now > 0 ? now : 0;
        }
        return true;
    }
    void cm() {
        rdma_event_channel* events = rdma_create_event_channel();
        if (!made(events, "create_event_channel")) return;
        rdma_cm_id* id = nullptr;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (done(rdma_create_id(events, &id, nullptr, RDMA_PS_TCP), "create_id")) {
            const bool is_fine =
                done(rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)), "bind_addr") &&
                done(rdma_listen(id, 1), "listen");
            done(rdma_destroy_id(id), "destroy_id");
            steps_ += is_fine ? 1 : 0;
        }
        rdma_destroy_event_channel(events);
    }
    void end() {
        if (qp_ != nullptr) done(ibv_destroy_qp(qp_), "destroy_qp");
        if (srq_ != nullptr) done(ibv_destroy_srq(srq_), "destroy_srq");
        if (mr_ != nullptr) done(ibv_dereg_mr(mr_), "dereg_mr");
        if (cq_ != nullptr) done(ibv_destroy_cq(cq_), "destroy_cq");
        if (channel_ != nullptr) done(ibv_destroy_comp_channel(channel_), "destroy_comp_channel");
        if (pd_ != nullptr) done(ibv_dealloc_pd(pd_), "dealloc_pd");
        if (context_ != nullptr) done(ibv_close_device(context_), "close_device");
    }

    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_mr* mr_ = nullptr;
    ibv_srq* srq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    int steps_ = 0;
    char memory_[64] = {};
};

// What the newest release has beyond that.
class NewestLife {
public:
    bool live() {
        ibv_device** list = ibv_get_device_list(nullptr);
        ibv_context* context = list == nullptr ? nullptr : ibv_open_device(list[0]);
        const int error = errno;
        if (list != nullptr) ibv_free_device_list(list);
        if (context == nullptr) return fails(error);
        ibv_pd* pd = ibv_alloc_pd(context);
        const bool is_well = pd != nullptr ? use(pd) : fails(errno);
        if (pd != nullptr) ibv_dealloc_pd(pd);
        ibv_close_device(context);
        return is_well;
    }
    bool is_right = true;

private:
    bool fails(int error) {
        is_right = is_right && is_scarcity(error);
        return false;
    }
    bool use(ibv_pd* pd) {
        void* handle = nullptr;
        void* memory = ibv_alloc_buf(pd, 4096, &handle);
        if (memory == nullptr) return fails(errno);
        ibv_mr* region = ibv_reg_buf_mr(pd, handle, memory, 4096, kAll);
        const int region_error = errno;
        ibv_pd* imported = ibv_import_pd(pd->context, pd->handle);
        const int imported_error = errno;
        const bool is_well = region != nullptr && imported != nullptr;
        if (region == nullptr) fails(region_error);
        if (imported == nullptr) fails(imported_error);
        if (imported != nullptr) ibv_unimport_pd(imported);
        if (region != nullptr) ibv_dereg_mr(region);
        ibv_free_buf(handle);
        return is_well;
    }
};

// Two ids of the connection manager connect. The program sleeps until there is an event, so the
// library's thread handles what comes meanwhile.
class ConnectedLife {
public:
    bool live() {
        events_ = rdma_create_event_channel();
        if (events_ == nullptr) return fails();
        const bool is_well = connect() && meet();
        for (rdma_cm_id* id : {client_, accepted_, listener_})
            if (id != nullptr) rdma_destroy_id(id);
        rdma_destroy_event_channel(events_);
        return is_well;
    }
    bool is_right = true;

private:
    bool fails() {
        if (!is_scarcity(errno)) std::fprintf(stderr, "errno %d\n", errno);
        is_right = is_right && is_scarcity(errno);
        return false;
    }
    bool connect() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* there = reinterpret_cast<sockaddr*>(&address);
        if (rdma_create_id(events_, &listener_, nullptr, RDMA_PS_TCP) != 0 ||
            rdma_bind_addr(listener_, there) != 0 || rdma_listen(listener_, 4) != 0 ||
            rdma_create_id(events_, &client_, nullptr, RDMA_PS_TCP) != 0)
            return fails();
        address.sin_port = rdma_get_src_port(listener_);
        return rdma_resolve_addr(client_, nullptr, there, 1000) == 0 || fails();
    }
    // Until both are told; false if one could not be.
    bool meet() {
        for (int established = 0; established < 2;) {
            rdma_cm_event* event = nullptr;
            if (rdma_get_cm_event(events_, &event) != 0) return fails();
            const rdma_cm_event_type type = event->event;
            rdma_cm_id* id = event->id;
            rdma_ack_cm_event(event);
            if (type == RDMA_CM_EVENT_ESTABLISHED) ++established;
            if (type == RDMA_CM_EVENT_CONNECT_RESPONSE) ++established;
            if (!answer(type, id)) return false;
        }
        return true;
    }
    bool answer(rdma_cm_event_type type, rdma_cm_id* id) {
        rdma_conn_param param{};
        param.qp_num = id == client_ ? 100 : 200;
        switch (type) {
            case RDMA_CM_EVENT_ADDR_RESOLVED: return rdma_resolve_route(id, 1000) == 0 || fails();
            case RDMA_CM_EVENT_ROUTE_RESOLVED: return rdma_connect(id, &param) == 0 || fails();
            case RDMA_CM_EVENT_CONNECT_REQUEST:
                accepted_ = id;
                return rdma_accept(id, &param) == 0 || fails();
            case RDMA_CM_EVENT_CONNECT_RESPONSE: return rdma_establish(id) == 0 || fails();
            case RDMA_CM_EVENT_ESTABLISHED: return true;
            default: return false;
        }
    }

    rdma_event_channel* events_ = nullptr;
    rdma_cm_id* listener_ = nullptr;
    rdma_cm_id* client_ = nullptr;
    rdma_cm_id* accepted_ = nullptr;
};

// Sockets over RDMA: a stream and datagrams, both ends here.
class SocketLife {
public:
    bool live() {
        const bool is_well = talk_by_stream() && talk_by_datagrams();
        for (const int number : open_) rclose(number);
        return is_well;
    }
    bool is_right = true;

private:
    static constexpr int kLooks = 100;

    // Waiting is no failure.
    bool is_soon(ssize_t answer) {
        if (answer >= 0) return true;
        if (errno == EAGAIN || errno == EINPROGRESS) return true;
        return fails();
    }
    bool fails() {
        if (!is_scarcity(errno)) std::fprintf(stderr, "socket: errno %d\n", errno);
        is_right = is_right && is_scarcity(errno);
        return false;
    }
    int socket(int type) {
        const int number = rsocket(AF_INET, type | SOCK_NONBLOCK, 0);
        if (number < 0) return fails(), -1;
        open_[count_++] = number;
        return number;
    }
    bool bind(int number) {
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address_.sin_port = 0;
        socklen_t room = sizeof address_;
        if (rbind(number, shown(), room) != 0) return fails();
        return rgetsockname(number, shown(), &room) == 0 || fails();
    }
    sockaddr* shown() { return reinterpret_cast<sockaddr*>(&address_); }

    bool talk_by_stream() {
        const int listener = socket(SOCK_STREAM);
        const int client = listener < 0 ? -1 : socket(SOCK_STREAM);
        if (client < 0 || !bind(listener)) return false;
        if (rlisten(listener, 4) != 0) return fails();
        if (!is_soon(rconnect(client, shown(), sizeof address_))) return false;
        const int accepted = accept(listener, client);
        return accepted >= 0 && exchange(client, accepted);
    }
    int accept(int listener, int client) {
        for (int i = 0; i < kLooks; ++i) {
            pollfd files[] = {{listener, POLLIN, 0}, {client, POLLOUT, 0}};
            if (rpoll(files, 2, 20) < 0) return fails(), -1;
            if ((files[1].revents & (POLLERR | POLLHUP)) != 0) return -1;
            const int accepted = raccept(listener, nullptr, nullptr);
            if (accepted >= 0) return open_[count_++] = accepted;
            if (!is_soon(accepted)) return -1;
        }
        return -1;
    }
    bool exchange(int from, int to) {
        char data[8] = "1234567";
        bool is_sent = false;
        for (int i = 0; i < kLooks; ++i) {
            pollfd files[] = {{from, static_cast<short>(is_sent ? 0 : POLLOUT), 0},
                              {to, POLLIN, 0}};
            if (rpoll(files, 2, 20) < 0) return fails();
            if ((files[0].revents & (POLLERR | POLLHUP)) != 0) return false;
            if (!is_sent) {
                const ssize_t sent = rsend(from, data, sizeof data, 0);
                if (!is_soon(sent)) return false;
                is_sent = sent == sizeof data;
            }
            const ssize_t got = rrecv(to, data, sizeof data, 0);
            if (got == sizeof data) return true;
            if (got == 0 || !is_soon(got)) return false;
        }
        return false;
    }
    // The first goes by UDP, the others do not.
    bool talk_by_datagrams() {
        const int one = socket(SOCK_DGRAM);
        const int other = one < 0 ? -1 : socket(SOCK_DGRAM);
        if (other < 0 || !bind(one)) return false;
        if (rconnect(other, shown(), sizeof address_) != 0) return fails();
        for (int i = 0; i < 3; ++i)
            if (!exchange(other, one)) return false;
        return true;
    }

    sockaddr_in address_{};
    std::array<int, 8> open_{-1, -1, -1, -1, -1, -1, -1, -1};
    size_t count_ = 0;
};

// In a separate process: 0 if the life succeeded, 1 if a failure was not reported, 2 if a later
// life fails, 3 if nothing failed; or the signal that ended it.
template <class Life, class Begin, class End>
int life_in_a_child(const Begin& begin, const End& end) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        begin();
        Life first;
        const bool was_well = first.live();
        end();
        if (!first.is_right) _exit(1);
        if (!Life().live()) _exit(2);
        _exit(was_well ? 3 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

constexpr int kNothingFailed = 3;

template <class Life>
void fail_each_allocation() {
    int failures = 0;
    int in_a_row = 0;  // allocations of the thread may or may not happen
    for (int n = 0; in_a_row < 5; ++n) {
        const int result =
            life_in_a_child<Life>([&] { allocations_left = n; }, [] { allocations_left = -1; });
        ASSERT_TRUE(result == 0 || result == kNothingFailed)
            << "allocation " << n << ": " << result;
        failures += result == 0 ? 1 : 0;
        in_a_row = result == kNothingFailed ? in_a_row + 1 : 0;
        ASSERT_LT(n, 5000);
    }
    EXPECT_GT(failures, 10);
}

TEST(Scarce, memory_that_is_not_there_is_an_errno_wherever_it_is_asked_for) {
    fail_each_allocation<Life>();
}

TEST(Scarce, so_it_is_of_the_newest_names) {
    fail_each_allocation<NewestLife>();
}

TEST(Scarce, so_it_is_where_the_thread_hears_of_a_connection) {
    fail_each_allocation<ConnectedLife>();
}

TEST(Scarce, so_it_is_of_sockets_over_rdma) {
    fail_each_allocation<SocketLife>();
}

// A queue is armed and a message comes, repeatedly, and nobody takes the events. Wherever memory
// fails, there must be as many events as messages: a program that sleeps for one would sleep for
// ever.
int arm_and_hear(int rounds) {
    Life life;
    if (!life.begin()) return 1;
    int tries = 0;
    for (int done = 0; done < rounds;) {
        // The next allocation fails, but not at every try: what never gets memory never ends.
        if (allocations_left < 0 && ++tries % 2 == 0) allocations_left = 0;
        if (!life.arm()) continue;
        if (!life.say()) return 2;
        ++done;
    }
    for (int heard = 0; heard < rounds; ++heard)
        if (!life.hear()) return 3;
    return 0;
}

TEST(Scarce, an_event_of_a_queue_that_was_armed_comes_though_memory_fails) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(arm_and_hear(300));
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(Scarce, a_refused_thread_is_an_errno) {
    EXPECT_EQ(life_in_a_child<Life>([] { threads_are_refused = true; },
                                    [] { threads_are_refused = false; }),
              0);
}

TEST(Scarce, descriptors_that_are_used_up_are_an_errno) {
    const int now = dup(0);
    close(now);
    for (int more = 0; more < 24; ++more) {
        rlimit limit{};
        getrlimit(RLIMIT_NOFILE, &limit);
        const auto few = static_cast<rlim_t>(now + more);
        const int result = life_in_a_child<Life>(
            [&] {
                rlimit tight = limit;
                tight.rlim_cur = few;
                setrlimit(RLIMIT_NOFILE, &tight);
            },
            [&] { setrlimit(RLIMIT_NOFILE, &limit); });
        ASSERT_TRUE(result == 0 || result == kNothingFailed) << few << ": " << result;
    }
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return threads_are_refused ? EAGAIN : real(thread, attributes, run, argument);
}
