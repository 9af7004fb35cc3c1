// Adapters with two ports. Run by `tulle run --devices 2 --ports 2`, on either link layer, with and
// without packets.
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include <fstream>
#include <set>
#include <string>

#include "two.h"

namespace {

using two::Options;
using two::Side;

constexpr uint8_t kPorts = 2;

// The routable GID of RoCE, or the only one of InfiniBand.
uint8_t last_gid(ibv_context* context, uint8_t port = 1) {
    ibv_port_attr attributes{};
    EXPECT_EQ(ibv_query_port(context, port, &attributes), 0);
    return static_cast<uint8_t>(attributes.gid_tbl_len - 1);
}

Options at_port(const Side& side, uint8_t port) {
    return {.gid_index = last_gid(side.context, port), .port = port};
}

std::string folder_of(uint8_t port, const char* device = "tulle0") {
    return std::string("/sys/class/infiniband/") + device + "/ports/" + std::to_string(port) + "/";
}

uint64_t counter(uint8_t port, const char* name) {
    uint64_t value = 0;
    std::ifstream(folder_of(port) + "counters/" + name) >> value;
    return value;
}

TEST(Ports, each_has_addresses_of_its_own) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ASSERT_EQ(count, 2);
    std::set<std::string> gids;
    std::set<int> lids;
    bool is_ethernet = false;
    for (int i = 0; i < count; ++i) {
        ibv_context* context = ibv_open_device(list[i]);
        ibv_device_attr device{};
        ASSERT_EQ(ibv_query_device(context, &device), 0);
        EXPECT_EQ(device.phys_port_cnt, kPorts);
        ibv_port_attr attributes{};
        ibv_gid gid{};
        for (uint8_t port = 1; port <= kPorts; ++port) {
            ASSERT_EQ(ibv_query_port(context, port, &attributes), 0);
            EXPECT_EQ(attributes.state, IBV_PORT_ACTIVE);
            lids.insert(attributes.lid);
            is_ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
            ASSERT_EQ(ibv_query_gid(context, port, last_gid(context, port), &gid), 0);
            gids.emplace(reinterpret_cast<const char*>(gid.raw), sizeof gid.raw);
            __be16 pkey = 0;
            EXPECT_EQ(ibv_query_pkey(context, port, 0, &pkey), 0);
        }
        for (const int none : {0, kPorts + 1}) {
            EXPECT_EQ(ibv_query_port(context, static_cast<uint8_t>(none), &attributes), EINVAL);
            EXPECT_EQ(ibv_query_gid(context, static_cast<uint8_t>(none), 0, &gid), -1);
        }
        EXPECT_EQ(ibv_close_device(context), 0);
    }
    ibv_free_device_list(list);
    EXPECT_EQ(gids.size(), 4u);
    EXPECT_EQ(lids.size(), is_ethernet ? 1u : 4u);
}

TEST(Ports, the_table_has_the_gids_of_all) {
    Side side(-1);
    side.open();
    ibv_gid_entry entries[64];
    const ssize_t count = ibv_query_gid_table(side.context, entries, 64, 0);
    ASSERT_EQ(count, kPorts * (last_gid(side.context) + 1));
    for (ssize_t i = 0; i < count; ++i) {
        ibv_gid gid{};
        ASSERT_EQ(ibv_query_gid(side.context, static_cast<uint8_t>(entries[i].port_num),
                                static_cast<int>(entries[i].gid_index), &gid),
                  0);
        EXPECT_EQ(std::memcmp(gid.raw, entries[i].gid.raw, sizeof gid.raw), 0) << i;
    }
    EXPECT_EQ(entries[count - 1].port_num, kPorts);
    EXPECT_TRUE(side.close());
}

