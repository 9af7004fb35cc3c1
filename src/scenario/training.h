// An entry `training` of the list `work`: a model, how it is spread over GPUs, and what overlaps.
#pragma once

#include <span>
#include <vector>

#include "scenario/gpus.h"
#include "scenario/notes.h"
#include "sim/setup.h"
#include "workload/training/step.h"

namespace tulle::scenario {

std::span<const KnownKey> training_keys();
// Of its checkpoint and data, and of its failures.
std::span<const KnownKey> training_store_keys();
std::span<const KnownKey> failure_keys();

struct TrainingEntry {
    workload::StepOptions options;
    workload::StepPlace place;
};

// `ranks` are those that the entry names, or all. Complains of what does not go together and of a
// model that does not fit into memory.
TrainingEntry read_training(const Value& map, const Gpus& gpus, std::vector<uint32_t> ranks,
                            Notes& notes);

// Simulates a collective of these groups by itself, on the networks of the setup.
workload::Rehearse rehearsal(const sim::Setup& setup);
// How long a program takes by itself there.
base::Duration time_alone(const sim::Setup& setup, workload::Program program);
// The same of tokens to experts and back.
workload::RehearseExperts rehearsal_of_experts(const sim::Setup& setup);

}  // namespace tulle::scenario
