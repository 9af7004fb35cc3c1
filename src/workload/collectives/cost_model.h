// NCCL's cost model: how long it expects a collective to take, by algorithm and protocol.
//
// Time is a latency plus bytes over a bandwidth. The latency depends on the numbers of ranks and
// servers; the bandwidth depends on links, channels and limits of the kernels (cost_tables.h). NCCL
// chooses the smallest time. The packets of a run do not follow this model; it only sets how they
// start.
#pragma once

#include "workload/collectives/cost_tables.h"
#include "workload/collectives/library.h"
#include "workload/placement.h"

namespace tulle::workload {

// An algorithm and protocol of NCCL.
struct Way {
    nccl::Kind kind = nccl::ring;
    nccl::Proto proto = nccl::simple;
    bool operator==(const Way&) const = default;
};

class CostModel {
public:
    CostModel(const Machine& machine, const Placement& placement, Collective collective);

    // The parts of a latency: once per collective, per step inside a server, per step between
    // servers.
    struct Latency {
        base::Duration base{};
        base::Duration inside{};
        base::Duration between{};
    };
    Latency latency(Way way, uint64_t bytes) const;
    // The number of sequential steps inside servers and between them.
    struct Steps {
        int64_t inside = 0;
        int64_t between = 0;
    };
    Steps steps(Way way) const;
    // Bytes of the collective per second, in units of 10^6; 0: NCCL cannot do it this way.
    uint64_t bandwidth(Way way, uint64_t bytes) const;
    base::Duration time(Way way, uint64_t bytes) const;
    // True if GPUs of a server use PCI Express, not NVLink.
    bool has_pci() const;
    // The channels that a collective of this size is spread over.
    uint32_t channels(Way way, uint64_t bytes) const;

    // As nccl-tests counts it.
    uint64_t bus_bandwidth(Way way) const;
    uint32_t ranks() const { return ranks_; }
    uint32_t servers() const { return servers_; }
    uint32_t per_server() const { return per_server_; }

private:
    // The number of rings, trees or heads, and the bandwidth of each.
    struct Graph {
        uint64_t channels = 1;
        uint64_t inside = 0;
        uint64_t between = 0;
    };
    Graph graph(nccl::Kind kind) const;
    uint64_t nvls_bandwidth(nccl::Kind kind, const Graph& graph) const;
    uint64_t limit(const nccl::Limits& limits) const;
    uint64_t most_ll() const;
    uint64_t ll_part() const;
    bool is_plateau(Way way, uint64_t bytes) const;

    Machine machine_;
    Collective collective_;
    uint32_t ranks_;
    uint32_t servers_;     // as the library sees them: without scale-up, each rank is a server
    uint32_t per_server_;  // ranks, rounded down
    size_t generation_;
};

}  // namespace tulle::workload
