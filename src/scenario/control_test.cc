#include "scenario/control.h"

#include <gtest/gtest.h>

#include "scenario/files_test.h"
#include "scenario/scenario.h"

namespace tulle::scenario {
namespace {

using ControlKind = sim::ControlSettings::Kind;

std::string with_control(std::string_view profile, std::string_view control,
                         std::string_view more = "") {
    return "topology: leaf-spine:leaves=2,spines=2,hosts=2\nwork: [{shift: {by: 1, bytes: 1KB}}]\n"
           "profile: " +
           std::string(profile) + "\ncontrol: " + std::string(control) + "\n" + std::string(more);
}

sim::ControlSettings control_of(const std::string& text) {
    const auto setup = read_scenario(text, "s.yaml", files_in_memory({}));
    EXPECT_TRUE(setup.ok()) << setup.error().message;
    return setup ? setup->control : sim::ControlSettings{};
}

TEST(control, each_kind_of_fabric_has_its_own) {
    EXPECT_EQ(control_of(with_control("ib-ndr", "native")).kind, ControlKind::sweep);
    EXPECT_EQ(control_of(with_control("roce-v2-400g", "native")).kind, ControlKind::distributed);
    EXPECT_EQ(control_of(with_control("ib-ndr", "given")).kind, ControlKind::given);
    EXPECT_EQ(answer(with_control("roce-v2-400g", "sweep")),
              "s.yaml:4: control: RoCE v2 400G has no subnet manager; write control: distributed, "
              "or choose a profile of InfiniBand");
    EXPECT_EQ(
        answer(with_control("ib-ndr", "distributed")),
        "s.yaml:4: control: BGP needs IP, which InfiniBand NDR has not; write control: sweep");
    EXPECT_EQ(answer(with_control("roce-v2-400g", "bgp")),
              "s.yaml:4: control: 'bgp' is none of given, sweep, distributed, native");
}

TEST(control, a_map_sets_timers_and_places) {
    const auto bgp =
        control_of(with_control("roce-v2-400g",
                                "{kind: distributed, keepalive: 3s, hold: 9s, light: off, "
                                "bfd: 300ms, systems: switch}"));
    EXPECT_EQ(bgp.distributed.speaker.hold, base::Duration{9'000'000'000'000});
    EXPECT_EQ(bgp.distributed.light, base::Duration{});
    EXPECT_EQ(bgp.distributed.systems, control::SystemScheme::by_switch);
    const auto sweep = control_of(with_control("ib-ndr", "{kind: sweep, manager: h3, standby: 0}"));
    EXPECT_EQ(sweep.sweep.manager, 3u);
    EXPECT_EQ(sweep.sweep.standby, 0u);
}

TEST(control, what_has_no_effect_is_refused) {
    EXPECT_EQ(answer(with_control("ib-ndr", "{kind: sweep, hold: 9s}")),
              "s.yaml:4: hold has no effect without control: distributed");
    EXPECT_EQ(answer(with_control("roce-v2-400g", "{kind: distributed, hold: 9s}")),
              "s.yaml:4: control: hold is shorter than three keepalives (RFC 4271, 4.4); write "
              "keepalive: 3s and hold: 9s, or the like");
    EXPECT_EQ(answer(with_control("ib-ndr", "given", "faults: [{at: 1us, manager: down}]\n")),
              "s.yaml:5: there is no subnet manager that could die; write control: sweep");
    EXPECT_EQ(answer(with_control("ib-ndr", "{kind: sweep, standby: 0}")),
              "s.yaml:4: standby: the manager lives there; name another host");
}

}  // namespace
}  // namespace tulle::scenario
