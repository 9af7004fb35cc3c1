#include "scenario/tenants.h"

#include <gtest/gtest.h>

#include "scenario/files_test.h"

namespace tulle::scenario {
namespace {

std::string with_tenants(std::string_view tenants, std::string_view more = "") {
    return "topology: star:6\nprofile: ib-ndr\nwork: [{shift: {by: 1, bytes: 1KB}}]\n" +
           std::string(more) + "tenants:\n" + std::string(tenants);
}

TEST(tenants, are_read_with_their_members_and_numbers) {
    const auto setup = read_scenario(
        with_tenants("  - {name: red, hosts: [0-2], limited: [h3], pkey: 0x11, vlan: 10}\n"
                     "  - {name: blue, hosts: [4]}\n"
                     "  - {name: green, hosts: [5], pkey: 1}\n"),
        "s.yaml", files_in_memory({}));
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    ASSERT_EQ(setup->tenants.size(), 3u);
    EXPECT_EQ(setup->tenants[0].full, (std::vector<uint32_t>{0, 1, 2}));
    EXPECT_EQ(setup->tenants[0].limited, (std::vector<uint32_t>{3}));
    EXPECT_EQ(setup->tenants[0].pkey, 0x11);
    EXPECT_EQ(setup->tenants[0].vlan, 10);
    EXPECT_EQ(setup->tenants[1].pkey, 2) << "the first that is free";
    EXPECT_EQ(setup->tenants[1].vlan, 2);
    EXPECT_EQ(setup->tenants[2].vlan, 3);
}

TEST(tenants, what_is_wrong_is_said_with_its_line) {
    EXPECT_EQ(answer(with_tenants("  - {hosts: [0]}\n")),
              "s.yaml:5: the tenant has no name; write name: red");
    EXPECT_EQ(answer(with_tenants("  - {name: red}\n")),
              "s.yaml:5: tenant 'red' has no hosts; write hosts: [0-3]");
    EXPECT_EQ(answer(with_tenants("  - {name: red, hosts: [0]}\n  - {name: red, hosts: [1]}\n")),
              "s.yaml:6: name: there are two tenants called 'red'");
    EXPECT_EQ(answer(with_tenants("  - {name: red, hosts: [0, 1], limited: [1]}\n")),
              "s.yaml:5: host 1 is a full and a limited member of 'red'; name it once");
    EXPECT_EQ(answer(with_tenants("  - {name: red, hosts: [0], pkey: 0x8001}\n")),
              "s.yaml:5: pkey: '0x8001' is not a number from 1 to 0x7ffe (the bit of full members "
              "is not part of it, and 0x7fff is the default partition)");
    EXPECT_EQ(answer(with_tenants("  - {name: red, hosts: [0], vlan: 7}\n"
                                  "  - {name: blue, hosts: [1], vlan: 7}\n")),
              "s.yaml:6: vlan: tenant 'red' has 7 already; give each its own");
    EXPECT_EQ(answer("topology: star:6\nprofile: ib-ndr\nwork: [{shift: {by: 1, bytes: 1KB}}]\n"
                     "fabric: {switch: {partition_enforcement: no}}\n"),
              "s.yaml:4: fabric.switch.partition_enforcement has no effect without tenants; remove "
              "it, or add some");
}

}  // namespace
}  // namespace tulle::scenario
