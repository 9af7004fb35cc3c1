// The datagrams are what two Linux 6.1 hosts with soft-RoCE (10.77.0.2 and 10.77.0.3) sent each
// other: rping to port 7174 and to a port where nobody listens, udaddy by SIDR. Zeros at the end
// are left out. The expected values are tshark's, but for flow label and packet rate, which it
// reads a byte too early.
#include "wire/mad/cm.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/mad/ip_cm.h"
#include "wire/mad/testing.h"
#include "wire/mad/visit.h"
#include "wire/text.h"

namespace tulle::wire {
namespace {

using namespace testing::captured_cm;
using testing::from_hex;

template <Header Message>
Message message_in(const char* hex) {
    const auto mad = from_hex<256>(hex);
    EXPECT_EQ(parse<MadHeader>(mad)->management_class.value, kClassCommunication);
    EXPECT_EQ(parse<MadHeader>(mad)->method.value, kMethodSend);
    return *parse<Message>(Bytes(mad).subspan(kCmDataOffset));
}

Ipv4Address ipv4_at_the_end_of(const Gid& address) {
    const auto& b = address.bytes;
    return Ipv4Address{{b[12], b[13], b[14], b[15]}};
}

TEST(CmCapture, request_of_rping_opens_a_reliable_connection) {
    const auto req = message_in<CmReq>(kReq);
    EXPECT_EQ(req.local_communication_id.value, 0x38c6acceu);
    EXPECT_EQ(req.service_id, service_id_of({.protocol = kIpCmTcp, .port = 7174}));
    EXPECT_EQ(req.local_ca_guid, Guid{0x505400fffe770002});
    EXPECT_EQ(req.local_qkey, QKey{0});
    EXPECT_EQ(req.local_qpn, Qpn{0x41});
    EXPECT_EQ(req.responder_resources, 1);
    EXPECT_EQ(req.initiator_depth, 1);
    EXPECT_EQ(req.remote_cm_response_timeout, 20);
    EXPECT_EQ(req.transport_service, kCmRc);
    EXPECT_FALSE(req.end_to_end_flow_control);
    EXPECT_EQ(req.starting_psn, Psn{0x655958});
    EXPECT_EQ(req.local_cm_response_timeout, 20);
    EXPECT_EQ(req.retry_count, 7);
    EXPECT_EQ(req.pkey, kDefaultPKey);
    EXPECT_EQ(req.path_mtu, 3);
    EXPECT_FALSE(req.rdc_exists);
    EXPECT_EQ(req.rnr_retry_count, 7);
    EXPECT_EQ(req.max_cm_retries, 15);
    EXPECT_FALSE(req.srq);
    EXPECT_EQ(req.extended_transport, 0);
}

TEST(CmCapture, request_of_rping_names_its_path_by_mapped_addresses) {
    const auto req = message_in<CmReq>(kReq);
    EXPECT_EQ(req.primary.local_lid, kPermissiveLid);
    EXPECT_EQ(req.primary.remote_lid, kPermissiveLid);
    EXPECT_EQ(to_string(req.primary.local_gid), "::ffff:10.77.0.2");
    EXPECT_EQ(to_string(req.primary.remote_gid), "::ffff:10.77.0.3");
    EXPECT_EQ(req.primary.flow_label.value, 0x9472eu);
    EXPECT_EQ(req.primary.packet_rate, 0);
    EXPECT_EQ(req.primary.hop_limit, 64);
    EXPECT_EQ(req.primary.service_level, 0);
    EXPECT_FALSE(req.primary.subnet_local);
    EXPECT_EQ(req.primary.local_ack_timeout, 19);
    EXPECT_EQ(req.alternate.local_lid, Lid{0});
    EXPECT_EQ(req.alternate.local_gid, Gid{});
}

TEST(CmCapture, request_of_rping_carries_ip_addresses_in_its_private_data) {
    const auto header = attribute_in<IpCmHeader>(message_in<CmReq>(kReq).private_data);
    EXPECT_EQ(header.major_version, 0);
    EXPECT_EQ(header.minor_version, 0);
    EXPECT_EQ(header.ip_version, 4);
    EXPECT_EQ(header.source_port, 0xcfd8);
    EXPECT_EQ(to_string(ipv4_at_the_end_of(header.source)), "10.77.0.2");
    EXPECT_EQ(to_string(ipv4_at_the_end_of(header.destination)), "10.77.0.3");
}

TEST(CmCapture, reply_of_rping_tells_the_other_queue_pair) {
    const auto rep = message_in<CmRep>(kRep);
    EXPECT_EQ(rep.local_communication_id.value, 0xc67d35b8u);
    EXPECT_EQ(rep.remote_communication_id.value, 0x38c6acceu);
    EXPECT_EQ(rep.local_qpn, Qpn{0x41});
    EXPECT_EQ(rep.starting_psn, Psn{0xfb14d3});
    EXPECT_EQ(rep.responder_resources, 1);
    EXPECT_EQ(rep.initiator_depth, 1);
    EXPECT_EQ(rep.target_ack_delay, 15);
    EXPECT_EQ(rep.failover_accepted, 0);
    EXPECT_FALSE(rep.end_to_end_flow_control);
    EXPECT_EQ(rep.rnr_retry_count, 7);
    EXPECT_FALSE(rep.srq);
    EXPECT_EQ(rep.local_ca_guid, Guid{0x505400fffe770003});
}

TEST(CmCapture, disconnect_request_names_the_remote_queue_pair) {
    const auto dreq = message_in<CmDreq>(kDreq);
    EXPECT_EQ(dreq.remote_communication_id.value, 0xc67d35b8u);
    EXPECT_EQ(dreq.remote_qpn, Qpn{0x41});
}

TEST(CmCapture, nobody_at_the_port_is_an_invalid_service_id) {
    const auto rej = message_in<CmRej>(kRej);
    EXPECT_EQ(rej.local_communication_id.value, 0u);
    EXPECT_EQ(rej.remote_communication_id.value, 0x3ec6acceu);
    EXPECT_EQ(rej.message_rejected, kCmAnswersReq);
    EXPECT_EQ(rej.reject_info_length, 0);
    EXPECT_EQ(rej.reason, kCmRejectInvalidServiceId);
    EXPECT_EQ(cm_reject_reason_name(rej.reason), "invalid service ID");
}

TEST(CmCapture, sidr_finds_the_queue_pair_of_a_datagram_service) {
    const auto req = message_in<CmSidrReq>(kSidrReq);
    EXPECT_EQ(req.request_id.value, 0x3cc6acceu);
    EXPECT_EQ(req.pkey, kDefaultPKey);
    EXPECT_EQ(ip_cm_service(req.service_id), (IpCmService{.protocol = kIpCmUdp, .port = 7174}));
    const auto header = attribute_in<IpCmHeader>(req.private_data);
    EXPECT_EQ(header.source_port, 0x8d05);
    EXPECT_EQ(to_string(ipv4_at_the_end_of(header.destination)), "10.77.0.3");

    const auto rep = message_in<CmSidrRep>(kSidrRep);
    EXPECT_EQ(rep.request_id, req.request_id);
    EXPECT_EQ(rep.status, kSidrValid);
    EXPECT_EQ(rep.qpn, Qpn{0x45});
    EXPECT_EQ(rep.service_id, req.service_id);
    EXPECT_EQ(rep.qkey, QKey{0x01234567});
}

TEST(CmCapture, every_captured_message_is_understood) {
    for (const char* hex : {kReq, kRep, kDreq, kRej, kSidrReq, kSidrRep}) {
        const auto mad = from_hex<256>(hex);
        EXPECT_TRUE(visit_mad(mad, [](const char*, const auto&) {})) << hex;
    }
}

TEST(Cm, messages_that_were_not_captured_have_their_fields_where_the_specification_puts_them) {
    const auto mra = parse<CmMra>(from_hex<232>("00000001 00000002 40 a0 77"));
    EXPECT_EQ(mra->message_mraed, kCmAnswersRep);
    EXPECT_EQ(mra->service_timeout, 20);
    EXPECT_EQ(mra->private_data[0], 0x77);
    const auto apr = parse<CmApr>(from_hex<232>("00000001 00000002 03 06 0000 aabbcc"));
    EXPECT_EQ(apr->additional_info_length, 3);
    EXPECT_EQ(cm_apr_status_name(apr->status), "queue pair does not match");
    EXPECT_EQ(apr->additional_info[2], 0xcc);
    const auto lap = parse<CmLap>(from_hex<232>(R"(00000001 00000002 00000000 000041 a0 00000000
        0003 0004 fe800000000000000000000000000003 fe800000000000000000000000000004
        12345 0 a1 40 10 58 98 77)"));
    EXPECT_EQ(lap->remote_qpn, Qpn{0x41});
    EXPECT_EQ(lap->remote_cm_response_timeout, 20);
    EXPECT_EQ(lap->alternate_remote_lid, Lid{4});
    EXPECT_EQ(lap->alternate_remote_gid.bytes[15], 4);
    EXPECT_EQ(lap->alternate_flow_label.value, 0x12345u);
    EXPECT_EQ(lap->alternate_traffic_class, 0xa1);
    EXPECT_EQ(lap->alternate_hop_limit, 0x40);
    EXPECT_EQ(lap->alternate_packet_rate, 16);
    EXPECT_EQ(lap->alternate_service_level, 5);
    EXPECT_TRUE(lap->alternate_subnet_local);
    EXPECT_EQ(lap->alternate_local_ack_timeout, 19);
    EXPECT_EQ(lap->private_data[0], 0x77);
}

TEST(Cm, names_of_reasons_and_states) {
    EXPECT_EQ(cm_reject_reason_name(28), "consumer reject");
    EXPECT_EQ(cm_reject_reason_name(0), "reserved");
    EXPECT_EQ(cm_reject_reason_name(34), "reserved");
    EXPECT_EQ(cm_reject_reason_name(60000), "reserved");
    EXPECT_EQ(cm_sidr_status_name(kSidrNoQp), "no queue pair available");
    EXPECT_EQ(cm_apr_status_name(99), "reserved");
}

TEST(IpCm, service_ids_of_other_services_have_no_port) {
    EXPECT_EQ(service_id_of({.protocol = 6, .port = 7174}), Key64{0x0000000001061c06});
    EXPECT_EQ(ip_cm_service(Key64{0x1000000001061c06}), std::nullopt);
}

}  // namespace
}  // namespace tulle::wire
