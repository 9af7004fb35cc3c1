// A hundred thousand queue pairs and regions of one process. Run by `tulle run`.
#include <set>

#include "two.h"

namespace {

using two::kAll;
using two::Side;

constexpr size_t kMany = 100'000;

ibv_qp* make_small(Side& side) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = side.cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {1, 1, 1, 1, 0};
    return ibv_create_qp(side.pd, &init);
}

TEST(Many, the_device_promises_a_hundred_thousand) {
    Side side(-1);
    side.open();
    ibv_device_attr a{};
    ASSERT_EQ(ibv_query_device(side.context, &a), 0);
    EXPECT_GE(a.max_qp, static_cast<int>(kMany));
    EXPECT_GE(a.max_mr, static_cast<int>(kMany));
}

// The last ones, whose numbers belong to further slots, work between processes, in both directions.
TEST(Many, queue_pairs_of_one_process) {
    two::run(
        [](Side& side) {
            side.open();
            std::vector<ibv_qp*> all;
            std::set<uint32_t> numbers;
            for (size_t i = 0; i < kMany; ++i) {
                all.push_back(make_small(side));
                if (all.back() == nullptr) return false;
                numbers.insert(all.back()->qp_num);
            }
            if (numbers.size() != kMany) return false;
            bool is_well = true;
            for (const size_t which : {kMany - 1, kMany / 2, size_t{0}}) {
                side.qp = all[which];
                is_well = is_well && side.connect();
                is_well =
                    is_well && side.result_of(side.request(IBV_WR_RDMA_READ, 8)) == IBV_WC_SUCCESS;
                side.meet();
            }
            for (ibv_qp* qp : all) is_well = is_well && ibv_destroy_qp(qp) == 0;
            return is_well;
        },
        [](Side& side) {
            side.open();
            for (int i = 0; i < 3; ++i) {
                side.qp = nullptr;
                ASSERT_TRUE(side.connect());
                EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)), IBV_WC_SUCCESS);
                EXPECT_EQ(side.result_of(side.request(IBV_WR_ATOMIC_FETCH_AND_ADD, 8)),
                          IBV_WC_SUCCESS);
                side.meet();
            }
        });
}

TEST(Many, regions_of_one_process) {
    two::run(
        [](Side& side) {
            side.open();
            std::vector<ibv_mr*> all;
            for (size_t i = 0; i < kMany; ++i) {
                all.push_back(ibv_reg_mr(side.pd, side.memory.data() + i % 4096, 64, kAll));
                if (all.back() == nullptr) return false;
            }
            side.mr = all.back();
            bool is_well = side.connect();
            side.meet();
            for (ibv_mr* region : all) is_well = is_well && ibv_dereg_mr(region) == 0;
            side.meet();
            side.meet();  // stays until the other end has tried
            return is_well;
        },
        [](Side& side) {
            side.open();
            ASSERT_TRUE(side.connect());
            EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)), IBV_WC_SUCCESS);
            side.meet();
            side.meet();
            EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)), IBV_WC_REM_ACCESS_ERR);
            side.meet();
        });
}

}  // namespace
