// Packets through real sockets of the loopback interface, each test on an address of its own there.
#include "live/udp_path.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>

#include "live/management_layout.h"
#include "wire/mad/mad.h"
#include "wire/testing.h"

namespace tulle::live {
namespace {

wire::Gid address_of(uint8_t test, uint8_t host) {
    const auto process = static_cast<uint8_t>(getpid() % 250 + 1);
    return wire::gid_of(wire::Ipv4Address{{127, process, test, host}});
}

class Machine {
public:
    explicit Machine(const wire::Gid& gid) : address(gid) {
        UdpAddress listened;
        listened.gid = gid;
        auto opened = UdpPath::open({listened});
        EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
        path = std::move(*opened);
    }
    // Everything that has come; waits for the first.
    std::vector<wire::Packet> take() {
        pollfd wait{path->sockets().files()[0], POLLIN, 0};
        poll(&wait, 1, 5000);
        std::vector<wire::Packet> packets;
        payloads.clear();
        const auto keep = [&](const UdpArrival& arrival) {
            source_port = arrival.source_port;
            const auto packet = path->read(arrival);
            if (!packet) return;
            packets.push_back(*packet);
            payloads.emplace_back(packet->payload.address(),
                                  packet->payload.address() + packet->payload_length);
        };
        while (path->sockets().receive(keep)) continue;
        return packets;
    }

