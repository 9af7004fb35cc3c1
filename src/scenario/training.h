// An entry `training` of the list `work`: a model, its layout on GPUs, and what overlaps.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "scenario/gpus.h"
#include "scenario/notes.h"
#include "sim/setup.h"
#include "workload/training/step.h"

namespace tulle::scenario {

std::span<const KnownKey> training_keys();
// The keys of its checkpoint and data, and of its failures.
std::span<const KnownKey> training_store_keys();
std::span<const KnownKey> failure_keys();

struct TrainingEntry {
    workload::StepOptions options;
    workload::StepPlace place;
};

// `ranks` are those of the entry, or all. Reports incompatible options, and a model that does not
// fit into memory.
TrainingEntry read_training(const Value& map, const Gpus& gpus, std::vector<uint32_t> ranks,
                            Notes& notes);

// Simulates a collective of these groups by itself, on the networks of the setup and at the job's
// service level.
workload::Rehearse rehearsal(const sim::Setup& setup, const workload::Job& job);
// A function for the length of the way between two ranks. It is empty unless ranks with equal ways
// give the same results: all GPUs, hosts and cables are alike, and nothing fails.
std::function<uint64_t(uint32_t, uint32_t)> ways_between_ranks(const sim::Setup& setup);
// The time of a program that runs alone on the setup.
base::Duration time_alone(const sim::Setup& setup, workload::Program program);
// Simulates a dispatch of tokens to experts, or a combine, in the same way.
workload::RehearseExperts rehearsal_of_experts(const sim::Setup& setup, const workload::Job& job);

}  // namespace tulle::scenario
