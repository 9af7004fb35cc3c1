// What one process may do to another: every check that the fast path makes in place of a responder,
// seen from both ends. Run by `tulle run`.
#include "two.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <sys/mman.h>

namespace {

using two::kAll;
using two::kPage;
using two::Options;
using two::Side;

// Two registered pages of the child, the second one protected.
bool offer_protected(Side& side, int protection, bool polls) {
    side.open();
    void* pages =
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char* second = static_cast<char*>(pages) + kPage;
    *second = 'x';
    side.mr = ibv_reg_mr(side.pd, pages, 2 * kPage, kAll);
    if (side.mr == nullptr || mprotect(second, kPage, protection) != 0) return false;
    if (!side.connect()) return false;
    if (polls) side.poll_until_told();
    side.meet();
    return mprotect(second, kPage, PROT_READ) == 0 && *second == 'x';
}

ibv_send_wr to_second_page(Side& side, ibv_wr_opcode opcode) {
    ibv_send_wr wr = side.request(opcode, 8);
    const bool is_atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    (is_atomic ? wr.wr.atomic.remote_addr : wr.wr.rdma.remote_addr) += kPage;
    return wr;
}

void expect_refused(ibv_wr_opcode opcode, int protection) {
    two::run([&](Side& side) { return offer_protected(side, protection, false); },
             [&](Side& side) {
                 side.open();
                 ASSERT_TRUE(side.connect());
                 EXPECT_EQ(side.result_of(to_second_page(side, opcode)), IBV_WC_REM_ACCESS_ERR);
                 side.meet();
             });
}

// Work that can be done is done; the first that cannot ends the connection.
void stream_across(Side& side) {
    constexpr int kEach = 24;
    side.open();
    ASSERT_TRUE(side.connect());
    for (int i = 0; i < kEach; ++i) ASSERT_EQ(side.post(side.request(IBV_WR_RDMA_WRITE, 8)), 0);
    for (int i = 0; i < kEach; ++i)
        ASSERT_EQ(side.post(to_second_page(side, IBV_WR_RDMA_WRITE)), 0);
    for (int i = 0; i < kEach; ++i) EXPECT_EQ(side.completion().status, IBV_WC_SUCCESS) << i;
    EXPECT_EQ(side.completion().status, IBV_WC_REM_ACCESS_ERR);
    for (int i = 1; i < kEach; ++i) EXPECT_EQ(side.completion().status, IBV_WC_WR_FLUSH_ERR) << i;
    side.meet();
}

TEST(Two, a_write_into_memory_that_was_protected_is_refused_and_kills_nobody) {
    expect_refused(IBV_WR_RDMA_WRITE, PROT_READ);
}

TEST(Two, an_atomic_on_memory_that_was_protected_is_refused_and_kills_nobody) {
    expect_refused(IBV_WR_ATOMIC_FETCH_AND_ADD, PROT_READ);
}

TEST(Two, a_read_of_memory_that_was_protected_is_refused_and_kills_nobody) {
    expect_refused(IBV_WR_RDMA_READ, PROT_NONE);
}

// Many small messages go through the ring. An end that polls puts them into place; for one that
// does not, the initiator does.
TEST(Two, a_stream_of_writes_ends_at_memory_that_was_protected_and_kills_nobody) {
    for (const bool polls : {false, true})
        two::run([&](Side& side) { return offer_protected(side, PROT_READ, polls); },
                 stream_across);
}

// ---- the checks of a responder ------------------------------------------------------------------

struct Attempt {
    ibv_wr_opcode opcode;
    uint64_t offset = 0;
    uint32_t length = 8;
    ibv_wc_status expected = IBV_WC_REM_ACCESS_ERR;
    int count = 1;  // more than a few in a row go through the ring
};

// The child offers `region_access` on a region of its own protection domain or another one; the
// parent tries, and the child's memory does not change.
struct Offer {
    int region_access = kAll;
    int qp_access = kAll;
    bool is_of_another_domain = false;
    bool is_deregistered = false;
};

bool offer(Side& side, const Offer& what) {
    side.open();
    std::vector<char> pages(2 * kPage, 'x');
    ibv_pd* domain = what.is_of_another_domain ? ibv_alloc_pd(side.context) : side.pd;
    side.mr = ibv_reg_mr(domain, pages.data() + kPage, kPage, what.region_access);
    if (side.mr == nullptr || !side.connect({.qp_access = what.qp_access})) return false;
    if (what.is_deregistered && ibv_dereg_mr(side.mr) != 0) return false;
    side.meet();
    side.meet();
    return pages == std::vector<char>(2 * kPage, 'x');
}

void attempt(Side& side, const Attempt& what) {
    side.open();
    ASSERT_TRUE(side.connect());
    side.meet();
    ibv_send_wr wr = side.request(what.opcode, what.length);
    wr.wr.rdma.remote_addr += what.offset;
    for (int i = 0; i < what.count; ++i) ASSERT_EQ(side.post(wr), 0);
    EXPECT_EQ(side.completion().status, what.expected);
    side.meet();
}

void expect_nothing_done(const Offer& offered, const Attempt& attempted) {
    two::run([&](Side& side) { return offer(side, offered); },
             [&](Side& side) { attempt(side, attempted); });
}

constexpr Attempt kWrite{IBV_WR_RDMA_WRITE};
constexpr Attempt kRead{IBV_WR_RDMA_READ};

TEST(Two, a_queue_pair_without_the_right_takes_no_write_and_no_read) {
    const int without_write = kAll & ~IBV_ACCESS_REMOTE_WRITE;
    const int without_read = kAll & ~IBV_ACCESS_REMOTE_READ;
    // If the queue pair does not allow it, the request is invalid (IBTA vol 1, 9.7.4.1.3).
    constexpr ibv_wc_status kInvalid = IBV_WC_REM_INV_REQ_ERR;
    for (const int count : {1, 24})
        expect_nothing_done({.qp_access = without_write},
                            {.opcode = IBV_WR_RDMA_WRITE, .expected = kInvalid, .count = count});
    expect_nothing_done({.qp_access = without_read},
                        {.opcode = IBV_WR_RDMA_READ, .expected = kInvalid});
}

TEST(Two, a_region_without_the_right_is_not_written_and_not_read) {
    expect_nothing_done({.region_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ}, kWrite);
    expect_nothing_done({.region_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}, kRead);
    expect_nothing_done({.region_access = IBV_ACCESS_LOCAL_WRITE}, kWrite);
}

TEST(Two, a_region_of_another_protection_domain_is_not_reached) {
    expect_nothing_done({.is_of_another_domain = true}, kWrite);
    expect_nothing_done({.is_of_another_domain = true}, kRead);
    expect_nothing_done({.is_of_another_domain = true}, {.opcode = IBV_WR_RDMA_WRITE, .count = 24});
}

TEST(Two, nothing_outside_a_region_is_reached) {
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ})
        for (const uint64_t offset : {kPage - 4, kPage, kPage * 16, uint64_t{0} - 8})
            expect_nothing_done({}, {.opcode = opcode, .offset = offset});
}

