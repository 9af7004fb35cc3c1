// A program that forks while it works. The child has no part in its parent's objects: calls with
// older handles are refused, and the parent notices nothing. The child may open devices of its own.
// Run by `tulle run`.
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdio>

#include "two.h"

namespace {

using two::Side;

// Prints which expectation of a child failed, because it has no test of its own.
bool is_true(bool what, const char* words) {
    if (!what) std::fprintf(stderr, "in the child: %s: errno %d\n", words, errno);
    return what;
}
#define HOLDS(what) is_true((what), #what)

// Runs in a child of this process; true if it succeeded.
bool in_child(const std::function<bool()>& work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(work() ? 0 : 1);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

bool is_refused(const void* made) {
    return made == nullptr && errno == EIO;
}

// Each call with a handle of the parent returns EIO, as with an unplugged adapter.
bool refuses_objects(Side& side, ibv_comp_channel* channel) {
    ibv_wc wc{};
    ibv_cq* cq = nullptr;
    void* user = nullptr;
    ibv_qp_attr attributes{};
    ibv_async_event event{};
    return HOLDS(side.post(side.request(IBV_WR_RDMA_WRITE, 8)) == EIO) &&
           HOLDS(side.post_receive(0, 8) == EIO) && HOLDS(ibv_poll_cq(side.cq, 1, &wc) == -EIO) &&
           HOLDS(ibv_req_notify_cq(side.cq, 0) == EIO) &&
           HOLDS(ibv_modify_qp(side.qp, &attributes, IBV_QP_STATE) == EIO) &&
           HOLDS(is_refused(ibv_alloc_pd(side.context))) &&
           HOLDS(is_refused(ibv_create_cq(side.context, 8, nullptr, nullptr, 0))) &&
           HOLDS(is_refused(ibv_reg_mr(side.pd, side.memory.data(), 8, 0))) &&
           HOLDS(is_refused(side.make())) && HOLDS(ibv_destroy_qp(side.qp) == EIO) &&
           HOLDS(ibv_dereg_mr(side.mr) == EIO) && HOLDS(ibv_destroy_cq(side.cq) == EIO) &&
           HOLDS(ibv_dealloc_pd(side.pd) == EIO) &&
           HOLDS(ibv_get_cq_event(channel, &cq, &user) == -1 && errno == EIO) &&
           HOLDS(ibv_get_async_event(side.context, &event) == -1 && errno == EIO) &&
           HOLDS(ibv_close_device(side.context) == 0);
}

// Queries about the device still work.
bool knows_device(const Side& side) {
    ibv_device_attr device{};
    ibv_gid gid{};
    return HOLDS(ibv_query_device(side.context, &device) == 0 && device.phys_port_cnt == 1) &&
           HOLDS(ibv_query_gid(side.context, 1, two::kGidIndex, &gid) == 0);
}

// A device of the child, from open to close.
bool has_own_device() {
    Side own(-1);
    own.open();
    own.qp = own.make();
    own.peer = own.card(own.qp, own.mr);
    const bool works = HOLDS(own.bring_up(own.qp, own.peer)) &&
                       HOLDS(own.result_of(own.request(IBV_WR_RDMA_WRITE, 8)) == IBV_WC_SUCCESS);
    return HOLDS(own.close()) && works;
}

TEST(Fork, a_child_is_refused_what_its_parent_had_and_the_parent_goes_on) {
    two::run(
        [](Side& side) {
            side.open();
            if (!side.connect() || side.post_receive(0, 8) != 0) return false;
            side.poll_until_told();
            side.meet();
            return true;
        },
        [](Side& side) {
            side.open();
            ibv_comp_channel* channel = ibv_create_comp_channel(side.context);
            ibv_cq* plain =
                std::exchange(side.cq, ibv_create_cq(side.context, 16, nullptr, channel, 0));
            EXPECT_EQ(ibv_destroy_cq(plain), 0);
            ASSERT_TRUE(side.connect());
            ASSERT_EQ(ibv_req_notify_cq(side.cq, 0), 0);
            ASSERT_EQ(side.post(side.request(IBV_WR_RDMA_WRITE, 8)), 0);
            // The event belongs to the parent, whatever the child does.
            EXPECT_TRUE(in_child([&] {
                return knows_device(side) && refuses_objects(side, channel) && has_own_device();
            }));
            ibv_cq* cq = nullptr;
            void* user = nullptr;
            ASSERT_EQ(ibv_get_cq_event(channel, &cq, &user), 0);
            ibv_ack_cq_events(cq, 1);
            EXPECT_EQ(side.completion().status, IBV_WC_SUCCESS);
            EXPECT_EQ(side.result_of(side.request(IBV_WR_SEND, 8)), IBV_WC_SUCCESS);
            side.meet();
        });
}

TEST(Fork, a_child_of_a_child_has_a_device_of_its_own_too) {
    Side side(-1);
    side.open();
    side.qp = side.make();
    EXPECT_TRUE(in_child([] { return has_own_device() && in_child(has_own_device); }));
    EXPECT_TRUE(side.close());
}

// ---- the connection manager ---------------------------------------------------------------------

struct Listener {
    Listener() {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        channel = rdma_create_event_channel();
        if (rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0 ||
            rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&any)) != 0 || rdma_listen(id, 4) != 0)
            std::abort();
    }
    ~Listener() {
        rdma_destroy_id(id);
        rdma_destroy_event_channel(channel);
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    rdma_event_channel* channel;
    rdma_cm_id* id = nullptr;
};

// Connects to the parent's listener, as any process may.
bool ask(in_port_t port, rdma_event_channel* channel, rdma_cm_id*& id) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = port;
    rdma_conn_param param{};
    param.qp_num = 77;
    const auto is_next = [&](rdma_cm_event_type wanted) {
        rdma_cm_event* event = nullptr;
        return rdma_get_cm_event(channel, &event) == 0 && event->event == wanted &&
               rdma_ack_cm_event(event) == 0;
    };
    return rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0 &&
           rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&there), 1000) == 0 &&
           is_next(RDMA_CM_EVENT_ADDR_RESOLVED) && rdma_resolve_route(id, 1000) == 0 &&
           is_next(RDMA_CM_EVENT_ROUTE_RESOLVED) && rdma_connect(id, &param) == 0;
}

