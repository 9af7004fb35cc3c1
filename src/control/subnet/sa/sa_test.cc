// Hosts that ask subnet administration over a fabric in virtual time, and what they are told
// against the tables that the switches really have.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "control/subnet/sa/paths.h"
#include "control/subnet/testing.h"
#include "control/subnet/world.h"

namespace tulle::control {
namespace {

using testing::graph_of;

constexpr base::Instant kLimit{100'000'000'000'000};

uint64_t port_guid(World& world, uint32_t node) {
    const Agent& agent = world.agent(node);
    return agent.node().guid + (agent.is_switch() ? 0 : 1);
}

std::shared_ptr<const PartitionPolicy> partitions_of(std::string_view text) {
    auto policy = parse_partitions(text, "p");
    EXPECT_TRUE(policy.ok());
    return std::make_shared<PartitionPolicy>(std::move(*policy));
}

void bring_up(World& world, uint32_t node, const ManagerSettings& settings = {}) {
    world.start_manager(world.add_manager(node, settings));
    ASSERT_TRUE(world.run_until_settled(kLimit));
}

SaAnswer ask_path(World& world, uint32_t from, uint32_t to, uint8_t method = wire::kMethodGet,
                  uint16_t key = 0) {
    wire::PathRecord wanted;
    wanted.sgid = port_gid(port_guid(world, from));
    wanted.dgid = port_gid(port_guid(world, to));
    wanted.pkey.value = key;
    return world.ask(
        from, question_of(method, wire::kSaPathRecord, 0xcu | (key != 0 ? 1u << 13 : 0), wanted));
}

struct Followed {
    bool arrives = false;
    uint32_t cables = 0;
};

// Where a packet of a host gets to, by the tables that agents hold.
Followed follow(World& world, const topology::Graph& graph, uint32_t from, uint16_t dlid,
                uint32_t to) {
    const topology::Ports ports(graph);
    Followed followed;
    topology::CableEnd at = ports.at({from, 0}).peer;
    for (followed.cables = 1; followed.cables < 100; ++followed.cables) {
        const Agent& agent = world.agent(at.node);
        if (!agent.is_switch()) break;
        const uint8_t out = agent.route(dlid);
        if (out == kNoPort || out == 0) break;
        at = ports.at({at.node, static_cast<uint16_t>(out - 1)}).peer;
    }
    followed.arrives = at.node == to;
    return followed;
}

TEST(administration, tells_paths_that_the_tables_have) {
    for (const char* const fabric :
         {"fat-tree:k=4", "torus:4x3,hosts=2", "dragonfly:a=4,p=2,h=2"}) {
        const topology::Graph graph = graph_of(fabric);
        World world(graph, {});
        const auto hosts = graph.endpoints();
        bring_up(world, hosts[0]);
        const SubnetPlan& plan = world.manager(0).plan();
        for (size_t i = 0; i < hosts.size(); i += 3)
            for (size_t j = 1; j < hosts.size(); j += 4) {
                const SaAnswer answer = ask_path(world, hosts[i], hosts[j]);
                ASSERT_TRUE(answer.has_come);
                ASSERT_EQ(answer.status, wire::kStatusOk) << fabric;
                const auto path = answer.record<wire::PathRecord>(0);
                EXPECT_EQ(path.slid.value, world.agent(hosts[i]).lid());
                EXPECT_EQ(path.dlid.value, world.agent(hosts[j]).lid());
                EXPECT_EQ(path.pkey.value, 0xffff);
                EXPECT_EQ(path.mtu, wire::kMtu4096);
                EXPECT_EQ(path.rate, wire::kRate400);
                if (i == j) continue;
                EXPECT_TRUE(follow(world, graph, hosts[i], path.dlid.value, hosts[j]).arrives);
                // The service level is the one that keeps the engine's paths out of circles.
                const uint32_t home = plan.subnet().place(path.slid.value).home;
                EXPECT_EQ(path.service_level,
                          plan.routing().lanes.service_level(home, path.dlid.value,
                                                             plan.subnet().switch_count()));
            }
    }
}

TEST(administration, tells_the_slowest_link_of_a_path) {
    topology::Graph graph = graph_of("line:3");
    for (topology::Cable& cable : graph.cables) cable.rate_bps = 400'000'000'000;
    for (topology::Cable& cable : graph.cables) {
        const bool between =
            !graph.nodes[cable.a.node].is_host() && !graph.nodes[cable.b.node].is_host();
        if (!between) continue;
        cable.rate_bps = 100'000'000'000;
        break;
    }
    World world(graph, {});
    const auto hosts = graph.endpoints();
    bring_up(world, hosts[0]);
    std::set<uint8_t> rates;
    for (const uint32_t from : hosts)
        for (const uint32_t to : hosts)
            if (from != to)
                rates.insert(ask_path(world, from, to).record<wire::PathRecord>(0).rate);
    EXPECT_EQ(rates, (std::set<uint8_t>{wire::kRate100, wire::kRate400}));
}

TEST(administration, tells_no_path_between_partitions) {
    const topology::Graph graph = graph_of("star:4");
    World world(graph, {});
    const auto hosts = graph.endpoints();
    bring_up(
        world, hosts[0],
        {.partitions = partitions_of("red=0x10, sl=2: h1=full, h2=full; blue=0x20: h3=full;")});
    const SaAnswer same = ask_path(world, hosts[1], hosts[2]);
    ASSERT_EQ(same.status, wire::kStatusOk);
    EXPECT_EQ(same.record<wire::PathRecord>(0).pkey.value, 0x8010);
    EXPECT_EQ(same.record<wire::PathRecord>(0).service_level, 2);
    EXPECT_EQ(ask_path(world, hosts[1], hosts[3]).status, wire::kStatusSaNoRecords);
    EXPECT_EQ(ask_path(world, hosts[1], hosts[2], wire::kMethodGet, 0x8020).status,
              wire::kStatusSaNoRecords);
    // Everybody shares the default partition with the manager.
    EXPECT_EQ(ask_path(world, hosts[3], hosts[0]).record<wire::PathRecord>(0).pkey.value, 0x7fff);
    EXPECT_EQ(world.agent(hosts[1]).tables().partitions(1),
              (std::vector<uint16_t>{0x7fff, 0x8010}));
    // The switch enforces what its hosts' ports have.
    const topology::Ports ports(graph);
    const topology::CableEnd leaf = ports.at({hosts[1], 0}).peer;
    const auto port = static_cast<uint8_t>(leaf.port + 1);
    EXPECT_EQ(world.agent(leaf.node).tables().partitions(port),
              (std::vector<uint16_t>{0x7fff, 0x8010}));
    EXPECT_TRUE(world.agent(leaf.node).port(port).inbound_enforcement);
}

TEST(administration, sends_long_tables_in_segments_though_cables_lose_some) {
    const topology::Graph graph = graph_of("fat-tree:k=4");
    for (uint64_t seed = 1; seed < 6; ++seed) {
        World world(graph, {.seed = seed});
        const auto hosts = graph.endpoints();
        bring_up(world, hosts[0]);
        world.set_loss(20'000);
        const SaAnswer nodes = world.ask(
            hosts[5],
            question_of(wire::kMethodGetTable, wire::kSaNodeRecord, 0, wire::NodeRecord{}));
        ASSERT_TRUE(nodes.has_come) << seed;
        ASSERT_EQ(nodes.count(), graph.nodes.size());
        std::set<uint16_t> lids;
        for (size_t i = 0; i < nodes.count(); ++i)
            lids.insert(nodes.record<wire::NodeRecord>(i).lid.value);
        EXPECT_EQ(lids.size(), graph.nodes.size());
        EXPECT_GT(nodes.mads, nodes.bytes.size() / wire::kSaDataSize);
    }
}

TEST(administration, takes_long_questions_in_segments) {
    const topology::Graph graph = graph_of("fat-tree:k=4");
    for (const uint64_t loss : {0, 20'000}) {
        World world(graph, {.seed = 3});
        const auto hosts = graph.endpoints();
        bring_up(world, hosts[0]);
        world.set_loss(loss);
        wire::MultiPathRecord wanted;
        wanted.sgid_count = 4;
        wanted.dgid_count = 12;
        SaQuestion question =
            question_of(wire::kMethodGetMulti, wire::kSaMultiPathRecord, 0, wanted);
        for (size_t i = 0; i < 16; ++i)
            for (const uint8_t byte : port_gid(port_guid(world, hosts[i])).bytes)
                question.record.push_back(std::byte{byte});
        ASSERT_GT(question.record.size(), wire::kSaDataSize);
        const SaAnswer answer = world.ask(hosts[7], question);
        ASSERT_TRUE(answer.has_come);
        EXPECT_EQ(answer.status, wire::kStatusOk);
        EXPECT_EQ(answer.count(), 4u * 12);
    }
}

TEST(administration, finds_records_by_their_components) {
    const topology::Graph graph = graph_of("fat-tree:k=4");
    World world(graph, {});
    const auto hosts = graph.endpoints();
    bring_up(world, hosts[0]);
    wire::NodeRecord switches;
    switches.node_info.node_type = wire::kNodeSwitch;
    EXPECT_EQ(world
                  .ask(hosts[2],
                       question_of(wire::kMethodGetTable, wire::kSaNodeRecord, 1u << 4, switches))
                  .count(),
              graph.switch_count());
    wire::PortInfoRecord port;
    port.lid.value = world.agent(hosts[3]).lid();
    const SaAnswer ports =
        world.ask(hosts[2], question_of(wire::kMethodGet, wire::kSaPortInfoRecord, 1, port));
    ASSERT_EQ(ports.status, wire::kStatusOk);
    EXPECT_EQ(ports.record<wire::PortInfoRecord>(0).port_info.port_state, wire::kPortActive);
    const SaAnswer links = world.ask(
        hosts[2], question_of(wire::kMethodGetTable, wire::kSaLinkRecord, 0, wire::LinkRecord{}));
    EXPECT_EQ(links.count(), 2 * graph.cables.size());
    EXPECT_EQ(world
                  .ask(hosts[2],
                       question_of(wire::kMethodGet, wire::kSaNodeRecord, 0, wire::NodeRecord{}))
                  .status,
              wire::kStatusSaTooManyRecords);
    EXPECT_EQ(world.ask(hosts[2], SaQuestion{wire::kMethodGet, 0x77, 0, {}}).status,
              wire::kStatusMethodAttributeUnsupported);
}

// --- groups --------------------------------------------------------------------------------------

SaAnswer join(World& world, uint32_t host, const wire::Gid& mgid,
              uint8_t state = wire::kJoinFullMember, uint8_t method = wire::kMethodSet) {
    wire::McMemberRecord record;
    record.mgid = mgid;
    record.port_gid = port_gid(port_guid(world, host));
    record.pkey.value = 0xffff;
    record.qkey.value = 0xb1b;
    record.join_state.value = state;
    constexpr uint64_t kMask = 0x3 | 1u << 2 | 1u << 6 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << 16;
    const SaAnswer answer =
        world.ask(host, question_of(method, wire::kSaMcMemberRecord, kMask, record));
    world.run_until_at_rest(world.now() + base::Duration{10'000'000'000'000});
    return answer;
}

wire::Gid group_gid(uint8_t number) {
    wire::Gid gid;
    gid.bytes = {0xff, 0x12, 0xa0, 0x1b};
    gid.bytes[15] = number;
    return gid;
}

// How many copies each host gets of a packet, by the multicast tables that agents hold.
std::map<uint32_t, int> copies_of(World& world, const topology::Graph& graph, uint32_t sender,
                                  uint16_t mlid) {
    const topology::Ports ports(graph);
    std::map<uint32_t, int> copies;
    std::vector<topology::CableEnd> arrivals{ports.at({sender, 0}).peer};
    for (size_t i = 0; i < arrivals.size() && i < 10'000; ++i) {
        const topology::CableEnd at = arrivals[i];
        if (!world.agent(at.node).is_switch()) {
            ++copies[at.node];
            continue;
        }
        const std::vector<bool> out = world.agent(at.node).tables().multicast_ports(mlid);
        for (uint16_t port = 1; port < out.size(); ++port)
            if (out[port] && port != at.port + 1)
                arrivals.push_back(ports.at({at.node, static_cast<uint16_t>(port - 1)}).peer);
    }
    return copies;
}

TEST(groups, reach_every_member_once_and_nobody_else) {
    for (const char* const fabric :
         {"fat-tree:k=4", "torus:4x3,hosts=2", "dragonfly:a=4,p=2,h=2"}) {
        const topology::Graph graph = graph_of(fabric);
        World world(graph, {});
        const auto hosts = graph.endpoints();
        bring_up(world, hosts[0]);
        std::set<uint32_t> members;
        uint16_t mlid = 0;
        for (size_t i = 0; i < hosts.size(); i += 3) {
            const SaAnswer answer = join(world, hosts[i], group_gid(1));
            ASSERT_EQ(answer.status, wire::kStatusOk);
            mlid = answer.record<wire::McMemberRecord>(0).mlid.value;
            members.insert(hosts[i]);
        }
        ASSERT_EQ(join(world, hosts[1], group_gid(1), wire::kJoinSendOnlyNonMember).status,
                  wire::kStatusOk);
        EXPECT_GE(mlid, kFirstMulticastLid);
        for (const uint32_t sender : members) {
            std::map<uint32_t, int> expected;
            for (const uint32_t member : members)
                if (member != sender) expected[member] = 1;
            EXPECT_EQ(copies_of(world, graph, sender, mlid), expected) << fabric;
        }
        EXPECT_EQ(copies_of(world, graph, hosts[1], mlid).size(), members.size()) << fabric;
        // One leaves, and a cable breaks: the others are still reached.
        EXPECT_EQ(
            join(world, hosts[3], group_gid(1), wire::kJoinFullMember, wire::kMethodDelete).status,
            wire::kStatusOk);
        members.erase(hosts[3]);
        world.set_cable(static_cast<uint32_t>(graph.cables.size() - 1), false);
        world.run_until_at_rest(world.now() + base::Duration{60'000'000'000'000});
        EXPECT_EQ(copies_of(world, graph, hosts[0], mlid).size(), members.size() - 1) << fabric;
        EXPECT_EQ(copies_of(world, graph, hosts[0], mlid).count(hosts[3]), 0u);
    }
}

TEST(groups, end_with_their_last_full_member) {
    const topology::Graph graph = graph_of("star:4");
    World world(graph, {});
    const auto hosts = graph.endpoints();
    bring_up(world, hosts[0]);
    // Nobody joins what there is not, unless as a full member; that takes all components.
    EXPECT_EQ(join(world, hosts[1], group_gid(1), wire::kJoinNonMember).status,
              wire::kStatusSaRequestInvalid);
    EXPECT_EQ(join(world, hosts[1], group_gid(1)).status, wire::kStatusOk);
    EXPECT_EQ(join(world, hosts[2], group_gid(1), wire::kJoinNonMember).status, wire::kStatusOk);
    const auto count = [&] {
        return world
            .ask(hosts[3], question_of(wire::kMethodGetTable, wire::kSaMcMemberRecord, 0,
                                       wire::McMemberRecord{}))
            .count();
    };
    EXPECT_EQ(count(), 2u);
    EXPECT_EQ(
        join(world, hosts[1], group_gid(1), wire::kJoinFullMember, wire::kMethodDelete).status,
        wire::kStatusOk);
    EXPECT_EQ(count(), 0u);
    EXPECT_EQ(
        join(world, hosts[1], group_gid(1), wire::kJoinFullMember, wire::kMethodDelete).status,
        wire::kStatusSaRequestInvalid);
}

// --- services and subscriptions ------------------------------------------------------------------

TEST(services, are_found_until_their_lease_ends) {
    const topology::Graph graph = graph_of("star:3");
    World world(graph, {});
    const auto hosts = graph.endpoints();
    bring_up(world, hosts[0]);
    wire::ServiceRecord record;
    record.service_id.value = 0x1234;
    record.service_gid = port_gid(port_guid(world, hosts[1]));
    record.service_pkey.value = 0xffff;
    record.service_lease = 5;
    record.service_key[0] = 9;
    const auto ask = [&](uint8_t method, uint64_t mask) {
        return world.ask(hosts[1], question_of(method, wire::kSaServiceRecord, mask, record));
    };
    EXPECT_EQ(ask(wire::kMethodSet, 0x3).status, wire::kStatusSaInsufficientComponents);
    EXPECT_EQ(ask(wire::kMethodSet, 0x7f).status, wire::kStatusOk);
    const SaAnswer found = ask(wire::kMethodGet, 0x1);
    ASSERT_EQ(found.status, wire::kStatusOk);
    EXPECT_EQ(found.record<wire::ServiceRecord>(0).service_key[0], 0);  // a secret
    record.service_key[0] = 8;
    EXPECT_EQ(ask(wire::kMethodDelete, 0x7f).status, wire::kStatusSaDenied);
    world.run_until(world.now() + base::Duration{6'000'000'000'000});
    EXPECT_EQ(ask(wire::kMethodGet, 0x1).status, wire::kStatusSaNoRecords);
}

TEST(subscribers, hear_of_ports_that_go_and_come_and_of_groups) {
    const topology::Graph graph = graph_of("leaf-spine:leaves=2,spines=2,hosts=2");
    World world(graph, {});
    const auto hosts = graph.endpoints();
    bring_up(world, hosts[0]);
    wire::InformInfo info;
    info.lid_range_begin.value = 0xffff;
    info.is_generic = 1;
    info.subscribe = 1;
    info.type.value = wire::kNoticeSubnetManagement;
    info.trap_number = 0xffff;
    info.producer_type.value = 0xff'ffff;
    ASSERT_EQ(
        world.ask(hosts[1], question_of(wire::kMethodSet, wire::kSaInformInfo, 0, info)).status,
        wire::kStatusOk);
    const auto traps = [&] {
        world.run_until(world.now() + base::Duration{5'000'000'000'000});
        std::vector<uint16_t> numbers;
        for (const wire::Notice& notice : world.gmps().client(hosts[1]).take_notices())
            numbers.push_back(notice.trap_number);
        return numbers;
    };
    const uint32_t cable = [&] {
        for (uint32_t i = 0; i < graph.cables.size(); ++i)
            if (graph.cables[i].a.node == hosts[3] || graph.cables[i].b.node == hosts[3]) return i;
        return 0u;
    }();
    world.set_cable(cable, false);
    EXPECT_EQ(traps(), std::vector<uint16_t>{wire::kTrapOutOfService});
    world.set_cable(cable, true);
    EXPECT_EQ(traps(), std::vector<uint16_t>{wire::kTrapInService});
    join(world, hosts[2], group_gid(1));
    EXPECT_EQ(traps(), std::vector<uint16_t>{wire::kTrapMulticastGroupCreated});
    info.subscribe = 0;
    ASSERT_EQ(
        world.ask(hosts[1], question_of(wire::kMethodSet, wire::kSaInformInfo, 0, info)).status,
        wire::kStatusOk);
    join(world, hosts[2], group_gid(2));
    EXPECT_EQ(traps(), std::vector<uint16_t>{});
}

// The master dies: hosts repeat what they registered at the one that takes over.
TEST(administration, of_a_new_master_hears_again_what_was_registered) {
    const topology::Graph graph = graph_of("fat-tree:k=4");
    World world(graph, {});
    const auto hosts = graph.endpoints();
    const size_t master = world.add_manager(hosts[0], {.priority = 5});
    world.start_manager(master);
    world.start_manager(world.add_manager(hosts[9], {.priority = 1}));
    ASSERT_TRUE(world.run_until_at_rest(world.now() + base::Duration{60'000'000'000'000}));
    for (const size_t i : {1u, 6u, 13u})
        ASSERT_EQ(join(world, hosts[i], group_gid(1)).status, wire::kStatusOk);
    ASSERT_EQ(join(world, hosts[2], group_gid(2)).status, wire::kStatusOk);
    ASSERT_EQ(
        join(world, hosts[2], group_gid(2), wire::kJoinFullMember, wire::kMethodDelete).status,
        wire::kStatusOk);
    world.kill_manager(master);
    world.run_until(world.now() + base::Duration{120'000'000'000'000});
    ASSERT_EQ(world.manager(1).state(), wire::kSmMaster);
    const SaAnswer members = world.ask(
        hosts[3],
        question_of(wire::kMethodGetTable, wire::kSaMcMemberRecord, 0, wire::McMemberRecord{}));
    ASSERT_EQ(members.count(), 3u);
    const uint16_t mlid = members.record<wire::McMemberRecord>(0).mlid.value;
    EXPECT_EQ(copies_of(world, graph, hosts[1], mlid),
              (std::map<uint32_t, int>{{hosts[6], 1}, {hosts[13], 1}}));
}

TEST(administration, survives_any_bytes) {
    const topology::Graph graph = graph_of("star:3");
    World world(graph, {});
    const auto hosts = graph.endpoints();
    bring_up(world, hosts[0]);
    Administration administration(world.manager(0));
    auto random = testing::stream_of(11);
    uint64_t answers = 0;
    for (int i = 0; i < 20'000; ++i) {
        MadBytes mad;
        for (std::byte& byte : mad.bytes()) byte = static_cast<std::byte>(random.next());
        constexpr std::array<uint8_t, 6> kMethods{1, 2, 0x12, 0x14, 0x15, 0x92};
        constexpr std::array<uint8_t, 9> kAttributes{1,    3,    0x11, 0x12, 0x20,
                                                     0x31, 0x35, 0x38, 0x3a};
        mad.bytes()[3] = std::byte{kMethods[random.below(kMethods.size())]};
        mad.bytes()[16] = std::byte{0};
        mad.bytes()[17] = std::byte{kAttributes[random.below(kAttributes.size())]};
        mad.bytes()[15] = static_cast<std::byte>(random.below(4));
        for (size_t at = 8; at < 15; ++at) mad.bytes()[at] = std::byte{0};
        if (random.chance(1, 2)) mad.bytes()[26] = std::byte{0};
        if (random.chance(1, 2)) {
            mad.bytes()[24] = std::byte{1};
            mad.bytes()[25] = static_cast<std::byte>(random.below(5));
            for (size_t at = 28; at < 32; ++at)
                mad.bytes()[at] = std::byte{at == 31 ? uint8_t{1} : uint8_t{0}};
        }
        const base::Instant now{int64_t{i} * 1'000'000'000};
        administration.on_mad(now, static_cast<uint16_t>(1 + random.below(3)), mad);
        administration.on_timer(now);
        for (int out = 0; out < 3 && administration.poll_transmit(now); ++out) ++answers;
    }
    EXPECT_GT(answers, 1'000u);
}

}  // namespace
}  // namespace tulle::control