    wire::Gid address;
    std::unique_ptr<UdpPath> path;
    std::vector<std::vector<std::byte>> payloads;
    uint16_t source_port = 0;
};

wire::Packet packet_with(const std::vector<std::byte>& payload, uint32_t psn) {
    wire::Packet packet;
    packet.opcode = wire::opcode_of(wire::Service::rc, wire::Operation::send_middle);
    packet.set_dest_qp({0x1234});
    packet.set_psn({psn});
    packet.entropy = 0xc003;
    packet.payload = wire::Payload::memory(payload.data());
    packet.payload_length = static_cast<uint32_t>(payload.size());
    return packet;
}

TEST(UdpPath, packets_of_one_size_go_together_and_come_apart) {
    Machine here(address_of(1, 1));
    Machine there(address_of(1, 2));
    wire::testing::Random random(1);
    const auto payload = wire::testing::random_bytes(random, 1024);
    for (uint32_t psn = 0; psn < 20; ++psn)
        here.path->send(here.address, there.address, packet_with(payload, psn));
    here.path->sockets().flush();
    std::vector<uint32_t> psns;
    while (psns.size() < 20) {
        const auto packets = there.take();
        ASSERT_FALSE(packets.empty());
        for (size_t i = 0; i < packets.size(); ++i) {
            psns.push_back(packets[i].psn().value);
            EXPECT_EQ(there.payloads[i], payload);
        }
    }
    EXPECT_TRUE(std::ranges::is_sorted(psns));
    EXPECT_EQ(here.path->sockets().counts().calls_out, 1u);
    EXPECT_EQ(there.path->counts().damaged, 0u);
    EXPECT_GE(there.source_port, 0xc000);
}

TEST(UdpPath, queue_pairs_that_take_turns_have_one_call_for_each_port) {
    Machine here(address_of(11, 1));
    Machine there(address_of(11, 2));
    const std::vector<std::byte> payload(1000);
    for (uint32_t psn = 0; psn < 20; ++psn) {
        wire::Packet packet = packet_with(payload, psn);
        packet.entropy = static_cast<uint16_t>(0xc000 + psn % 4);
        here.path->send(here.address, there.address, packet);
    }
    here.path->sockets().flush();
    EXPECT_TRUE(here.path->sockets().is_empty());
    EXPECT_EQ(here.path->sockets().counts().calls_out, 4u);
    size_t come = 0;
    while (come < 20) {
        const size_t some = there.take().size();
        ASSERT_NE(some, 0u);
        come += some;
    }
    EXPECT_EQ(there.path->counts().damaged, 0u);
    EXPECT_EQ(there.path->counts().solved, 0u);
}

wire::Packet acknowledgement(uint32_t psn) {
    wire::Packet packet = packet_with({}, psn);
    packet.opcode = wire::opcode_of(wire::Service::rc, wire::Operation::acknowledge);
    return packet;
}

std::vector<uint32_t> psns_until(Machine& there, size_t count) {
    std::vector<uint32_t> psns;
    while (psns.size() < count) {
        const auto packets = there.take();
        if (packets.empty()) break;
        for (const wire::Packet& packet : packets) psns.push_back(packet.psn().value);
    }
    return psns;
}

TEST(UdpPath, a_longer_packet_goes_before_an_acknowledgement_in_one_call) {
    Machine here(address_of(9, 1));
    Machine there(address_of(9, 2));
    const std::vector<std::byte> payload(100);
    here.path->send(here.address, there.address, acknowledgement(1));
    here.path->send(here.address, there.address, packet_with(payload, 2));
    here.path->sockets().flush();
    EXPECT_EQ(psns_until(there, 2), (std::vector<uint32_t>{2, 1}));
    EXPECT_EQ(here.path->sockets().counts().calls_out, 1u);
    EXPECT_EQ(there.path->sockets().counts().calls_in, 1u);
    EXPECT_EQ(there.path->counts().damaged, 0u);
    EXPECT_EQ(there.path->counts().solved, 0u);
}

TEST(UdpPath, what_is_no_acknowledgement_keeps_its_place) {
    Machine here(address_of(10, 1));
    Machine there(address_of(10, 2));
    const std::vector<std::byte> payload(100);
    here.path->send(here.address, there.address, packet_with({}, 1));
    here.path->send(here.address, there.address, packet_with(payload, 2));
    here.path->send(here.address, there.address, acknowledgement(3));
    here.path->send(here.address, there.address, acknowledgement(4));
    here.path->sockets().flush();
    EXPECT_EQ(psns_until(there, 4), (std::vector<uint32_t>{1, 2, 3, 4}));
    EXPECT_EQ(there.path->counts().damaged, 0u);
}

// A stranger who writes anything at all: nothing is taken, nothing breaks, all is counted.
TEST(UdpPath, bytes_of_a_stranger_are_counted_and_dropped) {
    Machine there(address_of(3, 2));
    const int socket = static_cast<int>(syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_GE(socket, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(4791);
    std::memcpy(&to.sin_addr, there.address.bytes.data() + 12, 4);
    wire::testing::Random random(3);
    uint64_t taken = 0;
    for (uint32_t i = 0; i < 3000; ++i) {
        const auto bytes = wire::testing::random_bytes(random, 1 + random() % 300);
        sendto(socket, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
        if (i % 100 == 99) taken += there.take().size();
    }
    close(socket);
    const auto& counts = there.path->counts();
    EXPECT_EQ(taken, counts.solved);
    EXPECT_LE(counts.solved, 1u);  // one in 65,536
    EXPECT_GT(counts.damaged, 100u);
    EXPECT_GT(counts.malformed, 100u);
}

TEST(UdpPath, any_bit_that_is_turned_makes_a_packet_damaged) {
    Machine here(address_of(4, 1));
    Machine there(address_of(4, 2));
    wire::testing::Random random(4);
    const auto payload = wire::testing::random_bytes(random, 64);
    wire::Path path;
    path.source.gid = here.address;
    path.destination.gid = there.address;
    std::array<std::byte, 256> room;
    const size_t size = wire::encode(packet_with(payload, 9), path, payload, room);
    here.path->send_frame(here.address, there.address, std::span(room).first(size));
    here.path->sockets().flush();
    EXPECT_EQ(there.take().size(), 1u);
    for (size_t bit = (14 + 28 + 12) * 8; bit < size * 8; bit += 13) {
        room[bit / 8] ^= std::byte{1} << bit % 8;
        here.path->send_frame(here.address, there.address, std::span(room).first(size));
        here.path->sockets().flush();
        EXPECT_EQ(there.take().size(), 0u) << bit;
        room[bit / 8] ^= std::byte{1} << bit % 8;
    }
}

void send_without_checksum(const sockaddr_in6& to) {
    constexpr int kNoChecksum = 101;  // UDP_NO_CHECK6_TX
    const int socket =
        static_cast<int>(syscall(SYS_socket, AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    ASSERT_EQ(setsockopt(socket, IPPROTO_UDP, kNoChecksum, &yes, sizeof yes), 0);
    const std::array<std::byte, 3> bytes{};
    sendto(socket, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to),
           sizeof to);
    close(socket);
}

// Adapters and the kernel's RoCE leave the UDP checksum out, which only IPv4 allows by itself.
// There is one such address, which the same test of another process may share: some will come.
TEST(UdpPath, a_datagram_over_ipv6_needs_no_checksum) {
    wire::Gid loopback;
    loopback.bytes[15] = 1;
    Machine there(loopback);
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(4791);
    to.sin6_addr = in6addr_loopback;
    for (int i = 0; i < 16; ++i) send_without_checksum(to);
    there.take();
    EXPECT_GT(there.path->sockets().counts().received, 0u);
}

// The place of a socket among those that share the port, by the probe that it got.
uint32_t place_by_probe(Machine& machine) {
    pollfd wait{machine.path->sockets().files()[0], POLLIN, 0};
    poll(&wait, 1, 5000);
    uint32_t place = 99;
    machine.path->sockets().receive([&](const UdpArrival& arrival) {
        if (const auto said = UdpSockets::place_in_probe(arrival)) place = *said;
    });
    return place;
}

TEST(UdpSockets, processes_that_share_a_port_get_what_is_for_their_slots) {
    const wire::Gid shared = address_of(5, 1);
    Machine first(shared);
    Machine second(shared);
    Machine client(address_of(5, 2));
    first.path->sockets().probe(2);
    const uint32_t place = place_by_probe(first);
    EXPECT_EQ(place + place_by_probe(second), 1u);
    const std::array<UdpSockets::Steering, 2> table{{{3, place}, {7, 1 - place}}};
    second.path->sockets().steer(shared, table);
    wire::testing::Random random(5);
    const auto payload = wire::testing::random_bytes(random, 32);
    for (uint32_t i = 0; i < 40; ++i) {
        const uint32_t slot = i % 2 == 0 ? 3 : 7;
        wire::Packet packet = packet_with(payload, i);
        packet.set_dest_qp({slot << 12 | 5});
        packet.entropy = static_cast<uint16_t>(0xc000 + i);
        client.path->send(client.address, shared, packet);
        client.path->sockets().flush();
        const auto taken = (slot == 3 ? first : second).take();
        ASSERT_EQ(taken.size(), 1u);
        EXPECT_EQ(taken[0].psn().value, i);
    }
}

// A message of the connection manager with so much in it as says whom it is for.
std::vector<std::byte> message_with(uint16_t attribute, size_t at, uint8_t value) {
    std::vector<std::byte> bytes(wire::kMadSize);
    bytes[management::kAttributeAt] = static_cast<std::byte>(attribute >> 8);
    bytes[management::kAttributeAt + 1] = static_cast<std::byte>(attribute);
    bytes[management::kServiceAt + 4] = std::byte{1};  // of the IP CM service
    bytes[management::kServiceAt + 5] = std::byte{6};  // TCP
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
}

wire::Packet management_packet(const std::vector<std::byte>& message, uint32_t psn) {
    wire::Packet packet = packet_with(message, psn);
    packet.opcode = wire::opcode_of(wire::Service::ud, wire::Operation::send_only);
    packet.set_dest_qp({management::kQueuePair});
    packet.extended.send.qkey = wire::kGsiQKey;
    packet.entropy = static_cast<uint16_t>(0xc000 + psn);
    return packet;
}

// One that lies in the socket of another process is lost if that one ends.
TEST(UdpSockets, messages_of_the_connection_manager_come_to_whom_they_name) {
    constexpr uint16_t kReply = 0x0013;
    constexpr size_t kPortAt = management::kServiceAt + 7;
    const wire::Gid shared = address_of(6, 1);
    Machine first(shared);
    Machine second(shared);
    Machine client(address_of(6, 2));
    first.path->sockets().probe(2);
    const uint32_t place = place_by_probe(first);
    ASSERT_EQ(place + place_by_probe(second), 1u);
    const std::array<UdpSockets::Steering, 2> slots{{{3, place}, {7, 1 - place}}};
    const std::array<UdpSockets::PortSteering, 2> ports{
        {{6 << 16 | 20, place}, {6 << 16 | 21, 1 - place}}};
    second.path->sockets().steer(shared, slots, ports);
    const struct {
        std::vector<std::byte> message;
        Machine& receiver;
    } cases[] = {
        {message_with(management::kConnectRequest, kPortAt, 20), first},
        {message_with(management::kConnectRequest, kPortAt, 21), second},
        {message_with(management::kServiceRequest, kPortAt, 20), first},
        {message_with(management::kServiceRequest, kPortAt, 21), second},
        {message_with(management::kServiceReply, management::kFirstIdAt, 3), first},
        {message_with(management::kServiceReply, management::kFirstIdAt, 7), second},
        {message_with(kReply, management::kSecondIdAt, 3), first},
        {message_with(kReply, management::kSecondIdAt, 7), second},
    };
    uint32_t psn = 0;
    for (int round = 0; round < 8; ++round) {  // from each of the ports that are sent from
        for (const auto& one : cases) {
            const wire::Packet packet = management_packet(one.message, ++psn);
            client.path->send(client.address, shared, packet);
            client.path->sockets().flush();
            const auto taken = one.receiver.take();
            ASSERT_EQ(taken.size(), 1u) << psn;
            EXPECT_EQ(taken[0].psn().value, psn);
        }
    }
}

TEST(UdpSockets, messages_of_the_connection_manager_go_one_by_one) {
    Machine client(address_of(7, 1));
    Machine server(address_of(7, 2));
    const auto message = message_with(management::kConnectRequest, management::kServiceAt + 7, 20);
    for (uint32_t psn = 0; psn < 3; ++psn) {
        wire::Packet packet = management_packet(message, psn);
        packet.entropy = 0xc000;
        client.path->send(client.address, server.address, packet);
    }
    client.path->sockets().flush();
    size_t come = 0;
    while (come < 3) {
        pollfd wait{server.path->sockets().files()[0], POLLIN, 0};
        ASSERT_EQ(poll(&wait, 1, 5000), 1);
        server.path->sockets().receive([&](const UdpArrival& arrival) {
            EXPECT_EQ(arrival.place, 0) << "it came together with another one";
            ++come;
        });
    }
}

// A group that was joined is received from, and has no source ports.
TEST(UdpSockets, a_group_is_no_address_to_send_from) {
    const wire::Gid shared = address_of(8, 1);
    Machine first(shared);
    Machine second(shared);
    const wire::Gid group = wire::gid_of(wire::Ipv4Address{{239, 255, 77, 8}});
    UdpAddress own;
    own.gid = shared;
    own.interface_number = if_nametoindex("lo");
    ASSERT_GE(first.path->sockets().join(group, own), 0);
    EXPECT_TRUE(first.path->sockets().reserve({group, group, 0, 0, 64}).bytes.empty());
    first.path->sockets().probe(2);
    EXPECT_EQ(place_by_probe(first) + place_by_probe(second), 1u);
}

// The kernel reports it at the next packet, which is for another machine.
TEST(UdpSockets, a_packet_is_not_lost_with_the_report_about_another) {
    Machine here(address_of(9, 1));
    Machine there(address_of(9, 2));
    const wire::Gid nobody = address_of(9, 3);
    UdpSockets& sockets = here.path->sockets();
    const std::vector<std::byte> payload(32);
    for (uint32_t psn = 0; psn < 5; ++psn) {
        here.path->send(here.address, nobody, packet_with(payload, psn));
        sockets.flush();
        here.path->send(here.address, there.address, packet_with(payload, psn));
        sockets.flush();
        const auto taken = there.take();
        ASSERT_EQ(taken.size(), 1u);
        EXPECT_EQ(taken[0].psn().value, psn);
    }
    EXPECT_EQ(sockets.error_of(nobody), ECONNREFUSED);
    EXPECT_EQ(sockets.error_of(there.address), 0);
    uint32_t reports = 0;
    EXPECT_TRUE(sockets.has_new_errors());
    sockets.take_new_errors([&](const UdpSockets::Error& error) {
        EXPECT_EQ(error.about, nobody);
        EXPECT_EQ(error.number, ECONNREFUSED);
        EXPECT_EQ(error.quoted.size(), wire::Bth::kSize + payload.size() + wire::kIcrcSize);
        EXPECT_EQ(error.quoted[0], static_cast<std::byte>(packet_with(payload, 0).opcode));
        ++reports;
    });
    EXPECT_GT(reports, 0u);
    EXPECT_FALSE(sockets.has_new_errors());
}

}  // namespace
}  // namespace tulle::live
