// One step of training as a program: what each rank computes, and what it says to whom and when.
//
// Each rank has one stream of computing, in the order of its pipeline (pipeline.h), and besides it
// one stream of what replicas exchange: gathered parameters ahead of the forward pass, gradients
// behind the backward pass, a bucket of layers at a time. What layers say among themselves (tensor,
// context, experts) is in the stream of computing, because the layer waits for it.
//
// Collectives of layers are many and alike. With `repeats` each kind is simulated once, by itself
// (Rehearse), and takes as long each time; ranks of a tensor still wait for each other, once a
// slot. Without it each is simulated where it happens. What replicas exchange meets the messages
// between stages, so it is simulated where it happens unless `repeats_replicas` is set: for
// programs that would be too large.
//
// Simplified: no collectives of embedding and loss; a message between stages is one message, and
// costs a library's launch and step; a ring of context and the attention of the same layer begin
// together and end when both have.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "workload/collectives/collective.h"
#include "workload/experts.h"
#include "workload/training/costs.h"
#include "workload/training/grid.h"
#include "workload/training/pipeline.h"

namespace tulle::workload {

// What is saved at the end of a step.
struct Checkpoint {
    uint32_t bytes_per_parameter = 0;  // 0: nothing is saved
    bool is_blocking = true;  // otherwise it is copied to the host, and stored beside the next step
};

// How often servers fail and what that costs.
struct Failures {
    uint64_t per_million_node_days = 0;  // 0: nothing is asked
    std::string source{};                // of this rate; empty: whoever wrote the scenario
    base::Duration restart{};
    base::Duration interval{};  // from one checkpoint to the next
    base::Duration save{};      // that a checkpoint blocks, where none is simulated
    uint32_t servers = 0;
};

struct StepOptions {
    Model model;
    Layout layout;
    Engine engine;
    PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward;
    AxisOrder order = kUsualOrder;
    bool overlaps_gradients = true;
    bool overlaps_parameters = true;
    // Of tensors, as kernels that gather and multiply piece by piece; only with `repeats`.
    bool overlaps_tensor = false;
    bool context_is_ring = true;  // otherwise keys and values are gathered before attention
    bool repeats = true;
    // What replicas exchange is simulated once too: two sizes, and others on a line through them.
    bool repeats_replicas = false;
    // Tokens go to experts as DeepEP moves them, not as an all-to-all; only with `repeats`.
    bool uses_deepep = false;
    uint32_t hot_times = 1;     // of experts: see ExpertOptions
    uint32_t most_servers = 4;  // that a token goes to
    // What goes to experts is hidden behind computing for another micro-batch; with `repeats`.
    bool overlaps_experts = false;
    // The same of messages between stages: what one takes is waited for, and a short one is sent.
    // Not without a library.
    bool repeats_messages = false;
    // Of a bucket at least; 0: as Megatron, 40 million, or a million a replica if that is more.
    uint64_t bucket_parameters = 0;
    Checkpoint checkpoint{};
    uint64_t data_bytes = 0;  // that each rank reads during a step; 0: none
    Failures failures{};

    Pipeline pipeline() const;
};

// What does not go together, in one sentence.
std::optional<base::Error> check(const StepOptions& options);

// A collective that was simulated once and is repeated.
struct RepeatedCollective {
    Purpose purpose = Purpose::tensor;
    Collective collective = Collective::all_reduce;
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    base::Duration time{};
    uint64_t times = 0;  // of a rank, in a step; of the rank with most
    std::string way;     // algorithm and protocol
    bool leaves_server = false;
};

// What is remembered of a step for whoever reports on it.
struct TrainingJob {
    StepOptions options;
    base::uint128_t operations = 0;  // of the step, as the model counts them
    uint64_t tokens = 0;
    std::vector<uint32_t> ranks;  // of the program, by place in the grid
    // By place: the tasks of its stream of computing, in order.
    std::vector<std::vector<uint32_t>> streams;
    std::vector<RepeatedCollective> repeated;
    std::array<bool, kPurposes> leaves_server{};  // some of this purpose
};

// How long a collective takes that these groups do at the same time.
using Rehearse =
    std::function<base::Duration(const std::vector<Placement>& groups, const CollectiveOptions&)>;

// How long a dispatch to experts takes, or what comes back.
using RehearseExperts = std::function<base::Duration(const std::vector<Placement>& groups,
                                                     const ExpertOptions&, bool comes_back)>;
// What a rank sends to experts in a layer and micro-batch.
ExpertOptions expert_options(const StepOptions& options);

struct StepPlace {
    std::vector<Member> members;  // by place in the grid
    bool scale_up = false;
    Machine machine;
    Protocol protocol = Protocol::automatic;
    uint16_t first_channel = 0;
    RehearseExperts rehearse_experts{};  // with uses_deepep
};
// Channels that a step takes.
inline constexpr uint16_t kStepChannels = 1600;

// What a rank sends to experts in one all-to-all of a layer and micro-batch.
uint64_t expert_bytes(const StepOptions& options);

// At least as many as tasks would be made; saturates.
uint64_t most_tasks(const StepOptions& options, const StepPlace& place);
// Adds the job. The options are in order.
void append_step(Program& program, const Job& job, const StepOptions& options,
                 const StepPlace& place, const Rehearse& rehearse);

// When the program of a step would end if neither messages nor a library took time: computing and
// bubble. By rank of the program.
std::vector<base::Duration> ideal_ends(const Program& program, uint32_t job, uint32_t ranks);

}  // namespace tulle::workload
