// Serving during a run: the decisions of its schedulers and ranks.
//
// The caller runs the program. It reports which tasks have ended and where, and starts the tasks
// that see() releases, at that rank and instant. Several threads may report at the same time, but
// each rank belongs to one of them. Each instance's state belongs to its first rank; other ranks
// read the current step after its message `go` and before their message `done`. The computed part
// of a request and the time of its first token belong to the scheduler of its prompt, all else to
// that of its answer.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.h"
#include "workload/serving/outcome.h"
#include "workload/serving/serving.h"

namespace tulle::workload {

class ServingRun {
public:
    using Release = ServingRelease;

    ServingRun(const Program& program, uint32_t job);

    // Reports the end of a task: a message has arrived, or computing is over.
    void see(uint32_t task, base::Instant at, std::vector<Release>& releases);
    ServingOutcome outcome() const;

private:
    enum class Role : uint8_t { none, arrival, ask, ready, go, computing, saying, done };
    struct Meaning {
        Role role = Role::none;
        uint32_t instance = 0;
        uint32_t index = 0;  // of a request or a member
        uint32_t piece = 0;
    };
    // The part of a prompt that is computed in a step.
    struct Chunk {
        uint32_t request = 0;
        uint32_t tokens = 0;
        bool is_last = false;
    };
    struct Replica {
        uint64_t room = 0;     // tokens of KV caches
        uint64_t answers = 0;  // requests that were admitted and are not finished
        StepLoad load;
        std::vector<base::Duration> computing;  // by piece
    };
    struct Instance {
        std::deque<uint32_t> outside;  // requests that wait for room
        std::deque<uint32_t> prompts;  // requests that wait to be computed
        std::vector<uint32_t> answers;
        std::vector<Replica> replicas;
        // The current step.
        bool is_busy = false;
        uint32_t missing = 0;  // members that have not ended the step
        std::vector<Chunk> chunks;
        std::vector<base::Duration> saying;  // by piece

        std::vector<uint64_t> gaps;
        uint64_t steps = 0;
        uint64_t sequences = 0;
        base::Duration computing_sum{};
        base::Duration saying_sum{};
    };

    void find_meanings(const Program& program);
    void admit(uint32_t instance, base::Instant at, std::vector<Release>& releases);
    void begin_step(uint32_t instance, base::Instant at, std::vector<Release>& releases);
    void choose_chunks(uint32_t instance);
    void reckon_step(uint32_t instance);
    StepLoad half_of(const StepLoad& load) const;
    base::Duration saying_time(const ServingInstance& shape, uint32_t layer, uint64_t tokens,
                               base::Duration computing) const;
    void begin_piece(uint32_t instance, uint32_t member, uint32_t piece,
                     std::vector<Release>& releases) const;
    void end_piece(uint32_t instance, uint32_t member, uint32_t piece, base::Instant at,
                   std::vector<Release>& releases);
    void send_caches(uint32_t instance, uint32_t member, uint32_t piece,
                     std::vector<Release>& releases) const;
    void count_done(uint32_t instance, base::Instant at, std::vector<Release>& releases);
    void end_step(uint32_t instance, base::Instant at, std::vector<Release>& releases);
    void end_prompt(uint32_t instance, uint32_t request, base::Instant at,
                    std::vector<Release>& releases);
    void finish(uint32_t instance, uint32_t request, base::Instant at,
                std::vector<Release>& releases);
    uint32_t replica_in(uint32_t instance, uint32_t request) const;

    const Program& program_;
    const ServingJob& job_;
    std::vector<Meaning> meanings_;  // by task, from the job's first
    std::vector<Instance> instances_;
    std::vector<RequestOutcome> requests_;
    std::vector<uint32_t> computed_;           // tokens of prompts, by request
    std::vector<uint32_t> made_;               // tokens of answers, by request
    std::vector<base::Instant> second_token_;  // by request; 0: none yet
};

// The outcome on an infinitely fast network, where messages and collectives take no time.
ServingOutcome serve_alone(const Program& program, uint32_t job);

}  // namespace tulle::workload
