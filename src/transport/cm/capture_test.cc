// Replays of what two Linux 6.1 hosts with soft-RoCE sent each other (tests/captures): rping to
// port 7174, rping to a port where nobody listens, udaddy by SIDR. Zeros at the end are left out.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"
#include "wire/mad/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;
using namespace wire::testing::captured_cm;
using wire::testing::from_hex;

CmDatagram captured(const char* hex) {
    return from_hex<wire::kMadSize>(hex);
}

// Our own IDs are drawn at random; the kernel's messages have those of the kernel's peer. Here they
// take their place; everything else stays.
template <class Message>
CmDatagram addressed_to(uint32_t our_id, uint32_t peer_id, const char* hex) {
    const CmDatagram mad = captured(hex);
    auto message = message_in<Message>(mad);
    message.local_communication_id.value = peer_id;
    message.remote_communication_id.value = our_id;
    return cm::datagram(message, wire::parse<wire::MadHeader>(mad)->transaction_id);
}

const wire::Key64 kPort = wire::service_id_of({.protocol = wire::kIpCmTcp, .port = 7174});
const wire::Gid kClientGid = wire::gid_of(wire::Ipv4Address{{10, 77, 0, 2}});
const wire::Gid kServerGid = wire::gid_of(wire::Ipv4Address{{10, 77, 0, 3}});

// What rping asked the kernel for.
ConnectRequest rping_request() {
    ConnectRequest request;
    request.endpoint = 2;
    request.service_id = kPort;
    request.ip = IpAddresses{kClientGid, kServerGid, 0xcfd8};
    request.path.local_gid = kClientGid;
    request.path.remote_gid = kServerGid;
    request.path.flow_label = 0x9472e;
    request.path.packet_lifetime = 18;
    request.qpn = wire::Qpn{0x41};
    request.starting_psn = wire::Psn{0x655958};
    request.responder_resources = 1;
    request.initiator_depth = 1;
    return request;
}

TEST(CmReplay, our_request_is_the_kernels_byte_for_byte_but_for_the_ids) {
    ConnectionManager client({.ca_guid = wire::Guid{0x505400fffe770002}},
                             base::RandomStream({.seed = 1}));
    EXPECT_EQ(client.connect({}, rping_request()).status, CmStatus::ok);
    const CmDatagram ours = client.poll_mad({})->mad;
    auto message = message_in<wire::CmReq>(ours);
    message.local_communication_id.value = 0x38c6acce;
    EXPECT_EQ(cm::datagram(message, wire::Key64{0x00000002ceacc638}), captured(kReq));
}

TEST(CmReplay, the_kernels_request_gets_a_reply_that_mirrors_its_ids) {
    ConnectionManager server({.ca_guid = wire::Guid{0x505400fffe770003}},
                             base::RandomStream({.seed = 1}));
    EXPECT_EQ(server.listen(kPort).status, CmStatus::ok);
    server.on_mad({}, 1, wire::Qpn{1}, captured(kReq));
    const CmEvent event = *server.poll_event();
    const auto& arrived = std::get<CmRequestArrived>(event.what);
    EXPECT_EQ(arrived.ip, (IpAddresses{kClientGid, kServerGid, 0xcfd8}));
    EXPECT_EQ(arrived.message.primary.local_ack_timeout, 19);
    EXPECT_EQ(server.accept({}, event.handle,
                            {.qpn = wire::Qpn{0x41},
                             .starting_psn = wire::Psn{0xfb14d3},
                             .responder_resources = 1,
                             .initiator_depth = 1}),
              CmStatus::ok);
    const auto out = server.poll_mad({});
    EXPECT_EQ(out->endpoint, 1u);
    EXPECT_EQ(out->qpn, wire::Qpn{1});
    auto reply = message_in<wire::CmRep>(out->mad);
    EXPECT_EQ(reply.remote_communication_id.value, 0x38c6acceu);
    const uint32_t our_id = std::exchange(reply.local_communication_id.value, 0xc67d35b8);
    EXPECT_EQ(cm::datagram(reply, wire::Key64{0x00000002ceacc638}), captured(kRep));

    server.on_mad({}, 1, wire::Qpn{1}, addressed_to<wire::CmRtu>(our_id, 0x38c6acce, kRtu));
    EXPECT_TRUE(std::holds_alternative<CmEstablished>(server.poll_event()->what));
    server.on_mad({}, 1, wire::Qpn{1}, addressed_to<wire::CmDreq>(our_id, 0x38c6acce, kDreq));
    EXPECT_TRUE(std::holds_alternative<CmDisconnected>(server.poll_event()->what));
    EXPECT_EQ(server.poll_mad({})->mad, addressed_to<wire::CmDrep>(0x38c6acce, our_id, kDrep));
    // An ACK timeout of code 19 is the kernel's round trip.
    EXPECT_EQ(server.next_deadline(), base::Instant{} + cm_time(19));
}

