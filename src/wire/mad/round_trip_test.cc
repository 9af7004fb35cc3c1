// Every header and attribute of this folder: what is parsed from any bytes is written back as the
// same bytes. And the taking apart of any bytes is safe.
#include <gtest/gtest.h>

#include <typeinfo>
#include <vector>

#include "wire/mad/visit.h"
#include "wire/testing.h"

namespace tulle::wire {
namespace {

using OtherLayers =
    std::tuple<MadHeader, Mad, RmppHeader, VendorHeader, LidRoutedHeader, LidRoutedSmp,
               DirectedMadHeader, DirectedRouteHeader, DirectedRoutePaths, DirectedSmp, SaHeader,
               SaMad, PerfMad, CongestionHeader, CongestionMad, SwitchCongestionEvent,
               SwitchCongestionLog, CaCongestionEvent, CaCongestionLog, SwitchPortCongestionElement,
               CaCongestionEntry, CongestionControlEntry, VlArbitrationEntry, RandomForwardingEntry,
               CmReqPath, IpCmHeader, RawData<64>>;

using testing::Random;
using testing::random_bytes;

template <Header H>
void check_round_trip(Random& random) {
    const auto bytes = random_bytes(random, H::kSize);
    std::vector<std::byte> again(H::kSize, std::byte{0xff});
    write(*parse<H>(bytes), again);
    EXPECT_EQ(again, bytes) << typeid(H).name();
    EXPECT_FALSE(parse<H>(Bytes(bytes).first(H::kSize - 1))) << typeid(H).name();
}

template <class... H>
void check_all(std::type_identity<std::tuple<H...>>, Random& random) {
    (check_round_trip<H>(random), ...);
}

template <class... K>
void check_known(std::type_identity<std::tuple<K...>>, Random& random) {
    (check_round_trip<typename K::Layer>(random), ...);
}

TEST(MadRoundTrip, every_layer_writes_the_bytes_it_was_parsed_from) {
    Random random(1);
    check_all(std::type_identity<OtherLayers>{}, random);
    check_known(std::type_identity<mad_layers::Traps>{}, random);
    check_known(std::type_identity<mad_layers::CongestionTraps>{}, random);
    check_known(std::type_identity<mad_layers::SmpAttributes>{}, random);
    check_known(std::type_identity<mad_layers::SaAttributes>{}, random);
    check_known(std::type_identity<mad_layers::PerfAttributes>{}, random);
    check_known(std::type_identity<mad_layers::CmAttributes>{}, random);
    check_known(std::type_identity<mad_layers::CongestionAttributes>{}, random);
}

// Sizes only: a visitor that also looked at the fields would double the compile time of this file.
size_t visited_bytes(Bytes mad) {
    size_t sum = 0;
    visit_mad(mad, [&]<class H>(const char*, const H&) { sum += H::kSize; });
    return sum;
}

TEST(MadRoundTrip, any_bytes_can_be_visited) {
    Random random(2);
    constexpr std::array<uint8_t, 8> kClasses{0x01, 0x81, 0x03, 0x04, 0x07, 0x21, 0x30, 0x55};
    for (int i = 0; i < 20'000; ++i) {
        auto mad = random_bytes(random, kMadSize);
        mad[1] = static_cast<std::byte>(kClasses[random() % kClasses.size()]);
        mad[16] = std::byte{0};
        mad[17] = static_cast<std::byte>(random() % 0x40);
        EXPECT_GE(visited_bytes(mad), MadHeader::kSize);
    }
}

TEST(MadRoundTrip, fewer_than_256_bytes_are_not_visited) {
    Random random(3);
    const auto mad = random_bytes(random, kMadSize);
    EXPECT_EQ(visited_bytes(Bytes(mad).first(255)), 0u);
    EXPECT_EQ(visited_bytes(Bytes()), 0u);
}

}  // namespace
}  // namespace tulle::wire
