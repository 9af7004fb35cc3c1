// One step of training as a program: the computing and messages of each rank, and their order.
//
// Each rank has one stream of computing, in the order of its pipeline (pipeline.h). A second stream
// has the exchanges of replicas: gathered parameters ahead of the forward pass, gradients behind
// the backward pass, a bucket of layers at a time. Exchanges inside layers (tensor, context,
// experts) are in the stream of computing, because the layer waits for them.
//
// Collectives of layers are many and alike. With `repeats` each kind is simulated once, by itself
// (Rehearse), and always takes that long; ranks of a tensor still wait for each other, once a slot.
// Without `repeats` each is simulated where it happens. Exchanges of replicas share the network
// with messages between stages, so they are simulated where they happen. `repeats_replicas` changes
// that, for programs that would be too large.
//
// Simplified: embedding and loss have no collectives. A message between stages is one message, and
// costs a library's launch and step. A ring of context and the attention of the same layer begin
// together, and the layer continues when both have ended.
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

// What a step saves at its end.
struct Checkpoint {
    uint32_t bytes_per_parameter = 0;  // 0: nothing is saved
    bool is_blocking = true;  // otherwise it is copied to the host, and stored during the next step
};

// How often servers fail, and the cost of it.
struct Failures {
    uint64_t per_million_node_days = 0;  // 0: failures are not modeled
    std::string source{};                // of this rate; empty: the scenario
    base::Duration restart{};
    base::Duration interval{};  // from one checkpoint to the next
    base::Duration save{};      // blocking time of a checkpoint, if none is simulated
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
    // For tensors, with kernels that gather and multiply piece by piece; only with `repeats`.
    bool overlaps_tensor = false;
    bool context_is_ring = true;  // otherwise keys and values are gathered before attention
    bool repeats = true;
    // Exchanges of replicas are simulated once too: two sizes, and others on a line through them.
    bool repeats_replicas = false;
    // Tokens go to experts as DeepEP moves them, not as an all-to-all; only with `repeats`.
    bool uses_deepep = false;
    uint32_t hot_times = 1;     // for experts: see ExpertOptions
    uint32_t most_servers = 4;  // servers that a token goes to at most
    // Messages to experts overlap with computing for another micro-batch; with `repeats`.
    bool overlaps_experts = false;
    // Messages between stages are repeated too: their time passes, and a short message is sent.
    // This needs a library.
    bool repeats_messages = false;
    // Of replicas with the same results only one is in the program; see folded_replicas(). Requires
    // that collectives and messages are repeated, and that all GPUs are equally fast.
    bool folds_replicas = false;
    // A simulated collective stands for those with the same results: on other servers, and with the
    // same messages. Otherwise each is simulated, for tests.
    bool reuses = true;
    bool checks = false;  // a time on a line through two sizes is compared with a third size
    // Least size of a bucket; 0: as Megatron, 40 million, or a million per replica if that is more.
    uint64_t bucket_parameters = 0;
    Checkpoint checkpoint{};
    uint64_t data_bytes = 0;  // read by each rank during a step; 0: none
    Failures failures{};

    Pipeline pipeline() const;
};

// The first incompatible option, in one sentence.
std::optional<base::Error> check(const StepOptions& options);

// A collective that was simulated once and is repeated.
struct RepeatedCollective {
    Purpose purpose = Purpose::tensor;
    Collective collective = Collective::all_reduce;
    uint64_t bytes = 0;
    uint32_t ranks = 0;
    base::Duration time{};
    base::Duration doubt{};  // by how much that may be wrong
    uint64_t times = 0;      // per rank and step; for the rank with most
    std::string way;         // algorithm and protocol
    bool leaves_server = false;
};

// What reports need to know of a step.
struct TrainingJob {
    StepOptions options;
    base::uint128_t operations = 0;  // of the step, as the model counts them
    uint64_t tokens = 0;
    std::vector<uint32_t> ranks;  // of the program, by place in the grid
    // By place: the number of ranks with the same results, itself included; 0: another one stands
    // for it.
    std::vector<uint32_t> stands_for;
    // By place: the tasks of its stream of computing, in order.
    std::vector<std::vector<uint32_t>> streams;
    std::vector<RepeatedCollective> repeated;
    std::array<bool, kPurposes> leaves_server{};  // by Purpose: true if some do
    // The possible error of the step because things are repeated: the skipped part of each, and
    // that exchanges of replicas do not share the network with messages between stages.
    base::Duration doubt{};
    // The time of the largest checked exchange of replicas: from the line, and simulated.
    base::Duration expected{};
    base::Duration taken{};
};

struct Rehearsed {
    Rehearsed(base::Duration its_time, base::Duration its_doubt = {})
        : time(its_time), doubt(its_doubt) {}
    base::Duration time;
    base::Duration doubt;  // by how much it may be wrong, where a part was skipped
};

// Simulates a collective that these groups do at the same time.
using Rehearse =
    std::function<Rehearsed(const std::vector<Placement>& groups, const CollectiveOptions&)>;

// Simulates a dispatch to experts, or the combine if `comes_back`.
using RehearseExperts = std::function<base::Duration(const std::vector<Placement>& groups,
                                                     const ExpertOptions&, bool comes_back)>;
// The tokens and experts of a rank in one layer and micro-batch.
ExpertOptions expert_options(const StepOptions& options);

struct StepPlace {
    std::vector<Member> members;  // by place in the grid
    bool scale_up = false;
    Machine machine;
    Protocol protocol = Protocol::automatic;
    uint16_t first_channel = 0;
    RehearseExperts rehearse_experts{};  // with uses_deepep
    // The length of the way between two ranks of the program; a short message takes equally long on
    // equal ways. Needed with folds_replicas.
    std::function<uint64_t(uint32_t, uint32_t)> way_between{};
};
// The number of channels that a step uses.
inline constexpr uint16_t kStepChannels = 1600;

// The bytes that a rank sends in one all-to-all to experts, for one layer and micro-batch.
uint64_t expert_bytes(const StepOptions& options);

// By replica (of context and data): the first replica whose ranks send the same messages at the
// same times over ways of the same length. Exchanges of replicas take all of them equally long, so
// one stands for all that are alike. If nothing is folded, each stands for itself.
std::vector<uint32_t> folded_replicas(const StepOptions& options, const StepPlace& place);

// The bytes of all messages between stages in a step.
uint64_t pipeline_bytes_of_all(const StepOptions& options);

// An upper bound on the number of tasks; saturates.
uint64_t most_tasks(const StepOptions& options, const StepPlace& place);
// Adds the job. The options must be valid.
void append_step(Program& program, const Job& job, const StepOptions& options,
                 const StepPlace& place, const Rehearse& rehearse);

// When each rank of a step would end if messages and library took no time: computing and bubble. By
// rank of the program.
std::vector<base::Duration> ideal_ends(const Program& program, uint32_t job, uint32_t ranks);

}  // namespace tulle::workload
