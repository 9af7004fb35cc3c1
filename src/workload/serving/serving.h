// Serving a model: requests come, their prompts are computed, their answers follow token by token.
//
// An *instance* is some GPUs that hold a model: ranks of a tensor share each layer; with experts
// spread over more ranks than that, each group of a tensor is a *replica* with requests of its own,
// and all replicas take each step together. One kind of instance does both, or prompts and answers
// have instances of their own, and the KV cache of a prompt goes from one to the other, whole or
// layer by layer.
//
// What is in a step depends on what has come until then, so the program cannot be written down
// beforehand. Each instance has a scheduler, its first rank, which decides at the end of each step
// by what that rank has seen (run.h), and tells the other ranks by message. A decision is thus an
// event of one rank like any other, and does not depend on threads. The other way, to plan all
// steps beforehand from computing times, would miss what a slow network does to batches.
//
// The tasks of a step are there once for each instance and begin again for each step; those of a
// request are there once for each request. Collectives of layers are simulated by themselves for
// some numbers of tokens, and others are on lines between them.
//
// Simplified: requests go to instances in turn; room for keys and values of all of a request is
// taken before its prompt is computed, and instances of prompts have enough; a prompt is cut only
// where answers are made beside it; nobody is pushed out.
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
    base::Duration overhead{};  // of a step, before it begins
    bool kv_by_layer = true;    // otherwise after the last layer
    // Keys and values are in memory that GPUs share: bytes of each GPU; 0: in its own. They are
    // read at so many bytes a second, as all GPUs at once were simulated to.
    uint64_t kv_memory_bytes = 0;
    uint64_t kv_memory_rate = 0;
    uint32_t most_sequences = 256;  // of a replica in a step; as vLLM does without being told
    uint64_t step_tokens = 8192;    // of a replica in a step, new ones; chosen
    bool two_batches = false;       // experts' messages of one half behind the computing of another
    // What a request has to keep for its tokens to count as goodput.
    std::optional<base::Duration> first_token_limit;
    std::optional<base::Duration> token_limit;  // between tokens, on average
};

// GPUs that are cut into instances of the same shape.
struct ServingGroup {
    std::vector<Member> members;
    uint32_t tensor = 1;
    uint32_t expert = 1;
    bool computes_prompts = true;
    bool makes_answers = true;

    uint32_t gpus_of_instance() const { return std::max(tensor, expert); }
};

// Time by number of tokens: on lines between points.
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
    uint32_t pieces = 1;   // of a step: all layers, or one each
    uint64_t kv_room = 0;  // tokens of a replica
    TokenTimes sum;        // of one all-reduce of a tensor
    TokenTimes dispatch;   // of tokens to experts, and back
    TokenTimes combine;
    // Tasks: go and done of each member but the first, computing and messages of each piece.
    uint32_t first_go = 0;
    uint32_t first_computing = 0;  // by member, then piece
    uint32_t first_saying = 0;
    uint32_t first_done = 0;

    uint32_t size() const { return static_cast<uint32_t>(members.size()); }
    uint32_t replicas() const { return size() / costs.tensor; }
    uint32_t replica_of(uint32_t member) const { return member / costs.tensor; }
};

// Part of a KV cache that one rank of a tensor sends to one of another.
struct KvTransfer {
    uint32_t from = 0;  // places in their tensors
    uint32_t to = 0;
    uint64_t bytes = 0;  // of a token and layer
};
std::vector<KvTransfer> kv_transfers(const Model& model, uint32_t from_tensor, uint32_t to_tensor);

struct ServingJob {
    ServingOptions options;
    std::vector<Request> requests;
    std::vector<ServingInstance> instances;
    std::vector<uint32_t> of_prompts;   // of `instances`
    std::vector<uint32_t> of_answers;   // the same ones, or others
    std::vector<KvTransfer> transfers;  // by `from`; none where instances do both

    // Tasks, one a request, and of its KV cache: by request, piece and transfer.
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
    uint64_t kv_bytes(uint32_t request, size_t transfer) const;  // of a piece
};

// What does not go together, or does not fit into memory, in one sentence.
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
// Adds the job. All is in order.
void append_serving(Program& program, const Job& job, const ServingOptions& options,
                    const std::vector<ServingGroup>& groups, std::vector<Request> requests,
                    const ServingPlace& place, const Rehearse& rehearse);

}  // namespace tulle::workload
