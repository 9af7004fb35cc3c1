// Serving a model: requests arrive, their prompts are computed, and their answers follow token by
// token.
//
// An *instance* is a set of GPUs that hold a model. The ranks of a tensor share each layer. If
// experts are spread over more ranks than that, each tensor group is a *replica* with its own
// requests, and all replicas take each step together. Either each instance handles both prompts and
// answers, or they have separate instances. Then the KV cache of a prompt is sent from one to the
// other, whole or layer by layer.
//
// The contents of a step depend on the requests that have arrived, so the program cannot be written
// in advance. Each instance has a scheduler, its first rank. It decides at the end of each step by
// what that rank has seen (run.h), and tells the other ranks by message. So a decision is an event
// of one rank like any other, and does not depend on threads. Planning all steps in advance from
// computing times would miss the effect of a slow network on batches.
//
// The tasks of a step exist once per instance and run again for each step. The tasks of a request
// exist once per request. Collectives of layers are simulated by themselves for some numbers of
// tokens; other numbers are on lines between them.
//
// Simplified: requests go to instances in turn. Room for all keys and values of a request is
// reserved before its prompt is computed; instances of prompts have enough. A prompt is cut only on
// instances that also make answers. No request is evicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/serving/costs.h"
#include "workload/serving/requests.h"
#include "workload/training/step.h"

namespace tulle::workload {

struct ServingOptions {
    Model model;
    Engine engine;
    uint32_t memory_permille = 800;
    uint64_t weight_bytes = 2;
    base::Duration overhead{};  // before each step
    bool kv_by_layer = true;    // KV caches are sent layer by layer, otherwise after the last
    // Keys and values in shared memory: bytes of each GPU; 0: they are in its own memory. They are
    // read at `kv_memory_rate` bytes a second, the simulated rate of all GPUs at once.
    uint64_t kv_memory_bytes = 0;
    uint64_t kv_memory_rate = 0;
    uint32_t most_sequences = 256;  // of a replica in a step; the default of vLLM
    uint64_t step_tokens = 8192;    // new tokens of a replica in a step; chosen
    bool two_batches = false;  // experts' messages of one half overlap with computing of the other
    // The limits that a request must keep for its tokens to count as goodput.
    std::optional<base::Duration> first_token_limit;
    std::optional<base::Duration> token_limit;  // between tokens, on average
};

// GPUs that are divided into instances of the same shape.
struct ServingGroup {
    std::vector<Member> members;
    uint32_t tensor = 1;
    uint32_t expert = 1;
    bool computes_prompts = true;
    bool makes_answers = true;

    uint32_t gpus_of_instance() const { return std::max(tensor, expert); }
};

// Time by number of tokens, linear between points.
struct TokenTimes {
    struct Point {
        uint64_t tokens = 0;
        base::Duration time{};
    };
    std::vector<Point> points;  // by tokens
    base::Duration at(uint64_t tokens) const;
};

struct ServingInstance {
    std::vector<Member> members;
    ServingCosts costs;
    bool computes_prompts = true;
    bool makes_answers = true;
    uint32_t pieces = 1;   // of a step: one for all layers, or one per layer
    uint64_t kv_room = 0;  // tokens of KV caches of a replica
    TokenTimes sum;        // of one all-reduce of a tensor
    TokenTimes dispatch;   // of tokens to experts
    TokenTimes combine;
    // Tasks: `go` and `done` of each member but the first; computing and messages of each piece.
    uint32_t first_go = 0;
    uint32_t first_computing = 0;  // by member, then piece
    uint32_t first_saying = 0;
    uint32_t first_done = 0;

    uint32_t size() const { return static_cast<uint32_t>(members.size()); }
    uint32_t replicas() const { return size() / costs.tensor; }
    uint32_t replica_of(uint32_t member) const { return member / costs.tensor; }
};

// The part of a KV cache that one rank of a tensor sends to a rank of another tensor.
struct KvTransfer {
    uint32_t from = 0;  // places in the respective tensors
    uint32_t to = 0;
    uint64_t bytes = 0;  // per token and layer
};
std::vector<KvTransfer> kv_transfers(const Model& model, uint32_t from_tensor, uint32_t to_tensor);

struct ServingJob {
    ServingOptions options;
    std::vector<Request> requests;
    std::vector<ServingInstance> instances;
    std::vector<uint32_t> of_prompts;   // indices into `instances`
    std::vector<uint32_t> of_answers;   // the same, or others
    std::vector<KvTransfer> transfers;  // by `from`; empty if instances do both

    // Tasks: one per request; for KV caches one per request, piece and transfer.
    uint32_t first_task = 0;
    uint32_t first_arrival = 0;
    uint32_t first_ask = 0;
    uint32_t first_kv = 0;
    uint32_t first_ready = 0;
    uint32_t first_finished = 0;
    uint32_t pieces = 1;  // of the instances of prompts

    bool is_separate() const { return !transfers.empty(); }
    uint32_t prompt_instance(uint32_t request) const {
        return of_prompts[request % of_prompts.size()];
    }
    uint32_t answer_instance(uint32_t request) const {
        return of_answers[request % of_answers.size()];
    }
    uint32_t prompt_replica(uint32_t request) const;
    uint32_t answer_replica(uint32_t request) const;
    uint32_t kv_task(uint32_t request, uint32_t piece, size_t transfer) const {
        return static_cast<uint32_t>(
            first_kv + (uint64_t{request} * pieces + piece) * transfers.size() + transfer);
    }
    uint64_t kv_bytes(uint32_t request, size_t transfer) const;  // per piece
};

// The first incompatible option, or why it does not fit into memory, in one sentence.
std::optional<base::Error> check(const ServingOptions& options, const ServingGroup& group,
                                 const std::vector<Request>& requests);

struct ServingPlace {
    bool scale_up = false;
    Machine machine;
    uint16_t first_channel = 0;
};
inline constexpr uint16_t kServingChannels = 2;

uint64_t most_tasks(const ServingOptions& options, const std::vector<ServingGroup>& groups,
                    const std::vector<Request>& requests);
// Adds the job. All arguments must be valid.
void append_serving(Program& program, const Job& job, const ServingOptions& options,
                    const std::vector<ServingGroup>& groups, std::vector<Request> requests,
                    const ServingPlace& place, const Rehearse& rehearse);

}  // namespace tulle::workload