TEST(Two, a_region_of_the_past_is_not_reached) {
    expect_nothing_done({.is_deregistered = true}, kWrite);
    expect_nothing_done({.is_deregistered = true}, kRead);
}

// A queue pair that the child has connected to another one, which gets its answers.
TEST(Two, a_queue_pair_takes_nothing_from_who_is_not_its_peer) {
    two::run(
        [](Side& side) {
            side.open();
            side.qp = side.make();
            side.tell(side.card(side.qp, side.mr));
            auto others = side.hear<two::Card>();
            ++others.qpn;
            const bool is_ready = side.bring_up(side.qp, others);
            side.meet();
            side.meet();
            return is_ready;
        },
        [](Side& side) {
            side.open();
            ASSERT_TRUE(side.connect());
            EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)), IBV_WC_RETRY_EXC_ERR);
            side.meet();
        });
}

// After ibv_dereg_mr() nobody writes any more, however many WRITEs were in flight.
TEST(Two, deregistration_waits_for_copies) {
    constexpr uint32_t kLarge = 32 * kPage;
    two::run(
        [](Side& side) {
            side.open();
            for (int round = 0; round < 40; ++round) {
                side.memory.assign(side.memory.size(), 'x');
                side.mr = ibv_reg_mr(side.pd, side.memory.data(), side.memory.size(), kAll);
                side.qp = nullptr;
                if (!side.connect()) return false;
                // Something has arrived; more is to come.
                const volatile char* first = side.memory.data();
                while (*first == 'x') continue;
                if (ibv_dereg_mr(side.mr) != 0) return false;
                const std::vector<char> then = side.memory;
                side.meet();
                if (then != side.memory) return false;
                if (ibv_destroy_qp(side.qp) != 0) return false;
            }
            return true;
        },
        [](Side& side) {
            side.open();
            for (int round = 0; round < 40; ++round) {
                side.qp = nullptr;
                ASSERT_TRUE(side.connect());
                ibv_wc wc{};
                const bool is_large = round % 2 == 0;
                for (uint64_t i = 0; wc.status == IBV_WC_SUCCESS; ++i) {
                    std::memset(side.memory.data(), static_cast<int>(i % 20),
                                is_large ? kLarge : 8);
                    ibv_send_wr wr = side.request(IBV_WR_RDMA_WRITE, is_large ? kLarge : 8);
                    const bool is_told = is_large || i % 16 == 15;
                    if (!is_told) wr.send_flags = 0;
                    ASSERT_EQ(side.post(wr), 0);
                    if (is_told) wc = side.completion();
                }
                EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
                side.meet();
                EXPECT_EQ(ibv_destroy_qp(side.qp), 0);
            }
        });
}

