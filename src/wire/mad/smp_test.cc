// The byte vectors are written by hand from the tables of chapter 14, each field with a value of
// its own.
#include "wire/mad/smp.h"

#include <gtest/gtest.h>

#include "wire/mad/port_info.h"
#include "wire/mad/smp_attributes.h"
#include "wire/mad/smp_tables.h"
#include "wire/mad/testing.h"

namespace tulle::wire {
namespace {

using testing::from_hex;

TEST(Smp, directed_route_fields_are_where_the_specification_puts_them) {
    auto bytes = from_hex<256>(R"(01 81 01 81  801c 02 03  1122334455667788  0011 0000 00000004
                                  a1a2a3a4a5a6a7a8 ffff 0017)");
    bytes[64] = std::byte{0x64};
    bytes[129] = std::byte{0x05};
    bytes[194] = std::byte{0x09};
    const auto smp = parse<DirectedSmp>(bytes);
    EXPECT_EQ(smp->header.management_class.value, kClassSubnetDirectedRoute);
    EXPECT_TRUE(smp->header.returning);
    EXPECT_EQ(smp->header.status.value, 0x001c);
    EXPECT_EQ(smp->header.hop_pointer, 2);
    EXPECT_EQ(smp->header.hop_count, 3);
    EXPECT_EQ(smp->header.transaction_id, Key64{0x1122334455667788});
    EXPECT_EQ(smp->header.attribute_id.value, kSmpNodeInfo);
    EXPECT_EQ(smp->header.attribute_modifier.value, 4u);
    EXPECT_EQ(smp->route.m_key, Key64{0xa1a2a3a4a5a6a7a8});
    EXPECT_EQ(smp->route.dr_slid, kPermissiveLid);
    EXPECT_EQ(smp->route.dr_dlid, Lid{0x17});
    EXPECT_EQ(smp->data[0], 0x64);
    EXPECT_EQ(smp->paths.initial_path[1], 5);
    EXPECT_EQ(smp->paths.return_path[2], 9);
}

TEST(Smp, lid_routed_packets_have_their_data_at_byte_64) {
    LidRoutedSmp smp;
    smp.route.m_key = Key64{0x0102030405060708};
    put_attribute(LinearForwardingTable{.ports = {7, 8, 9}}, smp.data);
    std::array<std::byte, 256> bytes{};
    write(smp, bytes);
    EXPECT_EQ(bytes[24], std::byte{1});
    EXPECT_EQ(bytes[64], std::byte{7});
    EXPECT_EQ(bytes[66], std::byte{9});
    EXPECT_EQ(attribute_in<LinearForwardingTable>(smp.data).ports[1], 8);
}

TEST(Smp, node_info_fields_are_where_the_specification_puts_them) {
    const auto info = parse<NodeInfo>(from_hex<40>(R"(01 01 02 24  0002c90300001230
        0002c90300001231  0002c90300001232  0080 bd36  000000a1  11 0002c9)"));
    EXPECT_EQ(info->base_version, 1);
    EXPECT_EQ(info->class_version, 1);
    EXPECT_EQ(info->node_type, kNodeSwitch);
    EXPECT_EQ(info->port_count, 36);
    EXPECT_EQ(info->system_image_guid, Guid{0x0002c90300001230});
    EXPECT_EQ(info->node_guid, Guid{0x0002c90300001231});
    EXPECT_EQ(info->port_guid, Guid{0x0002c90300001232});
    EXPECT_EQ(info->partition_capacity, 128);
    EXPECT_EQ(info->device_id.value, 0xbd36);
    EXPECT_EQ(info->revision.value, 0xa1u);
    EXPECT_EQ(info->local_port, 0x11);
    EXPECT_EQ(info->vendor_id.value, 0x0002c9u);
}

TEST(Smp, switch_info_fields_are_where_the_specification_puts_them) {
    const auto info =
        parse<SwitchInfo>(from_hex<20>("c000 0001 1000 0042  ff fe fd 96  0003 0008  a8 00 c123"));
    EXPECT_EQ(info->linear_capacity, 0xc000);
    EXPECT_EQ(info->random_capacity, 1);
    EXPECT_EQ(info->multicast_capacity, 0x1000);
    EXPECT_EQ(info->linear_top, 0x42);
    EXPECT_EQ(info->default_port, 0xff);
    EXPECT_EQ(info->default_multicast_primary_port, 0xfe);
    EXPECT_EQ(info->default_multicast_other_port, 0xfd);
    EXPECT_EQ(info->life_time, 18);
    EXPECT_TRUE(info->port_state_change);
    EXPECT_EQ(info->optimized_sl_to_vl, 2);
    EXPECT_EQ(info->lids_per_port, 3);
    EXPECT_EQ(info->partition_enforcement_capacity, 8);
    EXPECT_TRUE(info->inbound_enforcement);
    EXPECT_FALSE(info->outbound_enforcement);
    EXPECT_TRUE(info->filter_raw_inbound);
    EXPECT_FALSE(info->filter_raw_outbound);
    EXPECT_TRUE(info->enhanced_port0);
    EXPECT_EQ(info->multicast_top.value, 0xc123);
}

constexpr const char* kPortInfo = R"(
    0011223344556677 fe80000000000000  0012 0034 0251086a
    c36e d80e  05 03 0b 02  74 52 46 41  58 4b 0c 14
    18 95 32 4a  0001 0002 0003 20 b5  6c 8f 0016
    2a 000018  0422 84 1f)";

TEST(PortInfo, addresses_and_keys_are_in_the_first_half) {
    const auto info = parse<PortInfo>(from_hex<64>(kPortInfo));
    EXPECT_EQ(info->m_key, Key64{0x0011223344556677});
    EXPECT_EQ(info->gid_prefix, Key64{0xfe80000000000000});
    EXPECT_EQ(info->lid, Lid{0x12});
    EXPECT_EQ(info->master_sm_lid, Lid{0x34});
    EXPECT_EQ(info->capability_mask.value, 0x0251086au);
    EXPECT_EQ(info->diag_code.value, 0xc36e);
    EXPECT_EQ(info->m_key_lease_period, 0xd80e);
    EXPECT_EQ(info->local_port, 5);
    EXPECT_EQ(info->m_key_protect_bits, 1);
    EXPECT_EQ(info->lmc, 6);
    EXPECT_EQ(info->m_key_violations, 1);
    EXPECT_EQ(info->p_key_violations, 2);
    EXPECT_EQ(info->q_key_violations, 3);
    EXPECT_EQ(info->guid_capacity, 32);
    EXPECT_TRUE(info->client_reregister);
    EXPECT_EQ(info->multicast_pkey_trap_suppression, 1);
    EXPECT_EQ(info->subnet_timeout, 21);
    EXPECT_EQ(info->response_time, 12);
}

TEST(PortInfo, link_state_width_and_speeds_are_told_apart) {
    const auto info = parse<PortInfo>(from_hex<64>(kPortInfo));
    EXPECT_EQ(info->link_width_enabled.value, kWidth1x | kWidth4x);
    EXPECT_EQ(info->link_width_supported.value, kWidth1x | kWidth4x | kWidth12x);
    EXPECT_EQ(info->link_width_active.value, kWidth4x);
    EXPECT_EQ(info->link_speed_supported.value, 7);
    EXPECT_EQ(info->port_state, kPortActive);
    EXPECT_EQ(info->physical_state, kPhysicalLinkUp);
    EXPECT_EQ(info->link_down_default_state, kPhysicalPolling);
    EXPECT_EQ(info->link_speed_active.value, kSpeedQdr);
    EXPECT_EQ(info->link_speed_enabled.value, kSpeedSdr);
    EXPECT_EQ(info->link_speed_ext2_active.value, 1);
    EXPECT_EQ(info->link_speed_ext2_supported.value, 1);
    EXPECT_EQ(info->link_speed_ext2_enabled.value, 2);
    EXPECT_EQ(info->round_trip_latency, 24u);
    EXPECT_EQ(info->capability_mask2.value, kPortHasSpeedNdr | kPortHasSpeedHdr | 2);
    EXPECT_EQ(info->link_speed_ext_active.value, kSpeedNdr);
    EXPECT_EQ(info->link_speed_ext_supported.value, kSpeedHdr);
    EXPECT_EQ(info->link_speed_ext_enabled.value, 0x1f);
}

TEST(PortInfo, buffers_lanes_and_enforcement_are_told_apart) {
    const auto info = parse<PortInfo>(from_hex<64>(kPortInfo));
    EXPECT_EQ(info->neighbor_mtu, kMtu4096);
    EXPECT_EQ(info->master_sm_sl, 8);
    EXPECT_EQ(info->vl_capability, kVl0To7);
    EXPECT_EQ(info->init_type.value, 0xb);
    EXPECT_EQ(info->vl_high_limit, 12);
    EXPECT_EQ(info->vl_arbitration_high_capacity, 20);
    EXPECT_EQ(info->vl_arbitration_low_capacity, 24);
    EXPECT_EQ(info->init_type_reply.value, 9);
    EXPECT_EQ(info->mtu_capability, kMtu4096);
    EXPECT_EQ(info->vl_stall_count, 1);
    EXPECT_EQ(info->head_of_queue_life, 18);
    EXPECT_EQ(info->operational_vls, kVl0To7);
    EXPECT_TRUE(info->inbound_enforcement);
    EXPECT_FALSE(info->outbound_enforcement);
    EXPECT_TRUE(info->filter_raw_inbound);
    EXPECT_FALSE(info->filter_raw_outbound);
    EXPECT_EQ(info->local_phy_errors, 8);
    EXPECT_EQ(info->overrun_errors, 15);
    EXPECT_EQ(info->max_credit_hint, 0x16);
}

TEST(SmpTables, entries_follow_each_other) {
    EXPECT_EQ(parse<SlToVlMappingTable>(from_hex<8>("0123456789abcdef"))->vl_of_sl[11], 11);
    const auto arbitration = parse<VlArbitrationTable>(from_hex<64>("0140 0320"));
    EXPECT_EQ(arbitration->entries[1].vl, 3);
    EXPECT_EQ(arbitration->entries[1].weight, 0x20);
    EXPECT_EQ(parse<PKeyTable>(from_hex<64>("ffff 8001"))->entries[1], PKey{0x8001});
    const auto random = parse<RandomForwardingTable>(from_hex<64>("00000000 0012 b0 07"));
    EXPECT_EQ(random->entries[1].lid, Lid{0x12});
    EXPECT_TRUE(random->entries[1].valid);
    EXPECT_EQ(random->entries[1].lmc, 3);
    EXPECT_EQ(random->entries[1].port, 7);
    const auto multicast = parse<MulticastForwardingTable>(from_hex<64>("0000 8001"));
    EXPECT_EQ(multicast->port_masks[1].value, 0x8001);
    EXPECT_EQ(parse<GuidInfo>(from_hex<64>("0000000000000000 0002c90300001232"))->guids[1],
              Guid{0x0002c90300001232});
}

TEST(Smp, sm_info_fields_are_where_the_specification_puts_them) {
    const auto info = parse<SmInfo>(from_hex<21>("0002c90300001232 0102030405060708 00000a0b e3"));
    EXPECT_EQ(info->guid, Guid{0x0002c90300001232});
    EXPECT_EQ(info->sm_key, Key64{0x0102030405060708});
    EXPECT_EQ(info->activity_count, 0x0a0bu);
    EXPECT_EQ(info->priority, 14);
    EXPECT_EQ(info->state, kSmMaster);
}

}  // namespace
}  // namespace tulle::wire
