#include "wire/mad/mad.h"

#include <gtest/gtest.h>

#include "wire/mad/names.h"
#include "wire/mad/notice.h"
#include "wire/mad/testing.h"

namespace tulle::wire {
namespace {

using testing::from_hex;

TEST(Mad, common_header_fields_are_where_the_specification_puts_them) {
    const auto bytes = from_hex<24>(R"(01 03 02 92  030c abcd
                                       1122334455667788
                                       0035 dead 01020304)");
    const auto header = parse<MadHeader>(bytes);
    EXPECT_EQ(header->base_version, 1);
    EXPECT_EQ(header->management_class.value, kClassSubnetAdministration);
    EXPECT_EQ(header->class_version, 2);
    EXPECT_EQ(header->method.value, kMethodGetTableResp);
    EXPECT_EQ(header->status.value, 0x030c);
    EXPECT_EQ(header->class_specific.value, 0xabcd);
    EXPECT_EQ(header->transaction_id.value, 0x1122334455667788u);
    EXPECT_EQ(header->attribute_id.value, 0x0035);
    EXPECT_EQ(header->reserved.value, 0xdead);
    EXPECT_EQ(header->attribute_modifier.value, 0x01020304u);
}

TEST(Mad, rmpp_flags_are_the_low_three_bits_behind_the_response_time) {
    const auto rmpp = parse<RmppHeader>(from_hex<12>("01 01 9b 7e 00000002 000000c8"));
    EXPECT_EQ(rmpp->version, 1);
    EXPECT_EQ(rmpp->type, kRmppData);
    EXPECT_EQ(rmpp->response_time, 0x13);
    EXPECT_EQ(rmpp->flags.value, kRmppActive | kRmppFirst);
    EXPECT_EQ(rmpp->status, kRmppTooManyRetries);
    EXPECT_EQ(rmpp->segment_number, 2u);
    EXPECT_EQ(rmpp->payload_length, 200u);
}

TEST(Mad, class_port_info_fields_are_where_the_specification_puts_them) {
    const auto bytes = from_hex<72>(R"(01 02 0300  00000052
        fe800000000000000002c90300001234  a1 b12345  0007 ffff  00 000001  80010000
        fe800000000000000002c90300005678  a2 c54321  0009 8001  3f 000002  80010001)");
    const auto info = parse<ClassPortInfo>(bytes);
    EXPECT_EQ(info->capability_mask.value, 0x0300);
    EXPECT_EQ(info->capability_mask2.value, 2u);
    EXPECT_EQ(info->response_time, 0x12);
    EXPECT_EQ(info->redirect_gid.bytes[15], 0x34);
    EXPECT_EQ(info->redirect_traffic_class, 0xa1);
    EXPECT_EQ(info->redirect_service_level, 0xb);
    EXPECT_EQ(info->redirect_flow_label.value, 0x12345u);
    EXPECT_EQ(info->redirect_lid, Lid{7});
    EXPECT_EQ(info->redirect_pkey, PKey{0xffff});
    EXPECT_EQ(info->redirect_qp, Qpn{1});
    EXPECT_EQ(info->redirect_qkey, kGsiQKey);
    EXPECT_EQ(info->trap_gid.bytes[15], 0x78);
    EXPECT_EQ(info->trap_service_level, 0xc);
    EXPECT_EQ(info->trap_lid, Lid{9});
    EXPECT_EQ(info->trap_hop_limit, 0x3f);
    EXPECT_EQ(info->trap_qp, Qpn{2});
    EXPECT_EQ(info->trap_qkey, QKey{0x80010001});
}

TEST(Notice, trap_144_says_which_capabilities_changed) {
    const auto bytes = from_hex<80>(R"(84 000002 0090 0005 8003
        0000 0012 0001 0251086a 0009 0102)");
    const auto forwarded = parse<ForwardedNotice>(bytes);
    const Notice& notice = forwarded->notice;
    EXPECT_TRUE(notice.is_generic);
    EXPECT_EQ(notice.type, kNoticeInformational);
    EXPECT_EQ(notice.producer_type, 2u);
    EXPECT_EQ(notice.trap_number, kTrapCapabilityChanged);
    EXPECT_EQ(notice.issuer_lid, Lid{5});
    EXPECT_TRUE(notice.toggle);
    EXPECT_EQ(notice.count, 3);
    const auto trap = attribute_in<TrapCapability>(notice.details);
    EXPECT_EQ(trap.lid, Lid{0x12});
    EXPECT_TRUE(trap.other_local_changes);
    EXPECT_EQ(trap.capability_mask.value, 0x0251086au);
    EXPECT_TRUE(trap.sm_priority_changed);
    EXPECT_TRUE(trap.node_description_changed);
    EXPECT_FALSE(trap.link_width_enabled_changed);
    EXPECT_EQ(trap.capability_mask2.value, 0x0102);
}

TEST(Notice, details_of_the_other_traps_are_where_the_specification_puts_them) {
    const auto gid = parse<TrapGid>(from_hex<54>("000000000000 ff12a01c fe800000"));
    EXPECT_EQ(gid->gid.bytes[0], 0xff);
    EXPECT_EQ(parse<TrapLinkState>(from_hex<54>("0102"))->lid, Lid{0x0102});
    const auto port = parse<TrapPort>(from_hex<54>("0000 0304 05"));
    EXPECT_EQ(port->lid, Lid{0x0304});
    EXPECT_EQ(port->port, 5);
    const auto image = parse<TrapSystemImageGuid>(from_hex<54>("0000 0006 0000 0002c90300001234"));
    EXPECT_EQ(image->system_image_guid, Guid{0x0002c90300001234});
    const auto m_key = parse<TrapMKey>(
        from_hex<54>("0000 0007 ffff 02 00 0015 00000001 1122334455667788 00 c3 000102"));
    EXPECT_EQ(m_key->dr_slid, kPermissiveLid);
    EXPECT_EQ(m_key->attribute_id.value, 0x0015);
    EXPECT_EQ(m_key->m_key, Key64{0x1122334455667788});
    EXPECT_TRUE(m_key->directed_route);
    EXPECT_TRUE(m_key->path_truncated);
    EXPECT_EQ(m_key->hop_count, 3);
    EXPECT_EQ(m_key->return_path[2], 2);
    const auto key =
        parse<TrapKey>(from_hex<54>("0000 0008 0009 00008001 50 000041 00 000042 fe80"));
    EXPECT_EQ(key->key.value, 0x8001u);
    EXPECT_EQ(key->service_level, 5);
    EXPECT_EQ(key->qp1, Qpn{0x41});
    EXPECT_EQ(key->qp2, Qpn{0x42});
    EXPECT_EQ(key->gid1.bytes[0], 0xfe);
    auto bytes = from_hex<54>("0003 0008 0009 8001 50 000041 00 000042");
    bytes[48] = bytes[50] = std::byte{7};
    const auto switch_key = parse<TrapSwitchPKey>(bytes);
    EXPECT_EQ(switch_key->pkey, PKey{0x8001});
    EXPECT_EQ(switch_key->switch_lid, Lid{0x0700});
    EXPECT_EQ(switch_key->port, 7);
}

TEST(MadNames, are_those_of_the_specification) {
    EXPECT_EQ(class_name(0x81), "SubnMgtDR");
    EXPECT_EQ(class_name(0x0a), "Vendor");
    EXPECT_EQ(class_name(0x32), "VendorOUI");
    EXPECT_EQ(class_name(0xee), "unknown");
    EXPECT_EQ(method_name(kClassSubnetAdministration, 0x92), "GetTableResp");
    EXPECT_EQ(method_name(kClassPerformance, 0x92), "unknown");
    EXPECT_EQ(method_name(kClassPerformance, 0x81), "GetResp");
    EXPECT_EQ(attribute_name(kClassSubnetLidRouted, 0x0015), "PortInfo");
    EXPECT_EQ(attribute_name(kClassSubnetDirectedRoute, 0x0011), "NodeInfo");
    EXPECT_EQ(attribute_name(kClassSubnetAdministration, 0x0011), "NodeRecord");
    EXPECT_EQ(attribute_name(kClassCommunication, 0x0010), "ConnectRequest");
    EXPECT_EQ(attribute_name(kClassDevice, 0x0001), "ClassPortInfo");
    EXPECT_EQ(attribute_name(kClassSubnetLidRouted, 0x0001), "unknown");
}

TEST(MadNames, a_status_is_told_by_its_class_first) {
    EXPECT_EQ(status_name(kClassSubnetAdministration, 0), "ok");
    EXPECT_EQ(status_name(kClassSubnetAdministration, 0x0300), "no records");
    EXPECT_EQ(status_name(kClassPerformance, 0x0300), "class-specific");
    EXPECT_EQ(status_name(kClassSubnetLidRouted, 0x000c), "method and attribute not supported");
    EXPECT_EQ(status_name(kClassSubnetLidRouted, 0x001c), "invalid value");
    EXPECT_EQ(status_name(kClassSubnetLidRouted, 0x0001), "busy");
    EXPECT_EQ(rmpp_type_name(4), "ABORT");
    EXPECT_EQ(rmpp_flags_name(7), "Active First Last");
    EXPECT_EQ(rmpp_status_name(126), "too many retries");
    EXPECT_EQ(rmpp_status_name(200), "unknown");
}

}  // namespace
}  // namespace tulle::wire
