// The connection manager on a host with several adapters, by addresses: 127.0.d.1 is device d of
// host 0. Run by `tulle run --devices 4`.
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include <set>
#include <string>

#include "two.h"

namespace {

using two::Side;

constexpr uint32_t kDevices = 4;

sockaddr_in address_of(uint32_t device, uint16_t port = 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(0x7f00'0001 | device << 8);
    address.sin_port = htons(port);
    return address;
}

std::string name_of(uint32_t device) {
    return "tulle" + std::to_string(device);
}

// An id without a channel, whose calls wait for their event.
struct End {
    End() {
        if (rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP) != 0) std::abort();
    }
    explicit End(rdma_cm_id* accepted) : id(accepted) {}
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    ~End() {
        rdma_destroy_qp(id);
        if (region != nullptr) ibv_dereg_mr(region);
        rdma_destroy_id(id);
    }

    bool bind(sockaddr_in address) const {
        return rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) == 0;
    }
    uint16_t port() const { return ntohs(rdma_get_src_port(id)); }
    std::string device() const { return ibv_get_device_name(id->verbs->device); }
    bool resolve(sockaddr_in to) const {
        return rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 1000) == 0 &&
               rdma_resolve_route(id, 1000) == 0;
    }
    bool make() {
        ibv_qp_init_attr init{};
        init.cap = {4, 4, 1, 1, 0};
        init.qp_type = IBV_QPT_RC;
        if (rdma_create_qp(id, nullptr, &init) != 0) return false;
        region = ibv_reg_mr(id->pd, word, sizeof word, IBV_ACCESS_LOCAL_WRITE);
        return region != nullptr;
    }
    bool receive() {
        ibv_sge sge{reinterpret_cast<uint64_t>(word), sizeof word, region->lkey};
        ibv_recv_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        return ibv_post_recv(id->qp, &wr, &bad) == 0;
    }
    bool send(char what) {
        word[0] = what;
        ibv_sge sge{reinterpret_cast<uint64_t>(word), sizeof word, region->lkey};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        wr.send_flags = IBV_SEND_SIGNALED;
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(id->qp, &wr, &bad) == 0 && completion(id->send_cq);
    }
    bool completion(ibv_cq* cq) const {
        ibv_wc wc{};
        while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
        return wc.status == IBV_WC_SUCCESS;
    }

    rdma_cm_id* id = nullptr;
    ibv_mr* region = nullptr;
    char word[8] = {};
};

// Takes one request, and the message sent over it.
bool serve_once(const End& listener, const std::string& device, char expected) {
    rdma_cm_id* request = nullptr;
    if (rdma_get_request(listener.id, &request) != 0) return false;
    End end(request);
    if (end.device() != device || !end.make() || !end.receive()) return false;
    if (rdma_accept(request, nullptr) != 0) return false;
    return end.completion(request->recv_cq) && end.word[0] == expected;
}

void send_once(sockaddr_in to, const std::string& device, char what) {
    End end;
    ASSERT_TRUE(end.resolve(to));
    EXPECT_EQ(end.device(), device);
    ASSERT_TRUE(end.make());
    ASSERT_EQ(rdma_connect(end.id, nullptr), 0);
    EXPECT_TRUE(end.send(what));
}

TEST(Rails, all_devices_are_listed) {
    int count = 0;
    ibv_context** list = rdma_get_devices(&count);
    ASSERT_EQ(count, int{kDevices});
    for (uint32_t i = 0; i < kDevices; ++i)
        EXPECT_EQ(ibv_get_device_name(list[i]->device), name_of(i));
    EXPECT_EQ(list[kDevices], nullptr);
    rdma_free_devices(list);
}

TEST(Rails, an_id_has_the_device_whose_address_it_is_bound_to) {
    for (uint32_t device = 0; device < kDevices; ++device) {
        const End end;
        ASSERT_TRUE(end.bind(address_of(device)));
        EXPECT_EQ(end.device(), name_of(device));
    }
}

