// A collective operation as a phase of a job: which algorithms there are for it, and what they may
// be given.
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
    Algorithm between = Algorithm::ring;  // of two_level: from server to server
    bool in_switch = false;               // of two_level: inside servers
    bool pxn = false;                     // of all_to_all: by way of the receiver's rail
    uint16_t channels = 0;                // 0: usual_channels()
    Chunking chunking{};
    uint32_t peers = 8;  // of direct: others that a member serves at once; 0: all
    uint32_t root = 0;   // of broadcast: a member

    Protocol protocol = Protocol::bare;
    bool chunk_is_asked = false;  // tune() leaves the chunk as it is
    // What tune() found; nothing where it was not asked.
    Software software{};
    uint32_t library_channels = 0;  // of the library; `channels` are those of the simulation
    bool is_automatic = false;      // the algorithm was chosen
    Estimate predicted{};
    Estimate next_best{};
};

std::string_view name_of(Algorithm algorithm);
std::string_view name_of(Collective collective);

// The algorithms of a collective, the usual one first.
std::span<const Algorithm> algorithms_of(Collective collective);
// A ring for each rail, but not for a few bytes each: NCCL gives a channel 32 KiB at least.
uint16_t usual_channels(const CollectiveOptions& options, const Placement& placement);

// What does not go together, in one sentence.
std::optional<base::Error> check(const CollectiveOptions& options, const Placement& placement);
// At least as many as tasks would be made; saturates.
uint64_t most_tasks(const CollectiveOptions& options, const Placement& placement);

// What reports say of it; job and ranks are left open.
Phase phase_of(const std::string& name, const CollectiveOptions& options);
// Adds it as the job's next phase. The options are in order, and nothing in them is automatic.
void append(JobBuilder& job, const std::string& name, const CollectiveOptions& options);

}  // namespace tulle::workload
