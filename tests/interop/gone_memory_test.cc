// Memory that a program unmaps or protects while work on it is posted: an adapter would report the
// missing page in a completion, and so does Tulle. No process ends because of it, whichever thread
// meets the page. Run by `tulle run`, also with packets as bytes.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "two.h"

namespace {

using two::kAll;
using two::kPage;
using two::Side;

enum class Loss { unmapped, protected_from_all, read_only };

// Registered pages; tests change them from the second one on.
struct Pages {
    explicit Pages(Side& side, size_t count = 2) : bytes(count * kPage) {
        start = static_cast<char*>(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        region = ibv_reg_mr(side.pd, start, bytes, kAll);
        if (region == nullptr) std::abort();
    }
    void lose(Loss loss) const {
        char* second = start + kPage;
        const int result =
            loss == Loss::unmapped
                ? munmap(second, bytes - kPage)
                : mprotect(second, bytes - kPage, loss == Loss::read_only ? PROT_READ : PROT_NONE);
        if (result != 0) std::abort();
    }
    ibv_sge piece(uint32_t length, size_t offset = kPage) const {
        return {reinterpret_cast<uint64_t>(start) + offset, length, region->lkey};
    }

    size_t bytes;
    char* start;
    ibv_mr* region;
};

int post_receive(Side& side, ibv_sge piece) {
    ibv_recv_wr wr{};
    wr.sg_list = &piece;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(side.qp, &wr, &bad);
}

// The child's receive buffer disappears. `polls`: the program meets the page, not the thread.
void send_into(Loss loss, bool polls) {
    two::run(
        [&](Side& side) {
            side.open();
            const Pages pages(side);
            if (!side.connect() || post_receive(side, pages.piece(64)) != 0) return false;
            pages.lose(loss);
            side.meet();
            if (!polls) (void)side.hear<char>();
            const bool is_told = side.completion().status == IBV_WC_LOC_PROT_ERR;
            if (polls) (void)side.hear<char>();
            return is_told;
        },
        [&](Side& side) {
            side.open();
            ASSERT_TRUE(side.connect());
            side.meet();
            EXPECT_EQ(side.result_of(side.request(IBV_WR_SEND, 64)), IBV_WC_REM_OP_ERR);
            side.tell('.');
        });
}

TEST(GoneMemory, a_send_into_a_buffer_that_was_unmapped_is_an_error_at_both_ends) {
    for (const bool polls : {false, true}) send_into(Loss::unmapped, polls);
}

TEST(GoneMemory, a_send_into_a_buffer_that_was_protected_is_an_error_at_both_ends) {
    for (const bool polls : {false, true}) send_into(Loss::read_only, polls);
}

// Actions of the parent on its own memory that has disappeared.
void expect_local_error(const std::function<ibv_send_wr(Side&, const Pages&)>& request, Loss loss,
                        size_t pages_count = 2) {
    two::run(
        [&](Side& side) {
            side.open();
            if (!side.connect() || side.post_receive(0, 64 * kPage) != 0) return false;
            side.meet();
            return true;
        },
        [&](Side& side) {
            side.open();
            ASSERT_TRUE(side.connect());
            const Pages pages(side, pages_count);
            const ibv_send_wr wr = request(side, pages);
            pages.lose(loss);
            EXPECT_EQ(side.result_of(wr), IBV_WC_LOC_PROT_ERR);
            side.meet();
        });
}

ibv_send_wr with_piece(Side& side, ibv_wr_opcode opcode, ibv_sge piece) {
    ibv_send_wr wr = side.request(opcode, 8);
    side.sge = piece;
    return wr;
}

TEST(GoneMemory, a_send_from_memory_that_was_unmapped_is_a_local_error) {
    for (const uint32_t length : {8u, 4096u, 200'000u})
        expect_local_error(
            [&](Side& side, const Pages& pages) {
                return with_piece(side, IBV_WR_SEND, pages.piece(length));
            },
            Loss::unmapped, 60);
}

TEST(GoneMemory, a_send_whose_later_part_was_protected_is_a_local_error) {
    expect_local_error(
        [&](Side& side, const Pages& pages) {
            return with_piece(side, IBV_WR_SEND, pages.piece(200'000, 0));
        },
        Loss::protected_from_all, 60);
}

TEST(GoneMemory, one_of_several_pieces_that_was_unmapped_is_a_local_error) {
    static ibv_sge pieces[2];
    expect_local_error(
        [&](Side& side, const Pages& pages) {
            ibv_send_wr wr = side.request(IBV_WR_SEND, 8);
            pieces[0] = pages.piece(100, 0);
            pieces[1] = pages.piece(100);
            wr.sg_list = pieces;
            wr.num_sge = 2;
            return wr;
        },
        Loss::unmapped);
}

TEST(GoneMemory, a_write_from_memory_that_was_unmapped_is_a_local_error) {
    expect_local_error(
        [&](Side& side, const Pages& pages) {
            return with_piece(side, IBV_WR_RDMA_WRITE, pages.piece(8));
        },
        Loss::unmapped);
}

TEST(GoneMemory, a_read_into_memory_that_was_protected_is_a_local_error) {
    expect_local_error(
        [&](Side& side, const Pages& pages) {
            return with_piece(side, IBV_WR_RDMA_READ, pages.piece(8));
        },
        Loss::read_only);
}

TEST(GoneMemory, the_answer_of_an_atomic_into_memory_that_was_protected_is_a_local_error) {
    expect_local_error(
        [&](Side& side, const Pages& pages) {
            return with_piece(side, IBV_WR_ATOMIC_FETCH_AND_ADD, pages.piece(8));
        },
        Loss::read_only);
}

// Small messages go through the ring. The first wrong one fails after those in flight.
void expect_stream_ends(const std::function<ibv_send_wr(Side&, const Pages&)>& good,
                        const std::function<ibv_send_wr(Side&, const Pages&)>& wrong) {
    constexpr int kEach = 24;
    two::run(
        [&](Side& side) {
            side.open();
            if (!side.connect()) return false;
            side.poll_until_told();
            side.meet();
            return true;
        },
        [&](Side& side) {
            side.open();
            ASSERT_TRUE(side.connect());
            const Pages pages(side);
            pages.lose(Loss::unmapped);
            for (int i = 0; i < kEach; ++i) ASSERT_EQ(side.post(good(side, pages)), 0);
            ASSERT_EQ(side.post(wrong(side, pages)), 0);
            for (int i = 0; i < kEach; ++i)
                EXPECT_EQ(side.completion().status, IBV_WC_SUCCESS) << i;
            EXPECT_EQ(side.completion().status, IBV_WC_LOC_PROT_ERR);
            side.meet();
        });
}

TEST(GoneMemory, a_stream_of_writes_ends_at_memory_that_was_unmapped) {
    expect_stream_ends(
        [](Side& side, const Pages& pages) {
            return with_piece(side, IBV_WR_RDMA_WRITE, pages.piece(8, 0));
        },
        [](Side& side, const Pages& pages) {
            return with_piece(side, IBV_WR_RDMA_WRITE, pages.piece(8));
        });
}

TEST(GoneMemory, a_stream_of_writes_ends_at_a_wrong_key) {
    const auto good = [](Side& side, const Pages&) { return side.request(IBV_WR_RDMA_WRITE, 8); };
    expect_stream_ends(good, [&](Side& side, const Pages& pages) {
        const ibv_send_wr request = good(side, pages);
        side.sge.lkey ^= 0x5a;
        return request;
    });
}

// ---- faults of the program's own ----------------------------------------------------------------

volatile int* const kNowhere = nullptr;

// How a process ends that does this with a device open.
int end_of(const std::function<void()>& work) {
    const pid_t process = fork();
    if (process == 0) {
        Side side(-1);
        side.open();
        work();
        _exit(0);
    }
    int status = 0;
    waitpid(process, &status, 0);
    return status;
}

TEST(GoneMemory, a_fault_of_the_program_ends_it_as_ever) {
    EXPECT_EQ(WTERMSIG(end_of([] { *kNowhere = 1; })), SIGSEGV);
    EXPECT_EQ(WTERMSIG(end_of([] { raise(SIGSEGV); })), SIGSEGV);
    EXPECT_EQ(WTERMSIG(end_of([] { kill(getpid(), SIGBUS); })), SIGBUS);
}

sigjmp_buf out;
int faults = 0;

void on_fault(int) {
    ++faults;
    siglongjmp(out, 1);
}

void fault_once() {
    if (sigsetjmp(out, 1) == 0) *kNowhere = 1;
}

TEST(GoneMemory, a_handler_of_the_program_is_called_whenever_it_was_installed) {
    signal(SIGSEGV, on_fault);
    const int before = end_of([] {
        fault_once();
        _exit(faults == 1 ? 0 : 1);
    });
    signal(SIGSEGV, SIG_DFL);
    EXPECT_EQ(before, 0);
    const int after = end_of([] {
        signal(SIGSEGV, on_fault);
        fault_once();
        Side side(-1);
        side.open();  // ours is in front again
        fault_once();
        _exit(faults == 2 ? 0 : 1);
    });
    EXPECT_EQ(after, 0);
}

// A handler that was installed later, and calls the previous one.
struct sigaction found;

void on_fault_then_found(int number, siginfo_t* info, void* context) {
    if (++faults == 1) found.sa_sigaction(number, info, context);
}

TEST(GoneMemory, handlers_that_call_each_other_come_to_an_end) {
    const int end = end_of([] {
        struct sigaction action {};
        action.sa_sigaction = on_fault_then_found;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, &found);
        Side side(-1);
        side.open();
        *kNowhere = 1;
    });
    EXPECT_EQ(WTERMSIG(end), SIGSEGV);
}

}  // namespace
