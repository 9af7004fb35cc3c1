#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenario/files_test.h"
#include "scenario/scenario.h"

namespace tulle::scenario {
namespace {

constexpr std::string_view kScenario =
    "topology: leaf-spine:leaves=2,spines=2,hosts=4\n"
    "work:\n"
    "  - shift: {by: 1, bytes: 1KB}\n"
    "  - flows: [{from: 0, to: 1, bytes: 2KB}]\n";

using Set = std::vector<std::pair<std::string, std::string>>;

base::Result<sim::Setup> with(std::string_view text, const Set& set) {
    Overrides overrides;
    overrides.set = set;
    return read_scenario(text, "s.yaml", files_in_memory({}), overrides);
}

TEST(edits, bytes_is_the_size_of_all_work) {
    const auto setup = with(kScenario, {{"bytes", "3KB"}});
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    for (const sim::Flow& flow : setup->flows) EXPECT_EQ(flow.bytes, 3000u);
}

TEST(edits, a_path_leads_into_one_piece_of_work) {
    const auto setup = with(kScenario, {{"work.1.flows.0.bytes", "5KB"}, {"work.0.shift.by", "2"}});
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    EXPECT_EQ(setup->flows.back().bytes, 5000u);
    EXPECT_EQ(setup->flows.front().bytes, 1000u);
    EXPECT_EQ(setup->flows.front().destination, 2u);
}

TEST(edits, a_word_of_the_topology_is_changed_or_added) {
    const auto fewer = with(kScenario, {{"topology.spines", "1"}, {"topology.cables", "2"}});
    ASSERT_TRUE(fewer.ok()) << fewer.error().message;
    EXPECT_EQ(fewer->graph.switch_count(), 3u);
    EXPECT_EQ(fewer->graph.cables.size(), 8u + 4u);
}

TEST(edits, hosts_is_the_word_that_says_how_many) {
    EXPECT_EQ(with(kScenario, {{"hosts", "6"}})->graph.host_count(), 12u);
    const auto star =
        with("topology: star:4\nwork: [{shift: {by: 1, bytes: 1KB}}]\n", {{"topology.hosts", "9"}});
    ASSERT_TRUE(star.ok()) << star.error().message;
    EXPECT_EQ(star->graph.host_count(), 9u);
    const auto rail = with("topology: rail:servers=2,rails=2\nwork: [{shift: {by: 1, bytes: 1KB}}]",
                           {{"hosts", "4"}});
    ASSERT_TRUE(rail.ok()) << rail.error().message;
    EXPECT_EQ(rail->graph.host_count(), 8u);
}

TEST(edits, what_is_wrong_with_a_value_is_told_of_the_command_line_and_not_of_the_scenario) {
    const auto said = [](std::string key, std::string value) {
        return with(kScenario, {{std::move(key), std::move(value)}}).error().message;
    };
    EXPECT_EQ(said("bytes", "0"), "command line: bytes: a message has from one byte to 100TB");
    EXPECT_EQ(said("work.1.flows.0.to", "99"),
              "command line: to: there is no host 99; the 8 hosts count from 0 to 7");
    EXPECT_EQ(said("work.0.shift.bx", "1").substr(0, 30), "command line: unknown key 'bx'");
    EXPECT_EQ(said("work.1.flows", "[{from: 0, to: 0, bytes: 1KB}]"),
              "command line: host 0 sends to itself");
    EXPECT_EQ(said("topology.spines", "0").substr(0, 14), "command line: ");
}

TEST(edits, what_is_not_there_is_told) {
    EXPECT_NE(with(kScenario, {{"work.7.shift.by", "2"}}).error().message.find("no '7'"),
              std::string::npos);
    EXPECT_NE(with(kScenario, {{"topology.rails", "2"}}).error().message.find("rails"),
              std::string::npos);
    EXPECT_NE(with("topology: star:4\nwork: [{cm: x.cm}]\n", {{"bytes", "1KB"}})
                  .error()
                  .message.find("has a size"),
              std::string::npos);
}

TEST(edits, what_a_command_line_gives_twice_or_to_no_effect_is_refused) {
    Overrides overrides;
    overrides.profile = "ib-ndr";
    overrides.seed = 3;
    overrides.topology = "star:4";
    const auto refusal = [&](const Set& set) {
        overrides.set = set;
        return answer(kScenario, files_in_memory({}), overrides);
    };
    EXPECT_EQ(refusal({{"profile", "ib-hdr"}}),
              "command line: profile: the fabric is chosen already; write the profile there "
              "(--profile, or --fabrics of a comparison), not with --set");
    EXPECT_EQ(refusal({{"seed", "4"}}),
              "command line: seed: it is given twice; write --seed or --set seed=, not both");
    EXPECT_EQ(refusal({{"topology", "star:5"}}),
              "command line: topology: it is given twice; write --topology or --set topology=, "
              "not both");
    EXPECT_EQ(refusal({{"hosts.mtu", "1024"}, {"hosts.mtu", "2048"}}),
              "command line: hosts.mtu: it is given twice");
    for (const char* key : {"like", "description", "fabrics"})
        EXPECT_EQ(refusal({{key, "x"}}),
                  fmt::format("command line: {}: it has no effect on a command line", key));
    EXPECT_EQ(refusal({{"hosts.mtu", "1024"}, {"hosts.window", "5"}}), "read");
}

constexpr std::string_view kFabrics =
    "topology: star:4\n"
    "fabric: {flow_control: pfc}\n"
    "fabrics:\n"
    "  - ib-ndr\n"
    "  - {profile: roce-v2-400g, name: early marks, fabric: {flow_control: pfc, ecn: {kmin: "
    "9KB}}}\n"
    "work: [{shift: {by: 1, bytes: 1KB}}]\n";

TEST(fabrics, are_named_by_their_profiles_or_by_names_of_their_own) {
    const auto choices = read_fabrics(kFabrics, "s.yaml", files_in_memory({}));
    ASSERT_TRUE(choices.ok()) << choices.error().message;
    ASSERT_EQ(choices->size(), 2u);
    EXPECT_EQ((*choices)[0].name, "ib-ndr");
    EXPECT_EQ((*choices)[1].name, "early marks");
    EXPECT_EQ((*choices)[1].profile, "roce-v2-400g");
}

TEST(fabrics, an_entry_is_a_layer_on_top_of_the_scenario) {
    Overrides overrides;
    overrides.fabric = 1;
    overrides.set = {{"hosts.mtu", "1024"}};
    const auto setup = read_scenario(kFabrics, "s.yaml", files_in_memory({}), overrides);
    ASSERT_TRUE(setup.ok()) << setup.error().message;
    EXPECT_EQ(setup->fabric.ecn.kmin_bytes, 9000u);
    EXPECT_EQ(setup->host.mtu, 1024u);
}

TEST(fabrics, a_setting_that_is_of_no_use_on_one_of_them_may_be_left_alone) {
    Overrides overrides;
    overrides.profile = "ib-ndr";
    overrides.set = {{"fabric.flow_control", "credits"}, {"fabric.ecn.kmin", "9KB"}};
    const auto read = [&] {
        return read_scenario(kFabrics, "s.yaml", files_in_memory({}), overrides);
    };
    EXPECT_NE(read().error().message.find("has no effect"), std::string::npos);
    overrides.unused_is_fine = true;
    EXPECT_TRUE(read().ok());
}

TEST(fabrics, one_that_is_chosen_by_its_place_keeps_its_profile) {
    Overrides overrides;
    overrides.fabric = 0;
    overrides.set = {{"profile", "ib-hdr"}};
    EXPECT_NE(answer(kFabrics, files_in_memory({}), overrides).find("chosen already"),
              std::string::npos);
}

TEST(fabrics, an_entry_without_a_profile_is_refused_with_its_line) {
    const auto choices =
        read_fabrics("topology: star:4\nfabrics:\n  - {name: x}\n", "s.yaml", files_in_memory({}));
    EXPECT_EQ(choices.error().message.substr(0, 9), "s.yaml:3:");
}

}  // namespace
}  // namespace tulle::scenario
