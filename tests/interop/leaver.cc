// Sends one message to itself and ends while another of its threads registers memory: its counters
// must not be lost. For counters.py.
#include <atomic>
#include <thread>

#include "two.h"

int main() {
    two::Side side(-1);
    side.open();
    side.qp = side.make();
    if (!side.bring_up(side.qp, side.card(side.qp, side.mr)) || side.post_receive(0, 64) != 0 ||
        side.post(side.request(IBV_WR_SEND, 64)) != 0)
        return 1;
    for (int done = 0; done < 2; ++done) (void)side.completion();
    std::atomic<int> calls = 0;
    std::thread([&] {
        for (;; ++calls) (void)ibv_dereg_mr(ibv_reg_mr(side.pd, side.mr->addr, 64, two::kAll));
    }).detach();
    while (calls < 10) continue;
    std::exit(0);
}