// The child's memory; it moves its region away as soon as a WRITE has begun.
bool move_amid_a_write(Side& side, std::vector<char>& elsewhere) {
    std::fill(side.memory.begin(), side.memory.end(), 'x');
    side.mr = ibv_reg_mr(side.pd, side.memory.data(), side.memory.size(), kAll);
    side.qp = nullptr;
    if (side.mr == nullptr || !side.connect()) return false;
    const volatile char* first = side.memory.data();
    const volatile char* last = side.memory.data() + side.memory.size() - 1;
    side.poll_until_told();  // until small ones have arrived
    side.meet();
    while (*first == 'x') continue;
    if (ibv_rereg_mr(side.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, elsewhere.data(),
                     elsewhere.size(), 0) != 0)
        return false;
    const char then = *last;
    side.meet();  // the WRITE has ended
    const bool is_left_alone = *last == then;
    return ibv_destroy_qp(side.qp) == 0 && ibv_dereg_mr(side.mr) == 0 && is_left_alone;
}

// After ibv_rereg_mr() nobody writes to the old range of the region, however long a WRITE takes.
TEST(Two, a_region_that_moves_waits_for_copies) {
    constexpr size_t kHuge = 16 << 20;
    constexpr int kRounds = 12;
    two::run(
        [](Side& side) {
            side.memory.resize(kHuge);
            side.open();
            std::vector<char> elsewhere(kPage);
            for (int round = 0; round < kRounds; ++round)
                if (!move_amid_a_write(side, elsewhere)) return false;
            return true;
        },
        [](Side& side) {
            side.memory.assign(kHuge, 'x');
            side.open();
            for (int round = 0; round < kRounds; ++round) {
                side.qp = nullptr;
                ASSERT_TRUE(side.connect());
                side.memory.front() = 'x';
                for (int i = 0; i < 3; ++i)
                    ASSERT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)), IBV_WC_SUCCESS);
                side.meet();
                side.memory.front() = side.memory.back() = 'y';
                (void)side.result_of(side.request(IBV_WR_RDMA_WRITE, kHuge));
                side.meet();
                EXPECT_EQ(ibv_destroy_qp(side.qp), 0);
            }
        });
}

// ---- XRC ----------------------------------------------------------------------------------------

