#include "scenario/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "fabric/credits.h"
#include "scenario/files_test.h"

namespace tulle::scenario {
namespace {

using fabric::FlowControl;

Profile built_in(std::string_view name) {
    auto profile = read_profile(name, files_in_memory({}));
    EXPECT_TRUE(profile.ok()) << profile.error().message;
    return profile ? *profile : Profile{};
}

std::string error_of(std::string_view text) {
    const auto profile =
        read_profile("./p.yaml", files_in_memory({{"./p.yaml", std::string(text)}}));
    return profile ? "read" : profile.error().message;
}

// One way through so many switches, for a message of 64 bytes, as a closed form.
base::Duration latency_of_64_bytes(const Target& target, int switches) {
    const fabric::Settings& fabric = target.fabric;
    constexpr uint32_t kBthAndReth = 28;
    const uint32_t bytes =
        std::max(fabric.framing.envelope_bytes + kBthAndReth + 64, fabric.framing.minimum_bytes);
    const bool is_whole = fabric.node.forwarding == fabric::Forwarding::store_and_forward;
    return target.host.send_latency + target.host.receive_latency + target.host.memory.store(64) +
           (fabric.link.delay + fabric.link.fec_delay) * (switches + 1) +
           fabric.node.latency * switches +
           fabric.link.rate.time_for(bytes) * (is_whole ? switches + 1 : 1);
}

TEST(profiles, all_of_them_are_read_and_say_what_they_are) {
    EXPECT_EQ(built_in_profiles().size(), 39u);
    for (const BuiltInProfile& profile : built_in_profiles()) {
        const Profile read = built_in(profile.name);
        EXPECT_FALSE(read.name.empty()) << profile.name;
        EXPECT_FALSE(read.description.empty()) << profile.name;
    }
}

TEST(profiles, those_between_servers_leave_out_what_is_inside_one_and_other_simulators) {
    const std::vector<std::string> names = networks_between_servers();
    EXPECT_EQ(names.size(), 28u);
    for (const char* other : {"nvlink4", "nvlink5-rack", "pcie5", "ualink-200", "peer-ns3-hpcc"})
        EXPECT_EQ(std::ranges::find(names, other), names.end()) << other;
}

TEST(profiles, a_place_that_there_is_not_is_refused) {
    EXPECT_EQ(error_of("like: ib-ndr\nplace: beside\n"),
              "./p.yaml:2: place is 'beside'; write between, inside or peer");
}

TEST(profiles, every_value_of_them_has_its_source_beside_it) {
    for (const BuiltInProfile& profile : built_in_profiles()) {
        std::istringstream lines{std::string(profile.text)};
        for (std::string line; std::getline(lines, line);) {
            const bool is_value = line.starts_with("  ") && line.find(": ") != std::string::npos &&
                                  line.find_first_not_of(' ') != line.find('#');
            if (!is_value) continue;
            EXPECT_NE(line.find(" # "), std::string::npos) << profile.name << ": " << line;
        }
    }
}

TEST(profiles, those_at_400_gigabits_meet_the_latencies_that_they_were_fitted_to) {
    const auto near = [](base::Duration is, int64_t nanoseconds) {
        return std::abs(is.ps - nanoseconds * 1'000) < 5'000;
    };
    EXPECT_TRUE(near(latency_of_64_bytes(built_in("ib-ndr").target, 1), 2'800));
    EXPECT_TRUE(near(latency_of_64_bytes(built_in("ib-ndr").target, 3), 3'700));
    EXPECT_TRUE(near(latency_of_64_bytes(built_in("roce-v2-400g").target, 1), 3'600));
    EXPECT_TRUE(near(latency_of_64_bytes(built_in("roce-v2-400g").target, 3), 5'600));
    // NCCL has 600 ns for a step of LL, of which 150 ns are the reaction.
    EXPECT_TRUE(near(latency_of_64_bytes(built_in("nvlink4").target, 1), 450));
}

// Of what differs between generations only rates, a pause's response and the switch's memory count.
TEST(profiles, of_generations_stand_on_one_basis_and_each_is_faster_than_the_one_before) {
    for (const auto& names : {std::vector{"ib-hdr", "ib-ndr", "ib-xdr"},
                              std::vector{"roce-v2-100g", "roce-v2-400g", "roce-v2-800g"}})
        for (size_t i = 0; i + 1 < names.size(); ++i) {
            const Target older = built_in(names[i]).target;
            const Target newer = built_in(names[i + 1]).target;
            EXPECT_GT(latency_of_64_bytes(older, 1), latency_of_64_bytes(newer, 1)) << names[i];
            EXPECT_GT(latency_of_64_bytes(older, 3), latency_of_64_bytes(newer, 3)) << names[i];
            EXPECT_EQ(older.host.send_latency, newer.host.send_latency) << names[i];
            EXPECT_EQ(older.host.memory.latency, newer.host.memory.latency) << names[i];
            EXPECT_EQ(older.fabric.node.latency, newer.fabric.node.latency) << names[i];
            EXPECT_EQ(older.fabric.ecn.kmax_bytes, newer.fabric.ecn.kmax_bytes) << names[i];
            EXPECT_EQ(older.host.algorithms.dcqcn.additive_bps,
                      newer.host.algorithms.dcqcn.additive_bps)
                << names[i];
        }
}

// perftest on ConnectX-5 at 100 Gb/s and PCIe 3.0 x16, neither end inline: 64 B take 1.74 us and
// 4 KiB 2.66 us (linux-rdma/perftest, pull request 98). Bytes cross the line and the bus twice.
TEST(profiles, what_a_longer_message_takes_besides_is_what_was_measured_within_three_percent) {
    const transport::MemoryAccess bus{
        .latency = built_in("ib-ndr").target.host.memory.latency,
        .rate = base::Rate::bits_per_second(15'750'000'000 * 8 / 100 * 88),
        .max_inline = 0};
    const base::Rate line = base::Rate::bits_per_second(100'000'000'000);
    const auto takes = [&](uint64_t bytes) {
        return bus.fetch(bytes) + line.time_for(bytes) + bus.store(bytes);
    };
    const base::Duration more = takes(4096) - takes(64);
    EXPECT_NEAR(static_cast<double>(more.ps), 920e3, 0.03 * 920e3);
}

// Bus bandwidth of large collectives of 8 GPUs in MB/s: a ring keeps each port busy with payload.
// What the switch adds up is simulated (tests/collectives/published_test.cc).
TEST(profiles, nvlink_reaches_the_bandwidth_that_was_measured_within_three_percent) {
    const Target nvlink = built_in("nvlink4").target;
    constexpr uint64_t kBth = 12;
    const base::Rate rate = nvlink.fabric.link.rate;
    const uint64_t burst = nvlink.host.mtu + kBth + nvlink.fabric.framing.envelope_bytes;
    const uint64_t ring =
        uint64_t{nvlink.host.mtu} * 1'000'000 * rate.denominator() / (burst * rate.numerator());
    const auto near = [](uint64_t is, uint64_t measured) {
        return is * 100 > measured * 97 && is * 100 < measured * 103;
    };
    EXPECT_TRUE(near(ring, 367'000)) << ring;
    EXPECT_TRUE(near(ring, 361'000)) << ring;
    EXPECT_TRUE(near(ring, 363'000)) << ring;
    EXPECT_EQ(ring, 369'716u);
}

TEST(profiles, scale_up_loses_nothing_and_answers_nothing) {
    for (const char* name : {"nvlink4", "nvlink5", "ualink-200"}) {
        const Target target = built_in(name).target;
        EXPECT_EQ(target.fabric.flow_control, FlowControl::credits) << name;
        EXPECT_EQ(target.host.service, sim::Service::unreliable) << name;
        EXPECT_GE(target.fabric.link.delay, base::Duration{150'000}) << name;
        // A line does not run dry: a round trip of it, bursts on it, and an update of credits.
        const fabric::CreditSettings& credits = target.fabric.credits;
        const base::Duration away = target.fabric.link.delay * 2 + target.fabric.node.latency;
        EXPECT_GT(credits.lane_buffer_bytes,
                  target.fabric.link.rate.bytes_in(away) + 3 * 5'600 + credits.update_bytes)
            << name;
        EXPECT_LE(credits.lane_buffer_bytes,
                  fabric::CreditScale(credits.unit_bytes, credits.counter_bits).most_bytes())
            << name;
    }
    EXPECT_TRUE(built_in("nvlink5").target.fabric.node.reduction);
    EXPECT_FALSE(built_in("ualink-200").target.fabric.node.reduction);
}

// Goodput of full packets in the middle of a message: 392.15 and 397.48 Gb/s.
TEST(profiles, headers_and_gaps_leave_what_the_closed_form_says) {
    const auto overhead = [](const Profile& profile) {
        return profile.target.fabric.framing.envelope_bytes + 12 +
               profile.target.fabric.link.gap_bytes;
    };
    EXPECT_EQ(overhead(built_in("roce-v2-400g")), 82u);
    EXPECT_EQ(overhead(built_in("ib-ndr")), 26u);
}

TEST(profiles, one_that_is_like_another_changes_only_what_it_names) {
    const Profile base = built_in("roce-v2-400g");
    const Profile lossy = built_in("roce-v2-lossy");
    EXPECT_EQ(lossy.target.fabric.flow_control, FlowControl::none);
    EXPECT_EQ(lossy.target.host.loss, transport::LossPolicy::selective_repeat);
    EXPECT_EQ(lossy.target.fabric.node.latency, base.target.fabric.node.latency);
    EXPECT_EQ(lossy.name, "RoCE v2 lossy");
}

// A segment of 9,000 bytes of IP takes 9,038 of the line, and the costs of the kernel are those of
// the cores that the tolls stand for.
TEST(profiles, that_of_tcp_has_its_segments_and_pays_for_them) {
    const Target tcp = built_in("tcp-ethernet").target;
    EXPECT_EQ(tcp.fabric.framing.fixed_header_bytes + tcp.host.mtu + tcp.fabric.link.gap_bytes,
              9'038u);
    EXPECT_EQ(tcp.host.congestion, transport::Algorithm::dctcp);
    EXPECT_EQ(tcp.host.notifications.way, transport::NotificationSettings::Way::answer);
    EXPECT_TRUE(tcp.host.staging.is_on);
    constexpr uint64_t kCores = 2;
    const auto a_kib_of_a_core = [](const sim::Toll& toll) {
        return static_cast<double>((toll.rate->time_for(1024) * kCores).ps);
    };
    EXPECT_NEAR(a_kib_of_a_core(tcp.host.send_toll),
                static_cast<double>(tcp.host.cpu.per_byte_sent_e18) * 1024e-6, 200);
    EXPECT_NEAR(a_kib_of_a_core(tcp.host.receive_toll),
                static_cast<double>(tcp.host.cpu.per_byte_received_e18) * 1024e-6, 200);
}

TEST(profiles, of_roce_lose_one_thing_after_the_other) {
    const Target tuned = built_in("roce-v2-400g").target;
    const Target untuned = built_in("roce-v2-400g-untuned").target;
    const Target bare = built_in("roce-v2-400g-no-pfc").target;
    EXPECT_EQ(tuned.fabric.marking, fabric::Marking::ecn);
    EXPECT_EQ(untuned.fabric.marking, fabric::Marking::none);
    EXPECT_EQ(untuned.host.congestion, transport::Algorithm::none);
    EXPECT_EQ(untuned.fabric.flow_control, FlowControl::pfc);
    EXPECT_EQ(bare.fabric.flow_control, FlowControl::none);
    EXPECT_EQ(bare.host.loss, transport::LossPolicy::go_back_n);
    EXPECT_EQ(bare.fabric.node.latency, tuned.fabric.node.latency);
}

TEST(profiles, those_of_the_peers_have_their_sizes) {
    const Target htsim = built_in("peer-htsim-roce").target;
    EXPECT_EQ(htsim.fabric.framing.fixed_header_bytes + htsim.host.mtu, 4'160u);
    EXPECT_EQ(htsim.fabric.framing.fixed_ack_bytes, 64u);
    EXPECT_EQ(htsim.fabric.link.rate.time_for(1), base::Duration{80});
    EXPECT_EQ(htsim.host.congestion, transport::Algorithm::none);
    const Target hpcc = built_in("peer-ns3-hpcc").target;
    EXPECT_EQ(hpcc.fabric.framing.fixed_header_bytes + hpcc.host.mtu, 1'048u);
    EXPECT_EQ(hpcc.fabric.framing.fixed_ack_bytes, 60u);
    EXPECT_TRUE(hpcc.fabric.link.whole_nanoseconds);
    EXPECT_TRUE(hpcc.fabric.ecn.at_dequeue);
    EXPECT_EQ(hpcc.fabric.pfc.alpha_denominator, 8u);
    EXPECT_EQ(hpcc.fabric.pfc.headroom_delays, 3u);
    EXPECT_EQ(hpcc.host.notifications.way, transport::NotificationSettings::Way::answer);
}

TEST(profiles, what_is_wrong_with_one_is_said_with_file_and_line) {
    EXPECT_EQ(error_of("fabric: {}\n"), "read");
    for (const char* empty : {"", "name: mine\n"})
        EXPECT_EQ(error_of(empty),
                  "./p.yaml:1: a profile without settings; write like: ib-ndr, or settings of "
                  "fabric and hosts");
    EXPECT_EQ(error_of("fabirc: {}\n"),
              "./p.yaml:1: unknown key 'fabirc' in a profile; did you mean 'fabric'?");
    EXPECT_EQ(error_of("like: ib-ndx\n"),
              "./p.yaml:1: there is no profile 'ib-ndx'; did you mean 'ib-ndr'?");
    EXPECT_EQ(error_of("\nlike: ./p.yaml\n"), "./p.yaml:2: cannot open ././p.yaml");
    EXPECT_EQ(error_of("fabric:\n  ecn: {kmin: 5MB}\n"),
              "./p.yaml:2: fabric.ecn.kmin has no effect, because marking is not ecn; change that, "
              "or remove this");
}

TEST(profiles, a_circle_of_them_ends) {
    const auto circle = read_profile(
        "/a.yaml", files_in_memory({{"/a.yaml", "like: /b.yaml"}, {"/b.yaml", "like: /a.yaml"}}));
    ASSERT_FALSE(circle.ok());
    EXPECT_EQ(circle.error().message,
              "/b.yaml:1: profiles are like one another in a circle, or too deep");
}

}  // namespace
}  // namespace tulle::scenario
