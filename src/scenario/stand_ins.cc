#include "scenario/stand_ins.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "scenario/alike_rails.h"
#include "scenario/bursts.h"
#include "scenario/training.h"
#include "workload/generated_job.h"

namespace tulle::scenario {
namespace {

using workload::GeneratedPhase;
using workload::Placement;
using workload::Schedule;

constexpr uint32_t kServers = 8;  // of the part that is measured; chosen
// How many times fewer bytes that part has; chosen. Under congestion control it has all of them,
// because seeds differ more the more bytes there are.
constexpr uint64_t kPartOfBytes = 8;
constexpr uint64_t kLeastBytesOfPart = 1 << 20;
// The least error that is stated for bursts. Ten trees of 64 to 256 GPUs on InfiniBand were wrong
// by 0.58 % at most, and some of them by more than the part was.
constexpr int64_t kLeastDoubtPerMillion = 10'000;
constexpr uint64_t kSeeds = 3;  // for that part, where chance matters; chosen
// The 97.5th percentile of Student's distribution with 4 degrees of freedom, one less than there
// are seeds for the runs in full and one less for the others: 95 % lie between both ends. The 95 %
// are chosen.
constexpr double kStudent = 2.776;

// Whether all work is one job of trees and chains.
bool is_of_pieces(const sim::Setup& setup) {
    if (setup.program.jobs.size() != 1 || setup.program.size() != 0 || !setup.flows.empty() ||
        !setup.faults.empty() || !setup.taps.empty())
        return false;
    return std::ranges::all_of(setup.program.generated, [](const GeneratedPhase& phase) {
        return !phase.schedule || phase.schedule->repeats_throughout();
    });
}

uint64_t packets_of(const sim::Setup& setup) {
    base::uint128_t bytes = 0;
    for (const GeneratedPhase& phase : setup.program.generated) {
        if (!phase.schedule) continue;
        const workload::CollectiveOptions& options = phase.schedule->options();
        const uint64_t passes = options.collective == workload::Collective::all_reduce ? 2 : 1;
        bytes += base::uint128_t{phase.placement->size() - 1} * passes * options.bytes;
    }
    return static_cast<uint64_t>(bytes / setup.host.mtu);
}

bool has_chance(const sim::Setup& setup) {
    return setup.host.congestion != transport::Algorithm::none;
}

// The first servers of the first collective, with fewer bytes unless chance matters.
workload::Program small_part(const sim::Setup& setup) {
    const auto first =
        std::ranges::find_if(setup.program.generated,
                             [](const GeneratedPhase& phase) { return phase.schedule != nullptr; });
    const Placement& all = *first->placement;
    std::vector<workload::Member> members;
    for (uint32_t i = 0; i < all.size() && all.server_of(i) < kServers; ++i)
        members.push_back(all[i]);
    const auto part = std::make_shared<const Placement>(members, all.has_scale_up());
    workload::CollectiveOptions options = first->schedule->options();
    options.root = std::min(options.root, part->size() - 1);
    if (!has_chance(setup))
        options.bytes = std::max(options.bytes / kPartOfBytes, kLeastBytesOfPart);
    workload::Program program;
    program.jobs.push_back(setup.program.jobs[0]);
    if (const auto schedule = Schedule::make(options, part))
        workload::GeneratedJob(program, 0, part).append("part", schedule);
    return program;
}

// In picoseconds, for each seed.
std::vector<int64_t> times_of(const sim::Setup& setup, const workload::Program& part) {
    std::vector<int64_t> times;
    sim::Setup other = setup;
    for (uint64_t i = 0; i < (has_chance(setup) ? kSeeds : 1); ++i, ++other.seed)
        times.push_back(time_alone(other, part).ps);
    return times;
}

// Replaces the setup's work and networks by what stands for them.
void take(sim::Setup& setup, uint32_t rails, uint32_t packets) {
    if (rails > 1) fold_rails(setup);
    if (packets > 1) setup.scale_up = joined(*setup.scale_up, packets);
    setup.stand_ins.packets = packets;
}

}  // namespace

void take_stand_ins(sim::Setup& setup, uint64_t most_packets) {
    if (!setup.skips || !setup.scale_up || !is_of_pieces(setup)) return;
    uint64_t left = packets_of(setup);
    if (left <= most_packets) return;
    const workload::Program part = small_part(setup);
    if (part.generated.empty()) return;
    const uint32_t rails = alike_rails(setup);
    left /= rails;
    const uint32_t packets = left > most_packets ? most_joined(*setup.scale_up) : 1;
    if (rails == 1 && packets == 1) return;
    const std::vector<int64_t> full = times_of(setup, part);
    sim::Setup small = setup;
    small.program = part;
    take(small, rails, packets);
    const int64_t doubt = doubt_of(times_of(small, small.program), full);
    take(setup, rails, packets);
    setup.stand_ins.doubt_per_million = std::max(doubt, packets > 1 ? kLeastDoubtPerMillion : 0);
}

int64_t doubt_of(std::span<const int64_t> found, std::span<const int64_t> full) {
    TULLE_CHECK(found.size() == full.size() && (full.size() == 1 || full.size() == kSeeds));
    const auto seeds = static_cast<double>(full.size());
    const auto mean_of = [&](std::span<const int64_t> times) {
        return static_cast<double>(std::accumulate(times.begin(), times.end(), int64_t{0})) / seeds;
    };
    double squares = 0;
    for (const std::span<const int64_t> times : {found, full})
        for (const int64_t time : times)
            squares += std::pow(static_cast<double>(time) - mean_of(times), 2);
    // Both means are uncertain, and so are the two runs that are compared.
    const double variance = full.size() == 1 ? 0 : squares / (2 * (seeds - 1));
    const double spread = kStudent * std::sqrt(variance * 2 * (1 + 1 / seeds));
    const double apart = std::abs(mean_of(found) - mean_of(full));
    return std::llround((apart + spread) / mean_of(full) * 1e6);
}

}  // namespace tulle::scenario
