// Multicast: one datagram for all who have joined, at the sender's own adapter too.
#include <gtest/gtest.h>

#include <memory>

#include "pair.h"

namespace tulle::transport {
namespace {

constexpr MulticastGroup kGroup{0x77};
constexpr MulticastGroup kOtherGroup{0x78};
constexpr Qpn kMulticastQpn{0xff'ffff};

// Three hosts on a switch that floods: what goes to a group reaches every port but the one that it
// came in by.
class Network {
public:
    Network() {
        for (uint32_t i = 1; i <= 3; ++i) {
            hosts_.push_back(
                std::make_unique<Host>(EndpointIndex{i}, PairOptions{.type = QpType::ud}));
            host(i).connect(host(i), {}, {});
            host(i).post_receive(kReceiveArea, 4096, i);
            host(i).post_receive(kReceiveArea + 4096, 4096, 10 + i);
        }
    }

    Host& host(uint32_t number) { return *hosts_[number - 1]; }

    Refusal send(uint32_t from, MulticastGroup group, uint32_t length = 100) {
        return host(from).post({.length = length,
                                .datagram = DatagramTarget{.endpoint = EndpointIndex{group.value},
                                                           .qpn = kMulticastQpn,
                                                           .qkey = QKey{0x1234}}});
    }

    void run() {
        for (auto& from : hosts_) {
            Packet packet;
            while (from->adapter.poll_transmit({}, Lanes::open(), packet))
                for (auto& to : hosts_)
                    if (to != from) to->adapter.on_packet({}, packet);
        }
        for (auto& each : hosts_) each->drain();
    }

    void join(uint32_t number, MulticastGroup group) {
        EXPECT_EQ(host(number).adapter.multicast().attach(host(number).qpn, group), Refusal::none);
    }

private:
    std::vector<std::unique_ptr<Host>> hosts_;
};

TEST(Multicast, a_datagram_reaches_the_members_at_every_adapter_and_at_the_senders_own) {
    Network network;
    for (const uint32_t member : {1u, 2u, 3u}) network.join(member, kGroup);
    EXPECT_EQ(network.send(1, kGroup), Refusal::none);
    network.run();
    EXPECT_EQ(network.host(1).completion().status, Status::success);
    for (const uint32_t member : {1u, 2u, 3u}) {
        Host& host = network.host(member);
        const Completion received = host.receive_completion();
        EXPECT_EQ(received.byte_count, 140u);
        EXPECT_EQ(received.source, EndpointIndex{1});
        EXPECT_EQ(received.source_qp, network.host(1).qpn);
        EXPECT_TRUE(same_bytes(network.host(1), 0, host, kReceiveArea + 40, 100));
        EXPECT_TRUE(host.receives.empty());
    }
}

TEST(Multicast, a_sender_need_not_be_a_member) {
    Network network;
    network.join(2, kGroup);
    network.join(3, kOtherGroup);
    EXPECT_EQ(network.send(1, kGroup), Refusal::none);
    network.run();
    EXPECT_EQ(network.host(2).receives.size(), 1u);
    EXPECT_TRUE(network.host(1).receives.empty());
    EXPECT_TRUE(network.host(3).receives.empty());
}

TEST(Multicast, another_queue_pair_of_the_senders_adapter_hears_it_too) {
    Network network;
    Host& host = network.host(1);
    const Qpn sender = host.qpn;
    host.qpn = host.create_qp();
    host.connect(host, {}, {});
    host.post_receive(kReceiveArea + 8192, 4096, 99);
    network.join(1, kGroup);
    host.qpn = sender;
    EXPECT_EQ(network.send(1, kGroup), Refusal::none);
    network.run();
    ASSERT_EQ(host.receives.size(), 1u);
    EXPECT_EQ(host.receives.front().id, 99u);
}

TEST(Multicast, a_member_whose_receive_fails_does_not_keep_it_from_the_others) {
    Network network;
    for (const uint32_t member : {1u, 2u, 3u}) network.join(member, kGroup);
    Host& host = network.host(1);
    EXPECT_EQ(host.adapter.memory().deregister_region(host.key), Refusal::none);
    host.key = *host.adapter.memory().register_region(
        {host.pd, Host::kBase, Host::kMemory, host.memory.data(), kLocalWrite});
    EXPECT_EQ(network.send(1, kGroup), Refusal::none);
    network.run();
    EXPECT_EQ(host.completion().status, Status::success);
    EXPECT_EQ(host.receive_completion().status, Status::local_protection_error);
    EXPECT_EQ(host.state(), QpState::error);
    EXPECT_EQ(network.host(2).receives.size(), 1u);
    EXPECT_EQ(network.host(3).receives.size(), 1u);
}

}  // namespace
}  // namespace tulle::transport
