// The list `work` of a scenario: what hosts send.
#pragma once

#include <span>
#include <vector>

#include "scenario/fields.h"
#include "scenario/files.h"
#include "scenario/gpus.h"
#include "scenario/jobs.h"
#include "scenario/names.h"
#include "scenario/notes.h"
#include "sim/setup.h"
#include "workload/flow_files.h"

namespace tulle::scenario {

// What each entry may say besides its kind.
std::span<const KnownKey> work_keys();

std::span<const WorkKind> work_kinds();

struct WorkPlace {
    const Names& names;
    const FileReader& files;
    bool hpcc_ids = false;  // the topology is HPCC's, so its flow files count all its nodes
    size_t most_flows = workload::kMostMessages;
    Gpus gpus{};
    uint64_t most_tasks = kMostTasks;
    uint64_t most_stored = kMostStoredTasks;
};

// Adds the flows and jobs of the list to the setup, whose graph, fabric and seed are there already.
void read_work(const Value& list, const WorkPlace& place, Notes& notes, sim::Setup& setup);

// Adds the flows of a file as one group. Gives flow files' ports and priority groups.
void add_messages(std::span<const workload::Message> messages, sim::Flow pattern,
                  sim::Setup& setup);

// What a flow is unless it says more: a level and DSCP whose lane is lossless, where one is.
sim::Flow default_flow(const fabric::Settings& fabric);

// Messages of an HPCC flow file with node ids turned into endpoints, or what is wrong.
Complaint to_endpoints(const Names& names, std::vector<workload::Message>& messages);

// Gives flows the paths that were recorded. Ids are those of the graph's nodes.
Complaint add_paths(std::span<const workload::RecordedPath> paths, const Names& names,
                    size_t first_flow, sim::Setup& setup);

}  // namespace tulle::scenario
