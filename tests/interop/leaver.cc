// Sends one message to itself and ends while another thread of it registers memory: what it counted
// must not be lost. For counters.py.
#include <atomic>
#include <thread>

#include "two.h"

int main() {
    two::Side side(-1);
    side.open();
    side.qp = side.make();
    if (!side.bring_up(side.qp, side.card(side.qp, side.mr))) return 1;
    ibv_sge piece{reinterpret_cast<uint64_t>(side.mr->addr), 64, side.mr->lkey};
    ibv_recv_wr receive{};
    receive.sg_list = &piece;
    receive.num_sge = 1;
    ibv_recv_wr* bad_receive = nullptr;
    ibv_send_wr send{};
    send.sg_list = &piece;
    send.num_sge = 1;
    send.opcode = IBV_WR_SEND;
    send.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad_send = nullptr;
    if (ibv_post_recv(side.qp, &receive, &bad_receive) != 0 ||
        ibv_post_send(side.qp, &send, &bad_send) != 0)
        return 1;
    ibv_wc wc{};
    for (int done = 0; done < 2; done += ibv_poll_cq(side.cq, 1, &wc)) continue;
    std::atomic<int> calls = 0;
    std::thread([&] {
        for (;; ++calls) (void)ibv_dereg_mr(ibv_reg_mr(side.pd, side.mr->addr, 64, two::kAll));
    }).detach();
    while (calls < 10) continue;
    std::exit(0);
}
