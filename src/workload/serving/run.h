// Serving while it happens: what its schedulers and ranks decide.
//
// Whoever carries the program out says which tasks have ended and where, and begins what is
// answered, at that rank and instant. Ranks may be told of at the same time by several threads, a
// rank by one of them. Each instance's state belongs to its first rank; other ranks read the step
// that is under way after its message `go` and before their message `done`. Of a request, what was
// computed and when its first token came belong to the scheduler of its prompt, all else to that of
// its answer.
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

    // A task that is reported has ended: a message has arrived, or computing is over.
    void see(uint32_t task, base::Instant at, std::vector<Release>& releases);
    ServingOutcome outcome() const;

private:
    enum class Role : uint8_t { none, arrival, ask, ready, go, computing, saying, done };
    struct Meaning {
        Role role = Role::none;
        uint32_t instance = 0;
        uint32_t index = 0;  // of a request, or of a member
        uint32_t piece = 0;
    };
    // A part of a prompt in a step.
    struct Chunk {
        uint32_t request = 0;
        uint32_t tokens = 0;
        bool is_last = false;
    };
    struct Replica {
        uint64_t room = 0;     // tokens of KV caches
        uint64_t answers = 0;  // requests that have entered and are not over
        StepLoad load;
        std::vector<base::Duration> computing;  // by piece
    };
    struct Instance {
        std::deque<uint32_t> outside;  // requests that wait for room
        std::deque<uint32_t> prompts;  // that wait to be computed
        std::vector<uint32_t> answers;
        std::vector<Replica> replicas;
        // The step.
        bool is_busy = false;
        uint32_t missing = 0;  // members that have not ended it
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

// The same on an infinitely fast network: no message and no collective takes time.
ServingOutcome serve_alone(const Program& program, uint32_t job);

}  // namespace tulle::workload
