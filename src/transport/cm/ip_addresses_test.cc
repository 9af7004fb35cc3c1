// Annex A11: requests that carry IP addresses.
#include "transport/cm/ip_addresses.h"

#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

const wire::Key64 kPort = wire::service_id_of({.protocol = wire::kIpCmTcp, .port = 7174});

IpAddresses ipv4() {
    return {wire::gid_of(wire::Ipv4Address{{192, 0, 2, 1}}),
            wire::gid_of(wire::Ipv4Address{{192, 0, 2, 2}}), 40'000};
}

IpAddresses ipv6() {
    return {wire::Gid{{0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}},
            wire::Gid{{0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}}, 40'001};
}

TEST(CmIpAddresses, both_families_survive_the_message) {
    for (const IpAddresses& addresses : {ipv4(), ipv6()})
        EXPECT_EQ(ip_addresses_in(ip_cm_header(addresses)), addresses);
    EXPECT_EQ(ip_cm_header(ipv4()).ip_version, 4);
    EXPECT_EQ(ip_cm_header(ipv4()).source.bytes[10], 0);  // not the mapped form of a GID table
    EXPECT_EQ(ip_cm_header(ipv6()).ip_version, 6);
}

TEST(CmIpAddresses, versions_that_the_annex_does_not_know_give_none) {
    wire::IpCmHeader header = ip_cm_header(ipv4());
    header.major_version = 1;
    EXPECT_FALSE(ip_addresses_in(header));
    header = ip_cm_header(ipv4());
    header.ip_version = 5;
    EXPECT_FALSE(ip_addresses_in(header));
}

TEST(CmIpAddresses, the_server_sees_addresses_ports_and_the_programs_own_data) {
    CmPair pair;
    EXPECT_EQ(pair.server.manager.listen(kPort).status, CmStatus::ok);
    ConnectRequest request = sample_request();
    request.service_id = kPort;
    request.ip = ipv4();
    request.private_data = bytes_of("mine");
    EXPECT_EQ(pair.client.manager.connect(pair.now(), request).status, CmStatus::ok);
    pair.run_for(10_us);
    const auto arrived = pair.server.take<CmRequestArrived>().second;
    EXPECT_EQ(arrived.ip, ipv4());
    EXPECT_EQ(wire::ip_cm_service(arrived.message.service_id)->port, 7174);
    EXPECT_EQ(arrived.private_data().size(), 56u);
    EXPECT_EQ(arrived.private_data()[0], 'm');
}

TEST(CmIpAddresses, a_datagram_service_is_asked_for_in_the_same_way) {
    CmPair pair;
    EXPECT_EQ(pair.server.manager.listen(kPort).status, CmStatus::ok);
    const ServiceRequest request{
        .endpoint = 2, .service_id = kPort, .ip = ipv6(), .private_data = bytes_of("mine")};
    EXPECT_EQ(pair.client.manager.resolve_service(pair.now(), request).status, CmStatus::ok);
    pair.run_for(10_us);
    const auto arrived = pair.server.take<CmServiceRequested>().second;
    EXPECT_EQ(arrived.ip, ipv6());
    EXPECT_EQ(arrived.private_data()[0], 'm');
}

TEST(CmIpAddresses, what_cannot_be_said_is_refused) {
    ConnectionManager manager = sample_manager(1);
    const std::array<std::byte, 57> large{};
    ConnectRequest request = sample_request();
    request.ip = ipv4();
    EXPECT_EQ(manager.connect({}, request).status, CmStatus::invalid);  // not the service of a port
    request.service_id = kPort;
    request.private_data = large;
    EXPECT_EQ(manager.connect({}, request).status, CmStatus::too_long);
    request.private_data = {};
    request.ip->source = ipv6().source;
    EXPECT_EQ(manager.connect({}, request).status, CmStatus::invalid);  // one of each family
}

}  // namespace
}  // namespace tulle::transport
