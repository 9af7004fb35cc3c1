// Every profile that comes with the program: a flow alone moves at the goodput of its headers, and
// a fabric that promises to lose nothing loses nothing.
#include "profiles.h"

#include <cmath>

namespace tulle::exact {
namespace {

// A full packet in the middle of a message: on the line, at the pace of grants
// where there are any, or through a bus or kernel that is slower.
double packet_ps(const Lab& lab) {
    const fabric::FramingSettings& framing = lab.fabric.framing;
    const uint32_t headers =
        framing.fixed_header_bytes != 0 ? framing.fixed_header_bytes : framing.envelope_bytes + 12;
    const auto time = [](base::Rate rate, uint64_t bytes) {
        constexpr uint64_t kMany = 1'000'000;
        return static_cast<double>(rate.time_for(bytes * kMany).ps) / kMany;
    };
    const uint32_t wire = lab.host.mtu + headers + lab.fabric.link.gap_bytes;
    double slowest = time(lab.fabric.link.rate, wire);
    if (const transport::RcccSettings* credit = lab.host.receiver_credit())
        slowest *= static_cast<double>(transport::kRcccOne) / credit->pace;
    if (lab.fabric.link.whole_nanoseconds) slowest = std::floor(slowest / 1000) * 1000;
    for (const sim::Toll& toll : {lab.host.send_toll, lab.host.receive_toll}) {
        double takes = static_cast<double>(toll.per_packet.ps);
        if (toll.rate) takes += time(*toll.rate, lab.host.mtu);
        slowest = std::max(slowest, takes);
    }
    return slowest;
}

TEST(Profiles, a_flow_alone_has_the_goodput_of_the_closed_form_within_a_thousandth) {
    constexpr uint64_t kPackets = 4'000;
    for (const scenario::BuiltInProfile& built_in : scenario::built_in_profiles()) {
        const Lab lab = lab_of(std::string(built_in.name), "star:2");
        const uint64_t bytes = kPackets * lab.host.mtu;
        const Duration more = completion(lab, 3 * bytes) - completion(lab, 2 * bytes);
        const double expected = packet_ps(lab) * static_cast<double>(kPackets);
        EXPECT_NEAR(static_cast<double>(more.ps) / expected, 1, 0.001) << built_in.name;
    }
}

TEST(Profiles, what_promises_to_lose_nothing_loses_nothing_under_incast) {
    for (const scenario::BuiltInProfile& built_in : scenario::built_in_profiles()) {
        Lab lab = lab_of(std::string(built_in.name), "leaf-spine:leaves=4,spines=2,hosts=4");
        for (uint32_t i = 1; i < 16; ++i)
            lab.flows.push_back({.source = i, .destination = 0, .bytes = 400'000});
        lab.stop = Instant{} + 100_ms;
        const Result result = run(lab);
        uint64_t lost = 0;
        for (const uint64_t count : result.totals.dropped) lost += count;
        const bool promises = lab.fabric.flow_control != fabric::FlowControl::none ||
                              lab.fabric.overflow == fabric::Overflow::trim;
        if (promises) {
            EXPECT_EQ(lost, 0u) << built_in.name;
        }
        const bool is_repaired = lab.host.service == sim::Service::reliable;
        for (const sim::FlowResult& flow : result.flows)
            EXPECT_TRUE(flow.finished || (!is_repaired && lost != 0)) << built_in.name;
    }
}

// One bit in 10^8 is damaged: one packet of 4 KiB in three thousand.
TEST(Profiles, a_link_that_repairs_keeps_what_a_bad_cable_damages) {
    constexpr uint64_t kBytes = 100'000'000;
    uint32_t repair = 0;
    for (const scenario::BuiltInProfile& built_in : scenario::built_in_profiles()) {
        Lab lab = lab_of(std::string(built_in.name), "star:2");
        if (lab.fabric.link.bit_errors != fabric::BitErrors::retransmitted) continue;
        ++repair;
        lab.fabric.link.error_rate_e18 = 0;
        const Duration clean = completion(lab, kBytes);
        lab.fabric.link.error_rate_e18 = 10'000'000'000;
        lab.flows = {{.source = 0, .destination = 1, .bytes = kBytes}};
        const Result result = run(lab);
        ASSERT_TRUE(result.flows[0].finished) << built_in.name;
        for (const uint64_t count : result.totals.dropped) EXPECT_EQ(count, 0u) << built_in.name;
        EXPECT_EQ(result.totals.retransmitted, 0u) << built_in.name;
        EXPECT_GT(result.flows[0].completion, clean) << built_in.name;
    }
    EXPECT_GT(repair, 0u);
}

}  // namespace
}  // namespace tulle::exact
