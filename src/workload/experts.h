// Tokens to experts and back, as DeepEP moves them (deepseek-ai/DeepEP).
//
// Each token goes to some experts of all; a gate says which. Dispatch is in FP8 with a scale of
// four bytes for each 128 values, combine in BF16.
//
// Normal mode, for training and prompts: a token crosses to each server once, to the GPU that has
// the sender's place there, which hands it on to each GPU that has one of its experts. Combine goes
// the same way back, and sums on the way. Low-latency mode, for answers: a message for each token
// and expert, straight to its GPU, with a header of 16 bytes; behind those of an expert a flag with
// their number.
//
// The gate draws: the experts of a token are those that win a race of exponential times. A server's
// best expert speaks for it, and only so many servers are kept, as in DeepEP's tests. Hot experts
// run so many times as fast.
//
// Simplified: a chunk is acknowledged when it has arrived, not when it was handed on; counts of
// tokens that are exchanged before a dispatch are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "workload/job.h"

namespace tulle::workload {

constexpr uint64_t dispatch_bytes(uint64_t hidden) {
    return hidden + hidden / 128 * 4;
}
constexpr uint64_t low_latency_dispatch_bytes(uint64_t hidden) {
    return dispatch_bytes(hidden) + 16;
}
constexpr uint64_t combine_bytes(uint64_t hidden) {
    return 2 * hidden;
}
inline constexpr uint64_t kExpertFlagBytes = 8;

struct ExpertOptions {
    uint32_t tokens = 4096;  // of each rank
    uint32_t hidden = 7168;
    uint32_t experts = 256;
    uint32_t of_token = 8;
    uint32_t most_servers = 4;  // that a token goes to
    bool is_low_latency = false;
    uint32_t hot_times = 1;  // an eighth of the experts is so many times as likely as the others
    uint32_t chunk = 32;     // tokens of a message between servers
    uint64_t seed = 1;

    // Chunks of a sender that are under way to a server: DeepEP has 12 channels (24 SMs), each with
    // a buffer of 128 tokens.
    uint32_t window() const { return chunk >= 12 * 128 ? 1 : 12 * 128 / chunk; }
};

std::optional<base::Error> check(const ExpertOptions& options, const Placement& placement);

// Which ranks of which servers the tokens of a rank go to.
class ExpertRoutes {
public:
    struct Copy {
        uint32_t token = 0;
        uint64_t places = 0;  // of the server: a bit for each GPU
    };
    struct Visit {
        uint32_t token = 0;
        uint32_t expert = 0;
    };

    ExpertRoutes(const ExpertOptions& options, const Placement& placement);

    // Tokens of a member that go to a server.
    const std::vector<Copy>& copies(uint32_t member, uint32_t server) const {
        return copies_[member * servers_ + server];
    }
    const std::vector<Visit>& visits(uint32_t member) const { return visits_[member]; }
    uint32_t owner(uint32_t expert) const { return expert / experts_of_member_; }
    // Tokens that come to a member, once for each expert.
    uint64_t load(uint32_t member) const { return load_[member]; }
    // Copies to servers, the own one included, of all members: what DeepEP's figures count.
    uint64_t all_copies() const;
    // The load of the member with most, over the average, in thousandths.
    uint64_t imbalance_permille() const;

private:
    uint32_t servers_;
    uint32_t experts_of_member_;
    std::vector<std::vector<Copy>> copies_;
    std::vector<std::vector<Visit>> visits_;
    std::vector<uint64_t> load_;
};

// Each adds a phase. The options have been checked.
void append_dispatch(JobBuilder& job, const std::string& name, const ExpertOptions& options,
                     const ExpertRoutes& routes);
void append_combine(JobBuilder& job, const std::string& name, const ExpertOptions& options,
                    const ExpertRoutes& routes);

// At least as many as tasks of a dispatch or a combine.
uint64_t most_tasks(const ExpertOptions& options, const Placement& placement);

}  // namespace tulle::workload
