// Tokens to experts and back, as DeepEP moves them (deepseek-ai/DeepEP).
//
// Each token goes to a few of all experts; a gate chooses them. Dispatch uses FP8 with a scale of
// four bytes for each 128 values. Combine uses BF16.
//
// Normal mode, for training and prompts: a token crosses to each server once. It goes to the GPU
// with the sender's place on that server, which forwards it to each GPU that has one of its
// experts. Combine takes the same way back, and sums on the way. Low-latency mode, for answers: one
// message per token and expert, straight to its GPU, with a header of 16 bytes. After the messages
// of an expert comes a flag with their number.
//
// The gate is random: the experts of a token are those that win a race of exponential times. As in
// DeepEP's tests, only a limited number of servers is kept, and each server ranks by its best
// expert. A hot expert runs `hot_times` times as fast in this race.
//
// Simplified: a chunk is acknowledged when it has arrived, not when it was forwarded. The exchange
// of token counts before a dispatch is left out.
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
    uint32_t most_servers = 4;  // servers that a token goes to at most
    bool is_low_latency = false;
    uint32_t hot_times = 1;  // an eighth of the experts is this many times as likely
    uint32_t chunk = 32;     // tokens in one message between servers
    uint64_t seed = 1;

    // Chunks that a sender may have in flight to one server. DeepEP has 12 channels (24 SMs), each
    // with a buffer of 128 tokens.
    uint32_t window() const { return chunk >= 12 * 128 ? 1 : 12 * 128 / chunk; }
};

std::optional<base::Error> check(const ExpertOptions& options, const Placement& placement);

// The servers and ranks that each rank's tokens go to.
class ExpertRoutes {
public:
    struct Copy {
        uint32_t token = 0;
        uint64_t places = 0;  // bit mask of the server's GPUs
    };
    struct Visit {
        uint32_t token = 0;
        uint32_t expert = 0;
    };

    ExpertRoutes(const ExpertOptions& options, const Placement& placement);

    // The tokens that a member sends to a server.
    const std::vector<Copy>& copies(uint32_t member, uint32_t server) const {
        return copies_[member * servers_ + server];
    }
    const std::vector<Visit>& visits(uint32_t member) const { return visits_[member]; }
    uint32_t owner(uint32_t expert) const { return expert / experts_of_member_; }
    // Tokens that a member receives, counted once per expert.
    uint64_t load(uint32_t member) const { return load_[member]; }
    // Copies to servers of all members, including to the own server, as DeepEP's figures count
    // them.
    uint64_t all_copies() const;
    // The largest load of a member over the average, in thousandths.
    uint64_t imbalance_permille() const;

private:
    uint32_t servers_;
    uint32_t experts_of_member_;
    std::vector<std::vector<Copy>> copies_;
    std::vector<std::vector<Visit>> visits_;
    std::vector<uint64_t> load_;
};

// Each adds a phase. The options must have passed check().
void append_dispatch(JobBuilder& job, const std::string& name, const ExpertOptions& options,
                     const ExpertRoutes& routes);
void append_combine(JobBuilder& job, const std::string& name, const ExpertOptions& options,
                    const ExpertRoutes& routes);

// An upper bound on the tasks of a dispatch or a combine.
uint64_t most_tasks(const ExpertOptions& options, const Placement& placement);

}  // namespace tulle::workload
