// Entries of `work` that are programs: collectives, jobs made of several steps, storage.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenario/files.h"
#include "scenario/gpus.h"
#include "scenario/names.h"
#include "scenario/notes.h"
#include "sim/setup.h"
#include "workload/collectives/collective.h"
#include "workload/schedule.h"
#include "workload/storage.h"

namespace tulle::scenario {

// Larger stored programs are refused. A task is a message of a chunk, or a task that waits.
inline constexpr uint64_t kMostTasks = 16'000'000;
// A larger job is generated while it runs, where that is possible. Chosen: a stored program of this
// size takes 215 MB besides its connections, and its waiting times can be explained.
inline constexpr uint64_t kMostStoredTasks = 1'000'000;

std::span<const WorkKind> job_kinds();
// The keys of a storage entry's drives.
std::span<const KnownKey> drive_keys();
// The kinds of steps of a job.
std::span<const KnownKey> step_keys();

struct JobPlace {
    const Names& names;
    const Gpus& gpus;
    uint64_t most_tasks = kMostTasks;
    uint64_t most_stored = kMostStoredTasks;
    const FileReader* files = nullptr;  // null: entries name no files
    bool reuses = true;                 // StepOptions::reuses
};

struct ServingEntry;

class JobReader {
public:
    JobReader(const JobPlace& place, Notes& notes, sim::Setup& setup)
        : place_(place), notes_(notes), setup_(setup) {}

    // Adds the job of an entry to the setup's program.
    void read(const WorkKind& kind, const Value& map, const workload::Job& job);

private:
    // A collective, run with each of the sizes in turn, or computing.
    struct Step {
        std::string name;
        uint32_t line = 0;
        std::optional<base::Duration> compute;
        workload::CollectiveOptions options;
        std::vector<uint64_t> sizes;
    };

    std::vector<uint32_t> ranks(const Value& map, std::string_view key);
    workload::Placement placement(const std::vector<uint32_t>& ranks) const;
    uint64_t number(const Value& map, std::string_view key, uint64_t otherwise, uint64_t least,
                    uint64_t most);
    uint64_t size(const Value& map, std::string_view key, uint64_t otherwise);
    bool yes(const Value& map, std::string_view key);
    void refuse(const Value& map, std::string_view key, std::string_view goes_with);

    std::vector<Step> read_steps(const Value& list, const workload::Placement& placement);
    Step read_step(const Value& map, const workload::Placement& placement);
    Step read_collective(std::string_view kind, const Value& map,
                         const workload::Placement& placement);
    void read_algorithm(const Value& map, workload::CollectiveOptions& options);
    void check_switches(const Value& map, const workload::Placement& placement);
    void check_network(const Value& map, workload::CollectiveOptions& options,
                       const workload::Placement& placement);
    void take_trees(workload::CollectiveOptions& options, const workload::Placement& placement,
                    uint32_t job);
    bool take_tree(const workload::Placement& placement, const std::vector<uint32_t>& members,
                   uint16_t channel, bool streams, uint32_t job);
    std::vector<uint64_t> read_sizes(const Value& map);
    void read_step_of_training(const Value& map, const workload::Job& job);
    void read_layers(const Value& map, const workload::Job& job);
    void read_served(const Value& map, const workload::Job& job);
    void read_trace_of_ranks(std::string_view kind, const Value& map, const workload::Job& job);
    void read_stores(const Value& map, const std::shared_ptr<const workload::TrainingJob>& step,
                     const workload::Job& job);
    void add_store(const Value& map, workload::Job job, workload::Storage storage);
    void read_memory(const Value& map, const workload::Job& job);
    void read_optimizer_memory(const Value& map, const workload::Job& job);
    void read_kv_memory(const Value& map, ServingEntry& entry);
    void read_storage(const Value& map, const workload::Job& job);
    std::vector<uint32_t> read_targets(const Value& map);
    void read_drives(const Value& map, workload::Storage& storage);
    void check_targets(const Value& map, const workload::Storage& storage);
    struct Part;
    std::vector<Part> parts_of(const std::vector<Step>& steps,
                               const workload::Placement& placement) const;
    static std::string name_of(const Step& step, uint64_t turn);
    void add(const workload::Job& job, const workload::Placement& placement,
             const std::vector<Step>& steps, uint64_t repeat);
    bool add_generated(const workload::Job& job, const workload::Placement& placement,
                       const std::vector<Part>& parts, uint64_t repeat);
    std::shared_ptr<const workload::Schedule> schedule_of(
        const Part& part, const std::shared_ptr<const workload::Placement>& where) const;
    bool has_room(uint32_t line, uint64_t tasks);

    JobPlace place_;
    Notes& notes_;
    sim::Setup& setup_;
    std::optional<fabric::ReductionTrees> trees_;  // trees of the fabric; jobs take from them
    uint16_t next_channel_ = 0;  // jobs do not share channels, hence no queue pairs
};

}  // namespace tulle::scenario
