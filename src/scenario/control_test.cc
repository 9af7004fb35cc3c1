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
    EXPECT_EQ(control_of(with_control("roce-v1", "native")).distributed.protocol,
              control::Protocol::spanning_tree);
    EXPECT_EQ(answer(with_control("roce-v2-400g", "sweep")),
              "s.yaml:4: control: RoCE v2 400G has no subnet manager; write control: distributed, "
              "or choose a profile of InfiniBand");
    EXPECT_EQ(answer(with_control("ib-ndr", "distributed")),
              "s.yaml:4: control: BGP needs IP, and InfiniBand NDR has none; write control: sweep");
    EXPECT_EQ(
        answer(with_control("roce-v2-400g", "bgp")),
        "s.yaml:4: control: 'bgp' is unknown here; write one of given, sweep, distributed, native");
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
    EXPECT_EQ(answer(with_control("roce-v1", "{kind: distributed, hold: 9s}")),
              "s.yaml:4: hold has no effect without BGP");
    EXPECT_EQ(answer(with_control("roce-v2-400g", "{kind: distributed, hello: 1s}")),
              "s.yaml:4: hello has no effect without a spanning tree");
    EXPECT_EQ(answer(with_control("roce-v2-400g", "{kind: distributed, hold: 9s}")),
              "s.yaml:4: control: hold is shorter than three keepalives (RFC 4271, 4.4); write "
              "keepalive: 3s and hold: 9s, or the like");
    EXPECT_EQ(answer(with_control("ib-ndr", "given", "faults: [{at: 1us, manager: down}]\n")),
              "s.yaml:5: there is no subnet manager that could die; write control: sweep");
    EXPECT_EQ(answer(with_control("ib-ndr", "{kind: sweep, standby: 0}")),
              "s.yaml:4: standby: the manager lives there; name another host");
}

TEST(control, a_port_fails_and_a_cable_flaps) {
    const auto faults = [](std::string_view fault) {
        return with_control("roce-v2-400g", "native", "faults: [" + std::string(fault) + "]\n");
    };
    const auto read = [&](std::string_view fault) {
        const auto setup = read_scenario(faults(fault), "s.yaml", files_in_memory({}));
        EXPECT_TRUE(setup.ok()) << setup.error().message;
        return setup ? setup->faults : std::vector<sim::Fault>{};
    };
    const auto by_port = read("{at: 1us, switch: leaf1, port: 3, state: down}");
    const auto by_cable = read("{at: 1us, cable: leaf1-spine1, state: down}");
    ASSERT_EQ(by_port.size(), 1u);
    EXPECT_EQ(by_port[0].kind, sim::Fault::Kind::cable_down);
    EXPECT_EQ(by_port[0].subject, by_cable.at(0).subject);
    const auto flaps =
        read("{at: 1us, cable: leaf1-spine1, state: flapping, every: 2us, times: 3}");
    ASSERT_EQ(flaps.size(), 6u);
    EXPECT_EQ(flaps[0].at.ps, 1'000'000);
    EXPECT_EQ(flaps[1].at.ps, 2'000'000);
    EXPECT_EQ(flaps[1].kind, sim::Fault::Kind::cable_up);
    EXPECT_EQ(flaps[4].at.ps, 5'000'000);
    EXPECT_EQ(answer(faults("{at: 1us, switch: leaf1, port: 9, state: down}")),
              "s.yaml:5: port: '9' is no whole number from 0 to 3");
    EXPECT_EQ(answer(faults("{at: 1us, cable: leaf1-spine1, state: flapping}")),
              "s.yaml:5: how it flaps is missing; write every: 1ms and times: 5");
    EXPECT_EQ(answer(faults("{at: 1us, cable: leaf1-spine1, state: down, times: 3}")),
              "s.yaml:5: times has no effect without state: flapping");
    EXPECT_EQ(answer(faults("{at: 1us, cable: leaf1-spine1, port: 3, state: down}")),
              "s.yaml:5: port has no effect without switch");
}

}  // namespace
}  // namespace tulle::scenario
