// An entry `serving` of the list `work`: a model, the GPUs that compute its prompts and answers,
// and the arriving requests.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "scenario/files.h"
#include "scenario/gpus.h"
#include "scenario/notes.h"
#include "workload/serving/serving.h"

namespace tulle::scenario {

std::span<const KnownKey> serving_keys();
// The keys of `together`, `prefill` and `decode`.
std::span<const KnownKey> serving_group_keys();
std::span<const KnownKey> serving_limit_keys();

struct ServingEntry {
    workload::ServingOptions options;
    std::vector<workload::ServingGroup> groups;  // one group for both; or prompts, then answers
    std::vector<workload::Request> requests;
};

struct ServingSource {
    const Gpus& gpus;
    const FileReader* files;  // null: no file can be read
    uint64_t seed = 1;
    uint32_t job = 0;  // the job whose requests are drawn
    // The ranks that a map names with `ranks`, or all.
    std::function<std::vector<uint32_t>(const Value& map)> ranks;
};

ServingEntry read_serving(const Value& map, const ServingSource& source, Notes& notes);

}  // namespace tulle::scenario
