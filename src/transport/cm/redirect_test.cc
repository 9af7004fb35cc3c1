// Requests that are sent elsewhere, the ClassPortInfo of the class, and listeners with a backlog.
#include <gtest/gtest.h>

#include "transport/cm/testing.h"

namespace tulle::transport {
namespace {

using namespace testing;

const wire::Gid kElsewhere = wire::gid_of(wire::Ipv4Address{{192, 0, 2, 77}});

wire::Bytes bytes_in(const wire::Gid& gid) {
    return std::as_bytes(std::span(gid.bytes));
}

void redirect(CmPair& pair, CmHandle handle, uint16_t reason, wire::Bytes info) {
    EXPECT_EQ(
        pair.server.manager.reject(pair.now(), handle, {.reason = reason, .additional_info = info}),
        CmStatus::ok);
    pair.run_for(10_us);
}

CmPath path_elsewhere() {
    CmPath path = sample_request().path;
    path.remote_gid = kElsewhere;
    return path;
}

TEST(CmRedirect, a_request_follows_to_another_port) {
    CmPair pair;
    const auto handles = pair.request();
    const CmDatagram first = pair.last_sent();
    redirect(pair, handles.server, wire::kCmRejectPortRedirect, bytes_in(kElsewhere));
    const auto [event, target] = pair.client.take<CmRedirected>();
    EXPECT_EQ(event.handle, handles.client);
    EXPECT_FALSE(event.last);
    EXPECT_EQ(target.gid, kElsewhere);
    EXPECT_EQ(target.cm_qpn, wire::Qpn{1});

    EXPECT_EQ(pair.client.manager.follow(pair.now(), handles.client, 2, path_elsewhere()),
              CmStatus::ok);
    pair.run_for(10_us);
    const auto before = message_in<wire::CmReq>(first);
    const auto [arrived, again] = pair.server.take<CmRequestArrived>();
    EXPECT_EQ(again.message.primary.remote_gid, kElsewhere);
    EXPECT_EQ(again.message.local_qpn, before.local_qpn);
    EXPECT_EQ(again.message.starting_psn, before.starting_psn);
    EXPECT_EQ(again.message.private_data, before.private_data);
    EXPECT_EQ(pair.server.manager.accept(pair.now(), arrived.handle, sample_reply()), CmStatus::ok);
    pair.run_for(10_us);
    EXPECT_EQ(pair.client.take<CmReplyArrived>().first.handle, handles.client);
}

TEST(CmRedirect, a_request_follows_to_another_manager) {
    CmPair pair;
    const auto handles = pair.request();
    wire::ClassPortInfo port;
    port.redirect_gid = kElsewhere;
    port.redirect_lid = wire::Lid{0x17};
    port.redirect_qp = wire::Qpn{0x99};
    port.redirect_qkey = wire::QKey{0x8001'0000};
    std::array<std::byte, wire::ClassPortInfo::kSize> info{};
    wire::write(port, info);
    redirect(pair, handles.server, wire::kCmRejectPortAndCmRedirect, info);
    const CmRedirected target = pair.client.take<CmRedirected>().second;
    EXPECT_EQ(target.gid, kElsewhere);
    EXPECT_EQ(target.lid, wire::Lid{0x17});
    EXPECT_EQ(target.cm_qpn, wire::Qpn{0x99});
    EXPECT_EQ(target.cm_qkey, wire::QKey{0x8001'0000});
    EXPECT_EQ(pair.client.manager.follow(pair.now(), handles.client, 7, path_elsewhere()),
              CmStatus::ok);
    const auto out = pair.client.manager.poll_mad(pair.now());
    ASSERT_TRUE(out);
    EXPECT_EQ(out->endpoint, 7u);
    EXPECT_EQ(out->qpn, wire::Qpn{0x99});
    EXPECT_EQ(attribute_of(out->mad), wire::kCmReq);
}

TEST(CmRedirect, an_owner_need_not_follow) {
    CmPair pair;
    const auto handles = pair.request();
    redirect(pair, handles.server, wire::kCmRejectPortRedirect, bytes_in(kElsewhere));
    pair.client.take<CmRedirected>();
    EXPECT_EQ(pair.client.manager.abandon(pair.now(), handles.client), CmStatus::ok);
    EXPECT_EQ(pair.client.manager.open_connections(), 0u);
    EXPECT_EQ(pair.client.manager.follow(pair.now(), handles.client, 2, {}),
              CmStatus::no_such_connection);
}

TEST(CmRedirect, only_what_was_sent_elsewhere_follows_and_only_over_a_path) {
    CmPair pair;
    const auto handles = pair.request();
    EXPECT_EQ(pair.client.manager.follow(pair.now(), handles.client, 2, path_elsewhere()),
              CmStatus::wrong_state);
    redirect(pair, handles.server, wire::kCmRejectPortRedirect, bytes_in(kElsewhere));
    CmPath path = path_elsewhere();
    path.packet_lifetime = 32;
    EXPECT_EQ(pair.client.manager.follow(pair.now(), handles.client, 2, path), CmStatus::invalid);
}

TEST(CmRedirect, one_that_does_not_say_where_to_is_a_rejection) {
    for (const uint16_t reason :
         {uint16_t{wire::kCmRejectPortRedirect}, uint16_t{wire::kCmRejectPortAndCmRedirect}}) {
        CmPair pair;
        const auto handles = pair.request();
        redirect(pair, handles.server, reason, bytes_in(kElsewhere).first(15));
        EXPECT_TRUE(pair.client.take<CmRejected>().first.last);
    }
}

TEST(CmRedirect, two_who_send_each_other_on_are_given_up) {
    CmPair pair;
    auto handles = pair.request();
    int followed = 0;
    while (true) {
        redirect(pair, handles.server, wire::kCmRejectPortRedirect, bytes_in(kElsewhere));
        if (std::holds_alternative<CmRejected>(pair.client.events.front().what)) break;
        pair.client.take<CmRedirected>();
        ASSERT_LT(++followed, 100);
        EXPECT_EQ(pair.client.manager.follow(pair.now(), handles.client, 2, path_elsewhere()),
                  CmStatus::ok);
        pair.run_for(10_us);
        handles.server = pair.server.take<CmRequestArrived>().first.handle;
    }
    EXPECT_EQ(followed, 8);
    EXPECT_TRUE(pair.client.take<CmRejected>().first.last);
}

// A Get of this class with this attribute.
CmDatagram get_of(uint16_t attribute) {
    wire::MadHeader header;
    header.base_version = wire::kMadBaseVersion;
    header.management_class.value = wire::kClassCommunication;
    header.class_version = wire::kCmClassVersion;
    header.method.value = wire::kMethodGet;
    header.transaction_id = wire::Key64{0x1234};
    header.attribute_id.value = attribute;
    CmDatagram mad{};
    wire::write(header, mad);
    return mad;
}

TEST(CmClassPortInfo, it_is_told_to_whoever_asks) {
    ConnectionManager manager = sample_manager(1);
    manager.on_mad({}, 5, wire::Qpn{9}, get_of(wire::kAttributeClassPortInfo));
    const auto out = manager.poll_mad({});
    ASSERT_TRUE(out);
    EXPECT_EQ(out->endpoint, 5u);
    EXPECT_EQ(out->qpn, wire::Qpn{9});
    const auto header = *wire::parse<wire::MadHeader>(out->mad);
    EXPECT_EQ(header.method.value, wire::kMethodGetResp);
    EXPECT_EQ(header.status.value, wire::kStatusOk);
    EXPECT_EQ(header.transaction_id, wire::Key64{0x1234});
    const auto info = message_in<wire::ClassPortInfo>(out->mad);
    EXPECT_EQ(info.class_version, wire::kCmClassVersion);
    EXPECT_EQ(info.capability_mask.value, 0x3200);  // RC, UC, SIDR
    EXPECT_EQ(info.redirect_gid, wire::Gid{});
}

TEST(CmClassPortInfo, there_is_no_other_attribute_to_get) {
    ConnectionManager manager = sample_manager(1);
    manager.on_mad({}, 5, wire::Qpn{9}, get_of(wire::kCmReq));
    const auto out = manager.poll_mad({});
    ASSERT_TRUE(out);
    EXPECT_EQ(wire::parse<wire::MadHeader>(out->mad)->status.value,
              wire::kStatusMethodAttributeUnsupported);
    EXPECT_EQ(manager.open_connections(), 0u);
}

CmHandle request_from(CmPair& pair, uint32_t qpn) {
    ConnectRequest request = sample_request(qpn);
    request.endpoint = 2;
    const CmHandle handle = pair.client.manager.connect(pair.now(), request).handle;
    pair.run_for(10_us);
    return handle;
}

TEST(CmBacklog, more_requests_than_a_listener_lets_wait_are_refused) {
    CmPair pair;
    EXPECT_EQ(pair.server.manager.listen(kService, wire::Key64{~uint64_t{0}}, 2).status,
              CmStatus::ok);
    for (const uint32_t qpn : {0x101u, 0x102u, 0x103u}) request_from(pair, qpn);
    EXPECT_EQ(pair.server.events.size(), 2u);
    EXPECT_EQ(pair.client.take<CmRejected>().second.message.reason, wire::kCmRejectNoResources);
}

TEST(CmBacklog, each_way_out_of_it_makes_room) {
    enum class Way { accept, reject, abandon, peer_gives_up };
    for (const Way way : {Way::accept, Way::reject, Way::abandon, Way::peer_gives_up}) {
        CmPair pair;
        EXPECT_EQ(pair.server.manager.listen(kService, wire::Key64{~uint64_t{0}}, 1).status,
                  CmStatus::ok);
        const CmHandle client = request_from(pair, 0x101);
        const CmHandle server = pair.server.take<CmRequestArrived>().first.handle;
        ConnectionManager& manager = pair.server.manager;
        if (way == Way::accept)
            EXPECT_EQ(manager.accept(pair.now(), server, sample_reply()), CmStatus::ok);
        else if (way == Way::reject)
            EXPECT_EQ(manager.reject(pair.now(), server, {}), CmStatus::ok);
        else if (way == Way::abandon)
            EXPECT_EQ(manager.abandon(pair.now(), server), CmStatus::ok);
        else
            EXPECT_EQ(pair.client.manager.abandon(pair.now(), client), CmStatus::ok);
        pair.run_for(10_us);
        pair.server.events.clear();
        request_from(pair, 0x102);
        pair.server.take<CmRequestArrived>();
        pair.client.events.clear();
        request_from(pair, 0x103);
        EXPECT_EQ(pair.client.take<CmRejected>().second.message.reason, wire::kCmRejectNoResources);
    }
}

}  // namespace
}  // namespace tulle::transport
