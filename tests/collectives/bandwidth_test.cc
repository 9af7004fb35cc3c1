// What was measured, and was not used to fit anything.
#include "lab.h"

namespace tulle::collectives {
namespace {

// 8 x H200 on NVSwitch, nccl-tests at the largest sizes (ml-engineering, "network").
struct Measured {
    const char* name;
    Collective collective;
    Algorithm algorithm;
    uint64_t bus_bandwidth;  // thousandths of a GB/s
};

class Nvlink : public testing::TestWithParam<Measured> {};

TEST_P(Nvlink, moves_large_data_as_fast_as_was_measured_within_three_percent) {
    const Measured& measured = GetParam();
    const Cluster cluster{.scale_up = "nvlink4", .servers = 1, .gpus = 8};
    const sim::Setup setup = setup_of(cluster, {.collective = measured.collective,
                                                .bytes = uint64_t{1} << 30,
                                                .algorithm = measured.algorithm});
    const uint64_t bandwidth = bus_bandwidth(setup, time_of(setup));
    EXPECT_TRUE(is_within(bandwidth, measured.bus_bandwidth, 30)) << bandwidth;
}

INSTANTIATE_TEST_SUITE_P(
    Hopper, Nvlink,
    testing::Values(Measured{"ring", Collective::all_reduce, Algorithm::ring, 367'000},
                    Measured{"gather", Collective::all_gather, Algorithm::ring, 361'000},
                    Measured{"scatter", Collective::reduce_scatter, Algorithm::ring, 363'000}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace tulle::collectives
