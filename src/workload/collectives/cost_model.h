// NCCL's cost model: how long it expects a collective to take, by algorithm and protocol.
//
// Time is a latency, which depends on the numbers of ranks and servers, and the bytes over a
// bandwidth, which depends on links, channels and limits of the kernels (cost_tables.h). NCCL takes
// the least of these. The packets of a run do not follow this model: they only begin with it.
#pragma once

#include "workload/collectives/cost_tables.h"
#include "workload/collectives/library.h"
#include "workload/placement.h"

namespace tulle::workload {

// A way to do a collective, as NCCL has them.
struct Way {
    nccl::Kind kind = nccl::ring;
    nccl::Proto proto = nccl::simple;
    bool operator==(const Way&) const = default;
};

class CostModel {
public:
    CostModel(const Machine& machine, const Placement& placement, Collective collective);

    // Latencies of which the whole is made: once, of a step inside a server, of one between
    // servers.
    struct Latency {
        base::Duration base{};
        base::Duration inside{};
        base::Duration between{};
    };
    Latency latency(Way way, uint64_t bytes) const;
    // Steps one after the other inside servers and between them.
    struct Steps {
        int64_t inside = 0;
        int64_t between = 0;
    };
    Steps steps(Way way) const;
    // Bytes of the collective over this is what they take: 10^6 bytes a second; 0: cannot be done.
    uint64_t bandwidth(Way way, uint64_t bytes) const;
    base::Duration time(Way way, uint64_t bytes) const;
    // GPUs of a server talk over PCI Express, not over NVLink.
    bool has_pci() const;
    // That a collective of this size is spread over.
    uint32_t channels(Way way, uint64_t bytes) const;

    // As nccl-tests counts it.
    uint64_t bus_bandwidth(Way way) const;
    uint32_t ranks() const { return ranks_; }
    uint32_t servers() const { return servers_; }
    uint32_t per_server() const { return per_server_; }

private:
    // Rings, trees or heads, and the bandwidth of each.
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
    uint32_t servers_;     // as the library sees them: where all messages leave, each rank is one
    uint32_t per_server_;  // ranks, rounded down
    size_t generation_;
};

}  // namespace tulle::workload
