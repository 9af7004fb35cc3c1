// A host with four adapters. Run by `tulle run --devices 4`, on either link layer.
#include <set>
#include <string>

#include "two.h"

namespace {

using two::Options;
using two::Side;

constexpr int kDevices = 4;

std::string name_of(int device) {
    return "tulle" + std::to_string(device);
}
// The routable GID of RoCE, or the only one of InfiniBand.
uint8_t last_gid(ibv_context* context) {
    ibv_port_attr port{};
    EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
    return static_cast<uint8_t>(port.gid_tbl_len - 1);
}

TEST(Devices, each_has_a_name_and_addresses_of_its_own) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ASSERT_EQ(count, kDevices);
    std::set<uint64_t> guids;
    std::set<std::string> gids;
    std::set<int> lids;
    bool is_ethernet = false;
    for (int i = 0; i < count; ++i) {
        EXPECT_EQ(ibv_get_device_name(list[i]), name_of(i));
        EXPECT_EQ(ibv_get_device_index(list[i]), i);
        guids.insert(ibv_get_device_guid(list[i]));
        ibv_context* context = ibv_open_device(list[i]);
        ASSERT_NE(context, nullptr);
        ibv_gid gid{};
        ASSERT_EQ(ibv_query_gid(context, 1, last_gid(context), &gid), 0);
        gids.emplace(reinterpret_cast<const char*>(gid.raw), sizeof gid.raw);
        ibv_port_attr port{};
        ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
        lids.insert(port.lid);
        is_ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
        const std::string path = "/sys/class/infiniband/" + name_of(i) + "/ports/1/gids/0";
        EXPECT_EQ(access(path.c_str(), R_OK), 0) << path;
        EXPECT_EQ(ibv_close_device(context), 0);
    }
    ibv_free_device_list(list);
    EXPECT_EQ(guids.size(), size_t{kDevices});
    EXPECT_EQ(gids.size(), size_t{kDevices});
    EXPECT_EQ(lids.size(), is_ethernet ? 1u : size_t{kDevices});
}

bool serve(Side& side, int device) {
    side.open(name_of(device).c_str());
    const bool is_ready = side.connect({.gid_index = last_gid(side.context)});
    side.meet();
    return is_ready && side.memory[0] == static_cast<char>('a' + device);
}

TEST(Devices, each_reaches_each_between_processes) {
    for (int here = 0; here < kDevices; ++here)
        for (const int there : {here, (here + 1) % kDevices})
            two::run([&](Side& side) { return serve(side, there); },
                     [&](Side& side) {
                         side.open(name_of(here).c_str());
                         ASSERT_TRUE(side.connect({.gid_index = last_gid(side.context)}));
                         side.memory[0] = static_cast<char>('a' + there);
                         EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)),
                                   IBV_WC_SUCCESS);
                         side.meet();
                     });
}

// All at the same time, as programs use several rails; here in pairs.
TEST(Devices, one_process_uses_all_of_them) {
    std::vector<Side> sides;
    for (int i = 0; i < kDevices; ++i) {
        sides.emplace_back(-1);
        sides.back().open(name_of(i).c_str());
        sides.back().qp = sides.back().make();
    }
    for (size_t i = 0; i < sides.size(); i += 2)
        for (const size_t here : {i, i + 1}) {
            Side& from = sides[here];
            Side& to = sides[here ^ 1];
            from.peer = to.card(to.qp, to.mr, last_gid(to.context));
            ASSERT_TRUE(from.bring_up(from.qp, from.peer, {.gid_index = last_gid(from.context)}));
        }
    for (size_t here = 0; here < sides.size(); ++here) {
        sides[here].memory[0] = static_cast<char>('a' + here);
        EXPECT_EQ(sides[here].result_of(sides[here].request(IBV_WR_RDMA_WRITE, 8)), IBV_WC_SUCCESS);
        EXPECT_EQ(sides[here ^ 1].memory[0], static_cast<char>('a' + here));
    }
}

// An address of one adapter does not lead to queue pairs of another.
TEST(Devices, the_address_of_another_adapter_does_not_lead_to_a_queue_pair) {
    two::run(
        [](Side& side) {
            side.open("tulle1");
            Side other(-1);
            other.open("tulle2");
            side.qp = side.make();
            two::Card card = side.card(side.qp, side.mr, last_gid(side.context));
            EXPECT_EQ(ibv_query_gid(other.context, 1, last_gid(other.context), &card.gid), 0);
            side.tell(card);
            const auto peer = side.hear<two::Card>();
            const bool is_ready =
                side.bring_up(side.qp, peer, {.gid_index = last_gid(side.context)});
            side.meet();
            side.meet();
            return is_ready;
        },
        [](Side& side) {
            side.open("tulle0");
            ASSERT_TRUE(side.connect({.gid_index = last_gid(side.context)}));
            EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)), IBV_WC_RETRY_EXC_ERR);
            side.meet();
        });
}

}  // namespace