TEST(Ports, files_show_them) {
    for (const char* device : {"tulle0", "tulle1"}) {
        EXPECT_EQ(access((folder_of(2, device) + "gids/0").c_str(), R_OK), 0);
        EXPECT_EQ(access((folder_of(3, device) + "gids/0").c_str(), R_OK), -1);
    }
    std::string first;
    std::string second;
    std::getline(std::ifstream(folder_of(1) + "gids/0"), first);
    std::getline(std::ifstream(folder_of(2) + "gids/0"), second);
    EXPECT_NE(first, second);
}

TEST(Ports, a_port_that_is_not_there_is_refused) {
    Side side(-1);
    side.open();
    ibv_qp* qp = side.make();
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    for (const int none : {0, kPorts + 1}) {
        a.port_num = static_cast<uint8_t>(none);
        EXPECT_EQ(ibv_modify_qp(qp, &a, kInit), EINVAL);
    }
    a.port_num = kPorts;
    EXPECT_EQ(ibv_modify_qp(qp, &a, kInit), 0);
    ibv_qp_init_attr init{};
    ASSERT_EQ(ibv_query_qp(qp, &a, IBV_QP_PORT, &init), 0);
    EXPECT_EQ(a.port_num, kPorts);
    ibv_ah_attr address{};
    address.is_global = 1;
    address.port_num = kPorts + 1;
    EXPECT_EQ(ibv_create_ah(side.pd, &address), nullptr);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_TRUE(side.close());
}

// All four pairs of ports, with a WRITE, a READ and a message each.
bool serve(Side& side, uint8_t port) {
    side.open();
    side.memory[8] = static_cast<char>('A' + port);
    if (!side.connect(at_port(side, port)) || side.post_receive(64, 8) != 0) return false;
    side.meet();
    side.poll_until_told();
    side.meet();
    return side.memory[0] == static_cast<char>('a' + port);
}

TEST(Ports, each_reaches_each_between_processes) {
    for (uint8_t here = 1; here <= kPorts; ++here)
        for (uint8_t there = 1; there <= kPorts; ++there)
            two::run([&](Side& side) { return serve(side, there); },
                     [&](Side& side) {
                         side.open();
                         ASSERT_TRUE(side.connect(at_port(side, here)));
                         side.meet();
                         side.memory[0] = static_cast<char>('a' + there);
                         EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)),
                                   IBV_WC_SUCCESS);
                         ibv_send_wr read = side.request(IBV_WR_RDMA_READ, 8);
                         read.wr.rdma.remote_addr += 8;
                         EXPECT_EQ(side.result_of(read), IBV_WC_SUCCESS);
                         EXPECT_EQ(side.memory[0], static_cast<char>('A' + there));
                         EXPECT_EQ(side.result_of(side.request(IBV_WR_SEND, 8)), IBV_WC_SUCCESS);
                         side.meet();
                         EXPECT_TRUE(side.close());
                     });
}

// Objects belong to the adapter: one region serves queue pairs of both ports.
TEST(Ports, an_address_of_the_other_port_does_not_lead_to_a_queue_pair) {
    for (const uint8_t wrong : {uint8_t{1}, uint8_t{2}})
        two::run(
            [&](Side& side) {
                side.open();
                side.qp = side.make();
                const auto right = static_cast<uint8_t>(3 - wrong);
                side.tell(side.card(side.qp, side.mr, last_gid(side.context), wrong));
                const auto peer = side.hear<two::Card>();
                side.meet();  // both are ready before either knows which port is right
                const bool is_ready = side.bring_up(side.qp, peer, at_port(side, right));
                side.meet();
                side.meet();
                return is_ready;
            },
            [](Side& side) {
                side.open();
                ASSERT_TRUE(side.connect(at_port(side, 1)));
                side.meet();
                EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, 8)), IBV_WC_RETRY_EXC_ERR);
                side.meet();
                EXPECT_TRUE(side.close());
            });
}

