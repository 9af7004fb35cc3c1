// What one process may do to another: every check that the short way makes in place of a responder,
// seen from both ends. Run by `tulle run`.
#include "two.h"

#include <sys/mman.h>

namespace {

using two::kAll;
using two::kPage;
using two::Options;
using two::Side;

// Two pages of the child that it has registered, and the second one protected.
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

// Those that can be done are done; the first that cannot ends the connection.
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

// Many small ones go through the ring. An end that looks for data puts them into place, and for one
// that does not their initiator does.
TEST(Two, a_stream_of_writes_ends_at_memory_that_was_protected_and_kills_nobody) {
    for (const bool polls : {false, true})
        two::run([&](Side& side) { return offer_protected(side, PROT_READ, polls); },
                 stream_across);
}

}  // namespace
