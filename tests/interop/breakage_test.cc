// A rule of --faults breaks a queue pair, a shared receive queue or the adapter; the program gets
// an asynchronous event, as with hardware. Run by `tulle run --faults`, with a rule about the third
// SEND and BREAKS=qp, srq or adapter.
#include <cstdlib>
#include <string>

#include "two.h"

namespace {

using two::Side;

constexpr int kMessages = 3;

std::string what_breaks() {
    const char* what = std::getenv("BREAKS");
    return what == nullptr ? "" : what;
}

bool post_receive(Side& side) {
    if (side.qp->srq == nullptr) return side.post_receive(0, 64) == 0;
    ibv_sge sge{reinterpret_cast<uint64_t>(side.mr->addr), 64, side.mr->lkey};
    ibv_recv_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(side.qp->srq, &wr, &bad) == 0;
}

ibv_event_type next_event(Side& side) {
    ibv_async_event event{};
    if (ibv_get_async_event(side.context, &event) != 0) std::abort();
    ibv_ack_async_event(&event);
    return event.event_type;
}

ibv_qp* queue_pair_of(Side& side, bool has_srq) {
    ibv_srq_init_attr shared{};
    shared.attr = {16, 1, 0};
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = side.cq;
    init.srq = has_srq ? ibv_create_srq(side.pd, &shared) : nullptr;
    init.qp_type = IBV_QPT_RC;
    init.cap = {16, 16, 1, 1, 0};
    return ibv_create_qp(side.pd, &init);
}

bool hears_that_it_broke(Side& side) {
    const std::string what = what_breaks();
    if (what == "srq") return next_event(side) == IBV_EVENT_SRQ_ERR;
    if (what == "qp")
        return next_event(side) == IBV_EVENT_QP_FATAL &&
               side.completion().status == IBV_WC_WR_FLUSH_ERR;
    return what == "adapter" && next_event(side) == IBV_EVENT_DEVICE_FATAL &&
           side.completion().status == IBV_WC_WR_FLUSH_ERR && queue_pair_of(side, false) == nullptr;
}

TEST(Broken, tells_its_program_by_an_asynchronous_event) {
    two::run(
        [](Side& side) {
            side.open();
            side.qp = queue_pair_of(side, what_breaks() == "srq");
            if (!side.connect()) return false;
            for (int i = 0; i < 2 * kMessages; ++i)
                if (!post_receive(side)) return false;
            side.meet();
            for (int i = 1; i < kMessages; ++i)
                if (side.completion().status != IBV_WC_SUCCESS) return false;
            return hears_that_it_broke(side);
        },
        [](Side& side) {
            side.open();
            ASSERT_TRUE(side.connect());
            side.meet();
            for (int i = 1; i < kMessages; ++i) {
                EXPECT_EQ(side.result_of(side.request(IBV_WR_SEND, 64)), IBV_WC_SUCCESS);
            }
            EXPECT_EQ(side.post(side.request(IBV_WR_SEND, 64)), 0);
            side.poll_until_told();
        });
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
