#include "wire/mad/sa.h"

#include <gtest/gtest.h>

#include "wire/mad/sa_records.h"
#include "wire/mad/testing.h"

namespace tulle::wire {
namespace {

using testing::from_hex;

TEST(Sa, records_begin_at_byte_56_behind_rmpp_and_the_component_mask) {
    auto bytes = from_hex<256>(R"(01 03 02 12  0000 0000  0000000000000001  0035 0000 00000000
        01 01 07 00 00000001 00000054
        a1a2a3a4a5a6a7a8 0008 0000 000000000000100c  0001020304050607)");
    const auto mad = parse<SaMad>(bytes);
    EXPECT_EQ(mad->header.attribute_id.value, kSaPathRecord);
    EXPECT_EQ(mad->rmpp.payload_length, 84u);
    EXPECT_EQ(mad->sa.sm_key, Key64{0xa1a2a3a4a5a6a7a8});
    EXPECT_EQ(mad->sa.attribute_offset, 8);
    EXPECT_EQ(mad->sa.component_mask, Key64{0x100c});
    EXPECT_EQ(mad->data[7], 7);
}

TEST(Sa, path_record_fields_are_where_the_specification_puts_them) {
    const auto path = parse<PathRecord>(from_hex<64>(R"(0000000001061c06
        fe80000000000000 0000000000000002  fe80000000000000 0000000000000001
        0002 0001  812345 ff
        21 83 8001  abc5 85 90 92 07  000000000000)"));
    EXPECT_EQ(path->service_id, Key64{0x0000000001061c06});
    EXPECT_EQ(path->dgid.bytes[15], 2);
    EXPECT_EQ(path->sgid.bytes[15], 1);
    EXPECT_EQ(path->dlid, Lid{2});
    EXPECT_EQ(path->slid, Lid{1});
    EXPECT_TRUE(path->raw_traffic);
    EXPECT_EQ(path->flow_label.value, 0x12345u);
    EXPECT_EQ(path->hop_limit, 0xff);
    EXPECT_EQ(path->traffic_class, 0x21);
    EXPECT_TRUE(path->reversible);
    EXPECT_EQ(path->path_count, 3);
    EXPECT_EQ(path->pkey, PKey{0x8001});
    EXPECT_EQ(path->qos_class, 0xabc);
    EXPECT_EQ(path->service_level, 5);
    EXPECT_EQ(path->mtu_selector, kSelectExactly);
    EXPECT_EQ(path->mtu, kMtu4096);
    EXPECT_EQ(path->rate_selector, kSelectExactly);
    EXPECT_EQ(path->rate, kRate100);
    EXPECT_EQ(path->life_time_selector, kSelectExactly);
    EXPECT_EQ(path->life_time, 18);
    EXPECT_EQ(path->preference, 7);
}

TEST(Sa, mc_member_record_fields_are_where_the_specification_puts_them) {
    const auto member = parse<McMemberRecord>(from_hex<52>(R"(
        ff12401bffff00000000000000000001  fe800000000000000002c90300001232
        00000b1b  c003 84 a1  ffff 83 92  5 12345 40  21 80 0000)"));
    EXPECT_EQ(member->mgid.bytes[1], 0x12);
    EXPECT_EQ(member->port_gid.bytes[15], 0x32);
    EXPECT_EQ(member->qkey, QKey{0x0b1b});
    EXPECT_EQ(member->mlid, Lid{0xc003});
    EXPECT_EQ(member->mtu_selector, kSelectExactly);
    EXPECT_EQ(member->mtu, kMtu2048);
    EXPECT_EQ(member->traffic_class, 0xa1);
    EXPECT_EQ(member->pkey, PKey{0xffff});
    EXPECT_EQ(member->rate, kRate10);
    EXPECT_EQ(member->life_time, 18);
    EXPECT_EQ(member->service_level, 5);
    EXPECT_EQ(member->flow_label.value, 0x12345u);
    EXPECT_EQ(member->hop_limit, 0x40);
    EXPECT_EQ(member->scope.value, 2);
    EXPECT_EQ(member->join_state.value, kJoinFullMember);
    EXPECT_TRUE(member->proxy_join);
}

TEST(Sa, inform_info_fields_are_where_the_specification_puts_them) {
    const auto info = parse<InformInfo>(from_hex<36>(R"(
        fe800000000000000002c90300001232  ffff 0007 0000 01 01  ffff 0040 000041 93 00 000004)"));
    EXPECT_EQ(info->gid.bytes[15], 0x32);
    EXPECT_EQ(info->lid_range_begin, Lid{0xffff});
    EXPECT_EQ(info->lid_range_end, Lid{7});
    EXPECT_EQ(info->is_generic, 1);
    EXPECT_EQ(info->subscribe, 1);
    EXPECT_EQ(info->type.value, 0xffff);
    EXPECT_EQ(info->trap_number, 64);
    EXPECT_EQ(info->qp, Qpn{0x41});
    EXPECT_EQ(info->response_time, 0x13);
    EXPECT_EQ(info->producer_type.value, 4u);
}

TEST(Sa, records_hold_the_attribute_behind_its_place) {
    const auto node = parse<NodeRecord>(from_hex<108>("0012 0000 01 01 01 02"));
    EXPECT_EQ(node->lid, Lid{0x12});
    EXPECT_EQ(node->node_info.node_type, kNodeChannelAdapter);
    const auto table =
        parse<MulticastForwardingTableRecord>(from_hex<72>("0012 3105 00000000 0006"));
    EXPECT_EQ(table->position, 3);
    EXPECT_EQ(table->block, 0x105);
    EXPECT_EQ(table->table.port_masks[0].value, 6);
    const auto link = parse<LinkRecord>(from_hex<6>("0001 02 03 0004"));
    EXPECT_EQ(link->from_port, 2);
    EXPECT_EQ(link->to_port, 3);
    EXPECT_EQ(link->to_lid, Lid{4});
    const auto keys = parse<PKeyTableRecord>(from_hex<72>("0001 0002 03 000000 ffff"));
    EXPECT_EQ(keys->block, 2);
    EXPECT_EQ(keys->port, 3);
    EXPECT_EQ(keys->table.entries[0], kDefaultPKey);
}

TEST(Sa, multi_path_record_splits_the_service_id) {
    const auto path = parse<MultiPathRecord>(
        from_hex<24>("00000140 20 83 ffff  0005 84 90 92 aa  41 01 02 b1b2b3b4b5b6b7"));
    EXPECT_TRUE(path->reversible);
    EXPECT_EQ(path->service_id_high.value, 0xaa);
    EXPECT_EQ(path->independence_selector, 1);
    EXPECT_EQ(path->sgid_count, 1);
    EXPECT_EQ(path->dgid_count, 2);
    EXPECT_EQ(path->service_id_low, Key64{0xb1b2b3b4b5b6b7});
}

}  // namespace
}  // namespace tulle::wire
