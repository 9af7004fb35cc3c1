// All-reduce as nccl-tests measured it, table by table, against the same on a simulated cluster
// with everything left to the library (algorithm: auto).
//
// The constants of NCCL's model were taken from its source first. Then these tables were looked at
// (2026-11-15), and three more constants and two profiles were fitted to some of them: what is
// fitted says so and validates nothing. A table that is not fitted was looked at, too, before the
// last constant was chosen, but none was chosen by it.
//
// A figure within 15 % of the measured one passes. Where the simulation is further off today, the
// row says by how much, in percent: a known gap, which the test holds as it is until it is mended.
#include <fmt/format.h>

#include "lab.h"

namespace tulle::collectives {
namespace {

constexpr int64_t kWithin = 15;   // percent
constexpr int64_t kGapMoves = 6;  // a known gap may change by so much
constexpr uint64_t kMiB = 1 << 20;

struct Row {
    uint64_t bytes;
    uint64_t nanoseconds;  // as measured
    int64_t gap = 0;       // percent that we are off, where it is more than it should be
};

struct Table {
    const char* name;
    Cluster cluster;
    std::vector<Row> rows;
};

int64_t percent_off(const Cluster& cluster, const Row& row) {
    const sim::Setup setup = setup_of(cluster, {.bytes = row.bytes,
                                                .algorithm = Algorithm::automatic,
                                                .protocol = workload::Protocol::automatic});
    const int64_t found = time_of(setup).ps / 1000;
    const auto measured = static_cast<int64_t>(row.nanoseconds);
    return (found - measured) * 100 / measured;
}

class Published : public testing::TestWithParam<Table> {};

TEST_P(Published, all_reduce_takes_as_long_as_was_measured_within_fifteen_percent) {
    for (const Row& row : GetParam().rows) {
        const int64_t off = percent_off(GetParam().cluster, row);
        const bool is_as_noted = row.gap != 0 && std::abs(off - row.gap) <= kGapMoves;
        EXPECT_TRUE(row.gap == 0 ? std::abs(off) <= kWithin : is_as_noted)
            << row.bytes << " bytes: " << off << " % off";
        if (std::getenv("TULLE_PUBLISHED") != nullptr)
            fmt::print("{} {} {}\n", GetParam().name, row.bytes, off);
    }
}

// The tables.

// 8 x H100, Azure ND H100 v5, NCCL 2.18.5, in place (Azure/AI-benchmarking-guide, Azure_Results/
// ND_H100_v5_results.md). Fitted: the launch, the loop of sums, nvlink4's reduction_efficiency. The
// gaps are where NCCL 2.18 already took the switch, which takes 42 us there at least.
const Table kH100 = {"h100",
                     {.scale_up = "nvlink4", .servers = 1, .gpus = 8},
                     {
                         {8192, 27'049},
                         {16384, 30'181},
                         {32768, 33'535, -23},
                         {65536, 42'165, -38},
                         {131072, 42'477, -36},
                         {262144, 42'242, -32},
                         {524288, 42'974, -26},
                         {1 * kMiB, 41'991},
                         {2 * kMiB, 44'795},
                         {4 * kMiB, 57'019},
                         {8 * kMiB, 85'285},
                         {16 * kMiB, 125'230},
                         {32 * kMiB, 198'695},
                         {64 * kMiB, 324'619},
                         {128 * kMiB, 586'308},
                         {256 * kMiB, 1'109'552},
                         {512 * kMiB, 2'142'782},
                         {1024 * kMiB, 4'029'266},
                     }};

// 8 x H200, Azure ND H200 v5, NCCL 2.20.5, in place (the same guide, ND_H200_v5_results.md). Not
// fitted. The gaps: nothing there takes less than 30 us.
const Table kH200 = {"h200",
                     {.scale_up = "nvlink4", .servers = 1, .gpus = 8},
                     {
                         {8192, 30'502, -17},
                         {16384, 30'830, -17},
                         {32768, 31'165, -17},
                         {65536, 30'830},
                         {131072, 31'039},
                         {262144, 31'102},
                         {524288, 31'229},
                         {1 * kMiB, 34'649},
                         {2 * kMiB, 41'338},
                         {4 * kMiB, 53'020},
                         {8 * kMiB, 80'686},
                         {16 * kMiB, 122'125},
                         {32 * kMiB, 195'142},
                         {64 * kMiB, 319'036},
                         {128 * kMiB, 569'478},
                         {256 * kMiB, 1'086'808},
                         {512 * kMiB, 2'122'163},
                         {1024 * kMiB, 4'018'667},
                     }};

// 8 x B200 (summary.md of a cluster acceptance report for HGX B200 at Vultr, 2026-05). Fitted: the
// launch, the loop of sums on Blackwell, nvlink5's reduction_efficiency.
const Table kB200 = {"b200",
                     {.scale_up = "nvlink5", .servers = 1, .gpus = 8},
                     {
                         {8, 20'250, 23},         {16, 18'890, 32},
                         {32, 19'340, 29},        {64, 22'610},
                         {128, 24'640},           {256, 24'730},
                         {512, 25'220},           {1024, 25'470},
                         {2048, 25'980},          {4096, 26'370},
                         {8192, 26'440},          {16384, 26'690},
                         {32768, 27'410},         {65536, 28'390},
                         {131072, 28'900},        {262144, 29'220},
                         {524288, 29'630},        {1 * kMiB, 30'100},
                         {2 * kMiB, 34'290},      {4 * kMiB, 56'170},
                         {8 * kMiB, 76'960},      {16 * kMiB, 106'990},
                         {32 * kMiB, 169'720},    {64 * kMiB, 277'180},
                         {128 * kMiB, 394'590},   {256 * kMiB, 712'600},
                         {512 * kMiB, 1'334'600}, {1024 * kMiB, 2'601'840},
                     }};

// 8 x A100, Azure ND A100 v4, NCCL 2.18.5, in place (the same guide, ND_A100_v4_results.md). Not
// fitted. NCCL's own model is as far off as we are: 182 us for 16 MiB, of which 269 were measured.
const Table kA100 = {"a100",
                     {.scale_up = "nvlink3", .servers = 1, .gpus = 8},
                     {
                         {1 * kMiB, 50'663},
                         {2 * kMiB, 68'547},
                         {4 * kMiB, 102'758, -18},
                         {8 * kMiB, 163'130, -27},
                         {16 * kMiB, 268'816, -31},
                         {32 * kMiB, 442'271, -39},
                         {64 * kMiB, 704'798, -27},
                         {128 * kMiB, 1'348'496, -25},
                         {256 * kMiB, 2'196'484},
                         {512 * kMiB, 4'240'112},
                         {1024 * kMiB, 8'237'826},
                     }};

// Two servers of 8 x B200 with eight NDR adapters each (the same report at Vultr). Not fitted.
const Table kB200Twice = {"b200_2",
                          {.scale_up = "nvlink5", .servers = 2, .gpus = 8},
                          {
                              {16 * kMiB, 190'470},
                              {32 * kMiB, 249'240},
                              {64 * kMiB, 346'140},
                              {128 * kMiB, 597'270},
                              {256 * kMiB, 927'120},
                              {512 * kMiB, 1'619'970},
                              {1024 * kMiB, 3'016'620},
                          }};

// Two servers of 8 Hopper GPUs with eight NDR adapters each (dstack's example for Nebius). Not
// fitted.
const Table kHopperTwice = {"hopper_2",
                            {.scale_up = "nvlink4", .servers = 2, .gpus = 8},
                            {
                                {16 * kMiB, 210'330},
                                {32 * kMiB, 274'230},
                                {64 * kMiB, 472'430},
                                {128 * kMiB, 759'580},
                                {256 * kMiB, 1'305'660},
                                {512 * kMiB, 2'379'380},
                                {1024 * kMiB, 4'511'970},
                            }};

// Two servers of 8 x A100 with eight HDR adapters each (dstack's example for Crusoe). Not fitted.
// The gaps: rings of LL128 copy at 20 GB/s a channel there, which here only delays and never
// limits.
const Table kA100Twice = {"a100_2c",
                          {.profile = "ib-hdr", .scale_up = "nvlink3", .servers = 2, .gpus = 8},
                          {
                              {16 * kMiB, 274'050, -16},
                              {32 * kMiB, 490'770, -19},
                              {64 * kMiB, 854'620},
                              {128 * kMiB, 1'483'430},
                              {256 * kMiB, 2'700'360},
                          }};

// The same on Azure (an exercise for AKS with ND A100 v4), a tenth slower than at Crusoe. Not
// fitted.
const Table kA100AzureTwice = {
    "a100_2a",
    {.profile = "ib-hdr", .scale_up = "nvlink3", .servers = 2, .gpus = 8},
    {
        {16 * kMiB, 333'400, -31},
        {32 * kMiB, 615'600, -36},
        {64 * kMiB, 932'600, -21},
        {128 * kMiB, 1'672'700, -21},
        {256 * kMiB, 3'013'500},
    }};

// Four servers of 8 x B200 with eight EFA adapters of 400 Gb/s each, which are not InfiniBand,
// measured from PyTorch (stas00/ml-engineering, network/README.md). Not fitted.
const Table kB200FourTimes = {"b200_4",
                              {.scale_up = "nvlink5", .servers = 4, .gpus = 8},
                              {
                                  {16 * kMiB, 504'514, -41},
                                  {32 * kMiB, 712'926, -44},
                                  {64 * kMiB, 829'548, -24},
                                  {128 * kMiB, 1'313'766, -16},
                                  {256 * kMiB, 2'270'259},
                              }};

INSTANTIATE_TEST_SUITE_P(Tables, Published,
                         testing::Values(kH100, kH200, kB200, kA100, kB200Twice, kHopperTwice,
                                         kA100Twice, kA100AzureTwice, kB200FourTimes),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace tulle::collectives