bool refuses_ids(const Listener& listener) {
    rdma_cm_event* event = nullptr;
    ibv_qp_attr attributes{};
    int mask = 0;
    const in_port_t port = rdma_get_src_port(listener.id);
    return HOLDS(rdma_get_cm_event(listener.channel, &event) == -1 && errno == EIO) &&
           HOLDS(rdma_init_qp_attr(listener.id, &attributes, &mask) == -1 && errno == EIO) &&
           HOLDS(rdma_accept(listener.id, nullptr) == -1 && errno == EIO) && HOLDS(port != 0);
}

TEST(Fork, events_of_the_connection_manager_are_the_parents) {
    const Listener listener;
    rdma_event_channel* channel = rdma_create_event_channel();
    rdma_cm_id* id = nullptr;
    ASSERT_TRUE(ask(rdma_get_src_port(listener.id), channel, id));
    rdma_cm_event* event = nullptr;
    ASSERT_EQ(rdma_get_cm_event(listener.channel, &event), 0);
    rdma_cm_id* request = event->id;
    EXPECT_EQ(rdma_ack_cm_event(event), 0);
    ASSERT_EQ(rdma_reject(request, nullptr, 0), 0);
    // The child must not take events for the parent. It stays until its request has arrived.
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        rdma_event_channel* own = rdma_create_event_channel();
        rdma_cm_id* asker = nullptr;
        const bool is_good = refuses_ids(listener) && HOLDS(rdma_destroy_id(request) == 0) &&
                             HOLDS(ask(rdma_get_src_port(listener.id), own, asker));
        if (!is_good) _exit(1);
        for (;;) pause();
    }
    ASSERT_EQ(rdma_get_cm_event(channel, &event), 0);
    EXPECT_EQ(event->event, RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(rdma_ack_cm_event(event), 0);
    // The child's own request comes from another process.
    pollfd look{listener.channel->fd, POLLIN, 0};
    ASSERT_EQ(poll(&look, 1, 60'000), 1) << "the child has failed";
    ASSERT_EQ(rdma_get_cm_event(listener.channel, &event), 0);
    EXPECT_EQ(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
    rdma_cm_id* of_child = event->id;
    EXPECT_EQ(rdma_ack_cm_event(event), 0);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, WNOHANG), 0) << "the child has failed";
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    for (rdma_cm_id* each : {id, request, of_child}) rdma_destroy_id(each);
    rdma_destroy_event_channel(channel);
}

}  // namespace
