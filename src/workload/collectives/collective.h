// A collective operation as a phase of a job: its algorithms and their options.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/collectives/algorithms.h"
#include "workload/collectives/library.h"
#include "workload/job.h"

namespace tulle::workload {

struct CollectiveOptions {
    Collective collective = Collective::all_reduce;
    uint64_t bytes = 0;  // as Phase counts them
    Algorithm algorithm = Algorithm::ring;
    Algorithm between = Algorithm::ring;  // of two_level: between servers
    bool in_switch = false;               // of two_level: switches inside servers add up
    bool streams = false;                 // of in_network: through trees for long messages
    bool lacks_tree = false;              // in_network was requested, but no tree was free
    bool pxn = false;                     // of all_to_all: forward on the receiver's rail
    uint16_t channels = 0;                // 0: usual_channels()
    Chunking chunking{};
    uint32_t peers = 8;  // of direct: peers that a member serves at once; 0: all
    uint32_t root = 0;   // of broadcast: a member

    Protocol protocol = Protocol::bare;
    bool chunk_is_asked = false;  // tune() does not change the chunk
    // Results of tune(); empty if it was not called.
    Software software{};
    uint32_t library_channels = 0;  // of the library; `channels` counts those of the simulation
    bool is_automatic = false;      // the algorithm was chosen automatically
    Estimate predicted{};
    Estimate next_best{};
};

std::string_view name_of(Algorithm algorithm);

// True if switches between servers add up.
inline bool is_in_network(const CollectiveOptions& options) {
    return options.algorithm == Algorithm::in_network ||
           (options.algorithm == Algorithm::two_level && options.between == Algorithm::in_network);
}
// The members of each tree of a collective in the network: one list for each tree of a channel.
std::vector<std::vector<uint32_t>> tree_members(const CollectiveOptions& options,
                                                const Placement& placement);
std::string_view name_of(Collective collective);

// True if each member sends the same messages in both: rings that gather and rings that scatter
// blocks of one size. Nothing in the options may be automatic.
bool sends_alike(const CollectiveOptions& a, const CollectiveOptions& b, uint32_t members);

// The algorithms of a collective, the default first.
std::span<const Algorithm> algorithms_of(Collective collective);
// One ring for each rail, but fewer for small messages: NCCL gives a channel 32 KiB at least.
uint16_t usual_channels(const CollectiveOptions& options, const Placement& placement);

// The first incompatible option, in one sentence.
std::optional<base::Error> check(const CollectiveOptions& options, const Placement& placement);
// An upper bound on the number of tasks; saturates.
uint64_t most_tasks(const CollectiveOptions& options, const Placement& placement);

// The phase as reports show it; job and ranks are not filled in.
Phase phase_of(const std::string& name, const CollectiveOptions& options);
// Adds it as the job's next phase. The options must be valid, with nothing automatic left.
void append(JobBuilder& job, const std::string& name, const CollectiveOptions& options);

}  // namespace tulle::workload