TEST(Rails, a_port_is_taken_at_one_device_or_at_all) {
    const End first;
    ASSERT_TRUE(first.bind(address_of(1)));
    const End second;
    EXPECT_FALSE(second.bind(address_of(1, first.port())));
    EXPECT_EQ(errno, EADDRINUSE);
    const End third;
    EXPECT_TRUE(third.bind(address_of(2, first.port())));
    const End all;
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(first.port());
    EXPECT_FALSE(all.bind(any));
    EXPECT_EQ(errno, EADDRINUSE);
}

// One listener per device, all on the same port.
TEST(Rails, a_listener_of_each_device_is_found_by_its_address) {
    two::run(
        [](Side& side) {
            std::vector<std::unique_ptr<End>> listeners;
            uint16_t port = 0;
            for (uint32_t device = 0; device < kDevices; ++device) {
                listeners.push_back(std::make_unique<End>());
                if (!listeners.back()->bind(address_of(device, port))) return false;
                port = listeners.back()->port();
                if (rdma_listen(listeners.back()->id, 4) != 0) return false;
            }
            side.tell(port);
            for (uint32_t device = 0; device < kDevices; ++device)
                if (!serve_once(*listeners[device], name_of(device), static_cast<char>(device)))
                    return false;
            return true;
        },
        [](Side& side) {
            const auto port = side.hear<uint16_t>();
            for (uint32_t device = 0; device < kDevices; ++device)
                send_once(address_of(device, port), name_of(device), static_cast<char>(device));
        });
}

TEST(Rails, a_listener_without_an_address_hears_at_all_devices) {
    two::run(
        [](Side& side) {
            const End listener;
            sockaddr_in any{};
            any.sin_family = AF_INET;
            if (!listener.bind(any) || rdma_listen(listener.id, 4) != 0) return false;
            side.tell(listener.port());
            for (uint32_t device = kDevices; device-- > 0;)
                if (!serve_once(listener, name_of(device), static_cast<char>(device))) return false;
            return true;
        },
        [](Side& side) {
            const auto port = side.hear<uint16_t>();
            for (uint32_t device = kDevices; device-- > 0;)
                send_once(address_of(device, port), name_of(device), static_cast<char>(device));
        });
}

// The source address decides where from, whatever the destination is.
TEST(Rails, devices_of_different_numbers_reach_each_other) {
    two::run(
        [](Side& side) {
            const End listener;
            if (!listener.bind(address_of(3)) || rdma_listen(listener.id, 4) != 0) return false;
            side.tell(listener.port());
            return serve_once(listener, name_of(3), 'x');
        },
        [](Side& side) {
            End end;
            ASSERT_TRUE(end.bind(address_of(2)));
            ASSERT_TRUE(end.resolve(address_of(3, side.hear<uint16_t>())));
            EXPECT_EQ(end.device(), name_of(2));
            ASSERT_TRUE(end.make());
            ASSERT_EQ(rdma_connect(end.id, nullptr), 0);
            EXPECT_TRUE(end.send('x'));
        });
}

// A destroyed listener gets no more requests, at any device.
TEST(Rails, a_listener_that_is_gone_is_found_nowhere) {
    uint16_t port = 0;
    {
        const End listener;
        sockaddr_in any{};
        any.sin_family = AF_INET;
        ASSERT_TRUE(listener.bind(any));
        ASSERT_EQ(rdma_listen(listener.id, 4), 0);
        port = listener.port();
    }
    for (uint32_t device = 0; device < kDevices; ++device) {
        End end;
        ASSERT_TRUE(end.resolve(address_of(device, port)));
        ASSERT_TRUE(end.make());
        EXPECT_NE(rdma_connect(end.id, nullptr), 0);
        EXPECT_EQ(errno, ECONNREFUSED);
    }
}

}  // namespace