// Both ends in one process: the ports count what they send and receive.
TEST(Ports, each_counts_its_own_data) {
    constexpr uint32_t kBytes = 64 * 1024;
    const auto count = [](uint8_t port) {
        return std::pair(counter(port, "port_xmit_data"), counter(port, "port_rcv_data"));
    };
    const auto first = count(1);
    const auto second = count(2);
    two::run(
        [](Side& side) {
            side.open();
            const bool is_ready = side.connect(at_port(side, 2));
            side.meet();
            return is_ready && side.close();
        },
        [](Side& side) {
            side.open();
            ASSERT_TRUE(side.connect(at_port(side, 1)));
            EXPECT_EQ(side.result_of(side.request(IBV_WR_RDMA_WRITE, kBytes)), IBV_WC_SUCCESS);
            side.meet();
            EXPECT_TRUE(side.close());
        });
    EXPECT_EQ(count(1), std::pair(first.first + kBytes / 4, first.second));
    EXPECT_EQ(count(2), std::pair(second.first, second.second + kBytes / 4));
}

// Datagrams carry their source: an answer goes back to that port.
TEST(Ports, a_datagram_shows_the_port_that_it_came_from) {
    Side side(-1);
    side.open();
    ibv_qp* qps[kPorts];
    for (uint8_t port = 1; port <= kPorts; ++port) {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT;
        a.port_num = port;
        a.qkey = 7;
        side.qp = qps[port - 1] = side.make(nullptr, IBV_QPT_UD);
        ASSERT_EQ(ibv_modify_qp(side.qp, &a,
                                IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
                  0);
        a.qp_state = IBV_QPS_RTR;
        ASSERT_EQ(ibv_modify_qp(side.qp, &a, IBV_QP_STATE), 0);
        a.qp_state = IBV_QPS_RTS;
        ASSERT_EQ(ibv_modify_qp(side.qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    }
    const uint8_t last = last_gid(side.context);
    ibv_ah_attr to{};
    to.is_global = 1;
    to.port_num = 2;
    to.grh.sgid_index = last;
    to.grh.hop_limit = 1;
    ASSERT_EQ(ibv_query_gid(side.context, 1, last, &to.grh.dgid), 0);
    ibv_port_attr port{};
    ASSERT_EQ(ibv_query_port(side.context, 1, &port), 0);
    to.dlid = port.lid;
    ibv_ah* handle = ibv_create_ah(side.pd, &to);
    ASSERT_NE(handle, nullptr);
    side.qp = qps[0];
    ASSERT_EQ(side.post_receive(0, 64), 0);
    side.qp = qps[1];
    ibv_send_wr wr = side.request(IBV_WR_SEND, 8);
    wr.wr.ud = {handle, qps[0]->qp_num, 7};
    ASSERT_EQ(side.post(wr), 0);
    ibv_wc received{};
    for (int i = 0; i < 2; ++i) {
        const ibv_wc wc = side.completion();
        ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        if (wc.opcode == IBV_WC_RECV) received = wc;
    }
    ibv_ah_attr back{};
    auto* grh = reinterpret_cast<ibv_grh*>(side.memory.data());
    ASSERT_EQ(ibv_init_ah_from_wc(side.context, 1, &received, grh, &back), 0);
    ibv_gid sender{};
    ASSERT_EQ(ibv_query_gid(side.context, 2, last, &sender), 0);
    EXPECT_EQ(std::memcmp(back.grh.dgid.raw, sender.raw, sizeof sender.raw), 0);
    ASSERT_EQ(ibv_query_port(side.context, 2, &port), 0);
    EXPECT_EQ(back.dlid, port.lid);
    EXPECT_EQ(ibv_destroy_ah(handle), 0);
    for (ibv_qp* qp : qps) EXPECT_EQ(ibv_destroy_qp(qp), 0);
    side.qp = nullptr;
    EXPECT_TRUE(side.close());
}

// ---- the connection manager ---------------------------------------------------------------------

// 127.p.d.1: port p + 1 of device d.
sockaddr_in address_of(uint8_t port, uint32_t device, uint16_t number = 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(0x7f00'0001u | (port - 1u) << 16 | device << 8);
    address.sin_port = htons(number);
    return address;
}

ibv_qp_init_attr small() {
    ibv_qp_init_attr init{};
    init.cap = {4, 4, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    return init;
}

int port_of(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    return ibv_query_qp(qp, &attributes, IBV_QP_PORT | IBV_QP_AV, &init) == 0 &&
                   attributes.port_num == attributes.ah_attr.port_num
               ? attributes.port_num
               : -1;
}

// A message of eight bytes, one way, between two ids.
bool talk(rdma_cm_id* id, bool sends) {
    static char word[8];
    ibv_mr* region = ibv_reg_mr(id->pd, word, sizeof word, IBV_ACCESS_LOCAL_WRITE);
    ibv_sge sge{reinterpret_cast<uint64_t>(word), sizeof word, region->lkey};
    ibv_wc wc{};
    if (sends) {
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        wr.send_flags = IBV_SEND_SIGNALED;
        ibv_send_wr* bad = nullptr;
        if (ibv_post_send(id->qp, &wr, &bad) != 0) return false;
    } else {
        ibv_recv_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        if (ibv_post_recv(id->qp, &wr, &bad) != 0) return false;
    }
    while (ibv_poll_cq(sends ? id->send_cq : id->recv_cq, 1, &wc) == 0) continue;
    return wc.status == IBV_WC_SUCCESS && ibv_dereg_mr(region) == 0;
}

bool serve_at(Side& side, uint8_t port, uint32_t device) {
    rdma_cm_id* listener = nullptr;
    rdma_cm_id* id = nullptr;
    sockaddr_in own = address_of(port, device);
    ibv_qp_init_attr init = small();
    if (rdma_create_id(nullptr, &listener, nullptr, RDMA_PS_TCP) != 0 ||
        rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&own)) != 0 ||
        listener->port_num != port || rdma_listen(listener, 4) != 0)
        return false;
    side.tell(ntohs(rdma_get_src_port(listener)));
    if (rdma_get_request(listener, &id) != 0 || rdma_create_qp(id, nullptr, &init) != 0 ||
        rdma_accept(id, nullptr) != 0)
        return false;
    return id->port_num == port && port_of(id->qp) == port && talk(id, false);
}

TEST(Ports, an_id_has_the_port_whose_address_it_has) {
    for (const uint32_t device : {0u, 1u})
        for (uint8_t here = 1; here <= kPorts; ++here)
            for (uint8_t there = 1; there <= kPorts; ++there)
                two::run([&](Side& side) { return serve_at(side, there, device); },
                         [&](Side& side) {
                             rdma_cm_id* id = nullptr;
                             sockaddr_in own = address_of(here, device);
                             sockaddr_in to = address_of(there, device, side.hear<uint16_t>());
                             ibv_qp_init_attr init = small();
                             ASSERT_EQ(rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP), 0);
                             ASSERT_EQ(rdma_resolve_addr(id, reinterpret_cast<sockaddr*>(&own),
                                                         reinterpret_cast<sockaddr*>(&to), 1000),
                                       0);
                             ASSERT_EQ(rdma_resolve_route(id, 1000), 0);
                             ASSERT_EQ(rdma_create_qp(id, nullptr, &init), 0);
                             ASSERT_EQ(rdma_connect(id, nullptr), 0);
                             EXPECT_EQ(id->port_num, here);
                             EXPECT_EQ(port_of(id->qp), here);
                             EXPECT_TRUE(talk(id, true));
                             rdma_destroy_qp(id);
                             rdma_destroy_id(id);
                         });
}

// An id without an address of its own uses the port with the number of the destination's.
TEST(Ports, an_id_without_an_address_uses_the_port_of_its_destination) {
    rdma_cm_id* id = nullptr;
    sockaddr_in to = address_of(2, 1, 7471);
    ASSERT_EQ(rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP), 0);
    ASSERT_EQ(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 1000), 0);
    EXPECT_EQ(id->port_num, 2);
    EXPECT_STREQ(ibv_get_device_name(id->verbs->device), "tulle1");
    rdma_destroy_id(id);
}

}  // namespace
