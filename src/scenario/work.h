// The list `work` of a scenario: the traffic of hosts.
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

// The keys of each entry besides its kind.
std::span<const KnownKey> work_keys();

std::span<const WorkKind> work_kinds();

struct WorkPlace {
    const Names& names;
    const FileReader& files;
    bool hpcc_ids = false;  // the topology is HPCC's, whose flow files number all nodes
    size_t most_flows = workload::kMostMessages;
    Gpus gpus{};
    uint64_t most_tasks = kMostTasks;
    uint64_t most_stored = kMostStoredTasks;
    bool reuses = true;  // StepOptions::reuses
};

// Adds the flows and jobs of the list to the setup, which must have its graph, fabric and seed.
void read_work(const Value& list, const WorkPlace& place, Notes& notes, sim::Setup& setup);

// Adds the flows of a file as one group, with the file's ports and priority groups.
void add_messages(std::span<const workload::Message> messages, sim::Flow pattern,
                  sim::Setup& setup);

// The defaults of a flow: a service level and DSCP whose lane is lossless, if there is one.
sim::Flow default_flow(const fabric::Settings& fabric);

// Turns the node ids of an HPCC flow file into endpoints, or says what is wrong.
Complaint to_endpoints(const Names& names, std::vector<workload::Message>& messages);

// Gives flows, from `first_flow` on, their recorded paths: the text of a file whose ids are those
// of the graph's nodes. A path that no flow takes is an error, and so is a flow without a path
// unless the fabric routes it.
std::optional<base::Error> add_paths(std::string_view text, std::string_view file,
                                     const Names& names, size_t first_flow, bool fabric_routes_rest,
                                     sim::Setup& setup);

}  // namespace tulle::scenario