// A domain with a file, and one of its queues.
struct XrcQueue {
    XrcQueue(Side& side, const char* file) {
        ibv_xrcd_init_attr by_file{};
        by_file.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
        by_file.fd = open(file, O_RDONLY | O_CLOEXEC);
        by_file.oflags = O_CREAT;
        domain = ibv_open_xrcd(side.context, &by_file);
        close(by_file.fd);
        ibv_srq_init_attr_ex wanted{};
        wanted.attr = {8, 1, 0};
        wanted.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                           IBV_SRQ_INIT_ATTR_CQ;
        wanted.srq_type = IBV_SRQT_XRC;
        wanted.pd = side.pd;
        wanted.xrcd = domain;
        wanted.cq = side.cq;
        queue = ibv_create_srq_ex(side.context, &wanted);
        if (queue == nullptr || ibv_get_srq_num(queue, &number) != 0) std::abort();
    }
    bool receive(Side& side) const {
        ibv_sge place{reinterpret_cast<uint64_t>(side.memory.data()), 8, side.mr->lkey};
        ibv_recv_wr wr{};
        wr.sg_list = &place;
        wr.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        return ibv_post_srq_recv(queue, &wr, &bad) == 0;
    }
    ibv_qp* make_target(Side& side) const {
        ibv_qp_init_attr_ex init{};
        init.qp_type = IBV_QPT_XRC_RECV;
        init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
        init.xrcd = domain;
        return ibv_create_qp_ex(side.context, &init);
    }

    ibv_xrcd* domain = nullptr;
    ibv_srq* queue = nullptr;
    uint32_t number = 0;
};

// Both processes have a queue, the first that each of them made, of different files.
TEST(Two, a_message_for_a_queue_of_another_domain_is_refused_and_reaches_none) {
    for (const bool is_of_target : {true, false})
        two::run(
            [&](Side& side) {
                side.open();
                const XrcQueue own(side, "/proc/self/exe");
                side.qp = own.make_target(side);
                side.memory[0] = 'x';
                if (!own.receive(side)) return false;
                side.tell(own.number);
                if (!side.connect()) return false;
                side.poll_until_told();
                side.meet();
                return side.memory[0] == (is_of_target ? 'y' : 'x');
            },
            [&](Side& side) {
                side.open();
                const XrcQueue own(side, "/proc/self/maps");
                ASSERT_TRUE(own.receive(side));
                side.qp = side.make(nullptr, IBV_QPT_XRC_SEND);
                const auto targets = side.hear<uint32_t>();
                EXPECT_NE(targets, own.number);
                ASSERT_TRUE(side.connect());
                ibv_send_wr wr = side.request(IBV_WR_SEND, 8);
                wr.qp_type.xrc.remote_srqn = is_of_target ? targets : own.number;
                side.memory[0] = 'y';
                EXPECT_EQ(side.result_of(wr),
                          is_of_target ? IBV_WC_SUCCESS : IBV_WC_REM_INV_REQ_ERR);
                side.meet();
            });
}

// ---- ends ---------------------------------------------------------------------------------------

// Waits for a request, rejects it with a reason, and ends.
bool refuse_and_end(Side& side) {
    rdma_cm_id* listener = nullptr;
    rdma_cm_id* request = nullptr;
    sockaddr_in any{};
    any.sin_family = AF_INET;
    if (rdma_create_id(nullptr, &listener, nullptr, RDMA_PS_TCP) != 0 ||
        rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&any)) != 0 ||
        rdma_listen(listener, 1) != 0)
        return false;
    side.tell(rdma_get_src_port(listener));
    return rdma_get_request(listener, &request) == 0 && rdma_reject(request, "farewell", 8) == 0;
}

// Its message and its end come at the same time.
TEST(Two, what_a_process_says_before_it_ends_is_heard) {
    constexpr int kRounds = 40;
    for (int round = 0; round < kRounds; ++round)
        two::run(refuse_and_end, [](Side& side) {
            sockaddr_in there{};
            there.sin_family = AF_INET;
            there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            there.sin_port = side.hear<in_port_t>();
            rdma_cm_id* id = nullptr;
            rdma_conn_param param{};
            param.qp_num = 77;
            ASSERT_EQ(rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP), 0);
            ASSERT_EQ(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&there), 1000), 0);
            ASSERT_EQ(rdma_resolve_route(id, 1000), 0);
            EXPECT_NE(rdma_connect(id, &param), 0);
            ASSERT_EQ(id->event->event, RDMA_CM_EVENT_REJECTED);
            EXPECT_EQ(std::memcmp(id->event->param.conn.private_data, "farewell", 8), 0);
            rdma_destroy_id(id);
        });
}

}  // namespace