TEST(CmReplay, the_kernels_reply_gets_an_rtu) {
    ConnectionManager client({.ca_guid = wire::Guid{0x505400fffe770002}},
                             base::RandomStream({.seed = 1}));
    const CmHandle handle = client.connect({}, rping_request()).handle;
    const uint32_t our_id =
        message_in<wire::CmReq>(client.poll_mad({})->mad).local_communication_id.value;
    client.on_mad({}, 2, wire::Qpn{1}, addressed_to<wire::CmRep>(our_id, 0xc67d35b8, kRep));
    const CmEvent event = *client.poll_event();
    EXPECT_EQ(std::get<CmReplyArrived>(event.what).message.local_qpn, wire::Qpn{0x41});
    EXPECT_EQ(client.ready({}, handle), CmStatus::ok);
    const auto rtu = message_in<wire::CmRtu>(client.poll_mad({})->mad);
    EXPECT_EQ(rtu.local_communication_id.value, our_id);
    EXPECT_EQ(rtu.remote_communication_id.value, 0xc67d35b8u);
    EXPECT_TRUE(std::holds_alternative<CmEstablished>(client.poll_event()->what));
}

TEST(CmReplay, the_kernels_reject_says_that_nobody_listens) {
    ConnectionManager client = sample_manager(1);
    const CmHandle handle = client.connect({}, rping_request()).handle;
    const uint32_t our_id =
        message_in<wire::CmReq>(client.poll_mad({})->mad).local_communication_id.value;
    client.on_mad({}, 2, wire::Qpn{1}, addressed_to<wire::CmRej>(our_id, 0, kRej));
    const CmEvent event = *client.poll_event();
    EXPECT_EQ(event.handle, handle);
    EXPECT_TRUE(event.last);
    EXPECT_EQ(std::get<CmRejected>(event.what).message.reason, wire::kCmRejectInvalidServiceId);
    EXPECT_EQ(client.open_connections(), 0u);
}

TEST(CmReplay, our_reject_is_the_kernels_byte_for_byte) {
    ConnectionManager server = sample_manager(2);
    auto req = message_in<wire::CmReq>(captured(kReq));
    req.local_communication_id.value = 0x3ec6acce;
    server.on_mad({}, 1, wire::Qpn{1}, cm::datagram(req, wire::Key64{0x00000002ceacc63e}));
    EXPECT_EQ(server.poll_mad({})->mad, captured(kRej));
}

TEST(CmReplay, the_kernels_question_for_a_datagram_service_is_answered_as_the_kernel_does) {
    ConnectionManager server = sample_manager(2);
    EXPECT_EQ(server.listen(wire::service_id_of({wire::kIpCmUdp, 7174})).status, CmStatus::ok);
    server.on_mad({}, 1, wire::Qpn{1}, captured(kSidrReq));
    const CmEvent event = *server.poll_event();
    EXPECT_EQ(std::get<CmServiceRequested>(event.what).ip,
              (IpAddresses{kClientGid, kServerGid, 0x8d05}));
    EXPECT_EQ(server.answer_service({}, event.handle,
                                    {.qpn = wire::Qpn{0x45}, .qkey = wire::QKey{0x01234567}}),
              CmStatus::ok);
    EXPECT_EQ(server.poll_mad({})->mad, captured(kSidrRep));
}

}  // namespace
}  // namespace tulle::transport
