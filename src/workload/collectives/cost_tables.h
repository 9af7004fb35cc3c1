// The constants of NCCL's own cost model, github.com/NVIDIA/nccl at 5067397c.
//
// Latencies, limits and factors: src/graph/tuning.cc (ncclTunerConstantsDefaults, nvlsEfficiency,
// treeCorrectionFactor). Speeds that its search tries: src/graph/search.cc. Threads and thresholds:
// src/include/device.h and comm.h. All were taken before any published table was looked at.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace tulle::workload::nccl {

enum Kind : uint8_t { tree, ring, nvls, nvls_tree, kinds };
enum Proto : uint8_t { ll, ll128, simple, protos };

using Latencies = std::array<std::array<int64_t, protos>, kinds>;  // nanoseconds

inline constexpr Latencies kBase = {{{6800, 14000, 8400}, {6600, 14000, 8400}, {}, {}}};
inline constexpr Latencies kNvlink = {
    {{600, 1250, 4000}, {600, 1900, 3400}, {0, 0, 25000}, {0, 0, 25000}}};
inline constexpr Latencies kPci = {{{1000, 1900, 4000}, {1000, 2500, 5700}, {0, 0, 0}, {0, 0, 0}}};
inline constexpr Latencies kNet = {
    {{5000, 8500, 14000}, {2700, 4000, 14000}, {0, 0, 18000}, {0, 0, 20900}}};

// By generation (Volta, Ampere, Hopper, Blackwell) and number of servers (1, 2, more): 10^6 bytes a
// second. For LL between servers, the processor chooses the row: Intel's is Volta's, AMD's is
// Ampere's.
using Limits = std::array<std::array<uint64_t, 3>, 4>;
inline constexpr Limits kMostLl = {
    {{39000, 39000, 20400}, {87700, 22500, 19000}, {141000, 45000, 35000}, {282000, 90000, 70000}}};
inline constexpr Limits kMostRingLl128 = {
    {{20000, 20000, 20000}, {20000, 20000, 20000}, {36700, 36700, 36700}, {40000, 40000, 40000}}};
inline constexpr Limits kMostTreeLl128 = {
    {{20000, 20000, 20000}, {20000, 20000, 20000}, {36700, 36700, 29000}, {55600, 31670, 20000}}};
inline constexpr Limits kMostTree = {
    {{26500, 18500, 10000}, {24000, 23600, 17800}, {38700, 41400, 36000}, {70000, 42800, 24000}}};
inline constexpr Limits kMostNvlsTree = {
    {{26500, 18500, 10000}, {24000, 23600, 17800}, {0, 57700, 45500}, {0, 96000, 80000}}};

inline constexpr std::array<uint64_t, 4> kNvlsPercent = {0, 0, 85, 74};

// The share of its bandwidth that a tree reaches, in tenths, for 64 B and each power of two above.
inline constexpr std::array<std::array<uint8_t, 23>, protos> kTreeTenths = {{
    {10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10},
    {10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10},
    {9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9},
}};

// Speeds of a channel, 10^6 bytes a second, the highest first; 0 ends the list.
using Speeds = std::array<uint64_t, 20>;
inline constexpr Speeds kInside = {40000, 30000, 20000, 18000, 15000, 12000, 10000,
                                   9000,  7000,  6000,  5000,  4000,  3000};
inline constexpr Speeds kInsideHopper = {60000, 50000, 40000, 30000, 24000, 20000,
                                         15000, 12000, 11000, 6000,  3000};
inline constexpr Speeds kInsideBlackwell = {90000, 80000, 70000, 60000, 50000, 45000,
                                            40000, 30000, 24000, 20000, 19000, 18000};
inline constexpr Speeds kBetween = {48000, 30000, 28000, 24000, 20000, 18000, 15000,
                                    12000, 10000, 9000,  7000,  6000,  5000,  4000,
                                    3000,  2400,  1200,  240,   120};
inline constexpr Speeds kBetweenHopper = {48000, 45000, 42000, 40000, 30000, 24000,
                                          22000, 20000, 17500, 15000, 12000, 6000,
                                          3000,  2400,  1200,  240,   120};
inline constexpr Speeds kBetweenBlackwell = {96000, 86000, 80000, 48000, 45100, 42000, 40000,
                                             30000, 24000, 22000, 20000, 17500, 15000, 12000,
                                             6000,  3000,  2400,  1200,  240,   120};

// The time to post to an adapter, with Intel's processors and AMD's; Simple posts three times.
inline constexpr int64_t kPostIntel = 1000;
inline constexpr int64_t kPostAmd = 2000;

inline constexpr uint32_t kMostNvlsHeads = 32;
inline constexpr uint64_t kSimpleThreads = 512;
inline constexpr uint64_t kLlThreads = 512;
inline constexpr uint64_t kLl128Threads = 640;
inline constexpr uint64_t kLlThreshold = 8;  // bytes a thread; for a ring of LL, times the ranks
inline constexpr uint64_t kLl128Threshold = 8;
inline constexpr uint64_t kSimpleThreshold = 64;
inline constexpr uint64_t kNvlsChunk = 128 << 10;
inline constexpr uint32_t kSteps = 8;               // of a connection's buffer
inline constexpr uint64_t kStepSimple = 512 << 10;  // 4 MiB in 8 steps
inline constexpr uint32_t kSliceSteps = 2;          // of an all-reduce: src/include/collectives.h
inline constexpr uint32_t kSlices = 2;              // of a chunk
inline constexpr uint32_t kSlicesOfBuffer = kSteps / kSliceSteps;
inline constexpr uint64_t kStepLl = 32 << 10;    // 8 lines of 8 bytes for each of 512 threads
inline constexpr uint64_t kStepLl128 = 576'000;  // 120 words for each of 640 threads, less flags
// Chosen: messages per step of LL128, which forwards lines one by one. Enough of them that channels
// share a link as lines would.
inline constexpr uint32_t kPiecesLl128 = 36;
inline constexpr uint64_t kPointToPointLl = 16 << 10;  // per channel: NCCL_P2P_LL_THRESHOLD

}  // namespace tulle::workload::nccl
