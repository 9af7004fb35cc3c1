#include "wire/mad/visit.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/mad/testing.h"

namespace tulle::wire {
namespace {

using testing::from_hex;

// The names of the layers in order, and a question mark if not all was understood.
std::string layers_of(const std::array<std::byte, 256>& mad) {
    std::string names;
    const auto add = [&](const char* layer, const auto&) { names += std::string(layer) + ", "; };
    const bool understood = visit_mad(mad, add);
    if (!understood) return names + "?";
    names.resize(names.size() - 2);
    return names;
}

std::array<std::byte, 256> sa_answer(const std::string& rmpp, uint8_t attribute_offset) {
    auto mad = from_hex<256>("01030292 00000000 0000000000000001 0038000000000000" + rmpp);
    mad[45] = static_cast<std::byte>(attribute_offset);
    return mad;
}

TEST(VisitMad, subnet_management_has_its_attribute_between_route_and_paths) {
    EXPECT_EQ(layers_of(from_hex<256>("01010101 00000000 0000000000000001 0015")),
              "MAD, SMP, PortInfo");
    EXPECT_EQ(layers_of(from_hex<256>("01810101 00000000 0000000000000001 0011")),
              "MAD, DR SMP, NodeInfo, DR paths");
    EXPECT_EQ(layers_of(from_hex<256>("01010101 00000000 0000000000000001 0032")),
              "MAD, SMP, data, ?");
}

TEST(VisitMad, a_generic_notice_is_followed_by_the_details_of_its_trap) {
    auto mad = from_hex<256>("01010105 00000000 0000000000000001 0002");
    const auto notice = from_hex<6>("81 000002 0080");
    std::copy(notice.begin(), notice.end(), mad.begin() + 64);
    EXPECT_EQ(layers_of(mad), "MAD, SMP, Notice, trap");
    mad[64] = std::byte{0x01};  // a vendor's own
    EXPECT_EQ(layers_of(mad), "MAD, SMP, Notice");
}

TEST(VisitMad, a_table_shows_as_many_records_as_it_holds) {
    EXPECT_EQ(layers_of(sa_answer("01010700 00000001 00000084", 7)),
              "MAD, RMPP, SA, MCMemberRecord, MCMemberRecord");
    EXPECT_EQ(layers_of(sa_answer("01010300 00000001 00000400", 7)),
              "MAD, RMPP, SA, MCMemberRecord, MCMemberRecord, MCMemberRecord");
    EXPECT_EQ(layers_of(sa_answer("01010700 00000001 00000014", 7)), "MAD, RMPP, SA");
    EXPECT_EQ(layers_of(sa_answer("01010700 00000001 00000000", 0)), "MAD, RMPP, SA");
}

TEST(VisitMad, later_segments_of_a_table_stay_bytes) {
    EXPECT_EQ(layers_of(sa_answer("01010100 00000002 00000000", 7)), "MAD, RMPP, SA, data, ?");
    EXPECT_EQ(layers_of(sa_answer("01020100 00000002 00000040", 7)), "MAD, RMPP, SA");
}

TEST(VisitMad, the_other_classes_are_told_apart) {
    EXPECT_EQ(layers_of(from_hex<256>("01040101 00000000 0000000000000001 0012")),
              "MAD, PortCounters");
    EXPECT_EQ(layers_of(from_hex<256>("01070203 00000000 0000000000000001 0014")),
              "MAD, ReadyToUse");
    EXPECT_EQ(layers_of(from_hex<256>("01210101 00000000 0000000000000001 0017")),
              "MAD, CC, CongestionControlTable");
    EXPECT_EQ(layers_of(from_hex<256>("01300101 00000000 0000000000000001 0017")),
              "MAD, vendor, data, ?");
    EXPECT_EQ(layers_of(from_hex<256>("01660101")), "MAD, data, ?");
}

TEST(VisitMad, a_congestion_log_is_the_switchs_or_the_adapters) {
    auto mad = from_hex<256>("01210181 00000000 0000000000000001 0013");
    EXPECT_EQ(layers_of(mad), "MAD, CC, data, ?");
    mad[32] = std::byte{kCongestionLogSwitch};
    EXPECT_EQ(layers_of(mad), "MAD, CC, CongestionLog");
    mad[32] = std::byte{kCongestionLogCa};
    EXPECT_EQ(layers_of(mad), "MAD, CC, CongestionLog");
}

TEST(VisitMad, a_request_with_an_ip_service_shows_the_addresses) {
    auto mad = from_hex<256>("01070203 00000000 0000000000000001 0010");
    EXPECT_EQ(layers_of(mad), "MAD, ConnectRequest");
    mad[24 + 12] = std::byte{0x01};
    EXPECT_EQ(layers_of(mad), "MAD, ConnectRequest, IP CM");
}

}  // namespace
}  // namespace tulle::wire
