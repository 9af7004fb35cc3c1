// Groups of ranks of a training step that do collectives together, one stage at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workload/training/step.h"

namespace tulle::workload {

// By column of a stage: the task that must end first, or afterwards the task whose end completes
// the exchange. kNoTask: nothing.
using Columns = std::vector<uint32_t>;

class Teams {
public:
    enum class Kind : uint8_t { tensor, context, expert, replicas, expert_replicas };

    Teams(Program& program, uint32_t job, const StepOptions& options, const StepPlace& place);

    struct Order {
        Kind kind = Kind::tensor;
        Purpose purpose = Purpose::tensor;
        Collective collective = Collective::all_reduce;
        uint64_t bytes = 0;
        std::string name{};
    };
    // Each group of a stage does the collective. Groups with one member do nothing.
    Columns exchange(uint32_t stage, const Order& order, const Columns& starts);
    bool is_alone(Kind kind) const;  // each group has one member
    // The groups that are simulated in place of all: one, if no group leaves its server and results
    // are reused.
    std::vector<Placement> samples(Kind kind) const;
    bool leaves_server(Kind kind) const;
    CollectiveOptions tuned(const Order& order, const Placement& placement) const;
    // The same for fewer bytes, with the algorithm and protocol for all bytes, cut for the fewer
    // ones.
    CollectiveOptions tuned_part(const Order& order, const Placement& placement,
                                 uint64_t bytes) const;

private:
    struct Team {
        Team(std::vector<uint32_t> of, JobBuilder made)
            : columns(std::move(of)), builder(std::move(made)) {}
        std::vector<uint32_t> columns;  // by member of the builder's placement
        JobBuilder builder;
    };
    Grid::Groups groups(Kind kind) const;
    Placement placement_of(uint32_t stage, const std::vector<uint32_t>& columns) const;
    std::vector<Team>& teams(uint32_t stage, Kind kind);
    const CollectiveOptions& remembered(uint32_t stage, size_t team, const Order& order,
                                        const Placement& placement);

    Program& program_;
    uint32_t job_;
    const StepOptions& options_;
    const StepPlace& place_;
    Grid grid_;
    std::map<std::pair<uint32_t, Kind>, std::vector<Team>> teams_;
    std::map<std::tuple<uint32_t, Kind, size_t, Collective, uint64_t>, CollectiveOptions> tuned_;
};

}  // namespace tulle::workload
