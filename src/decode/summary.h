// Totals of a whole capture. Memory is bounded: flows beyond kMostFlows are counted together.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "decode/packet.h"

namespace tulle::decode {

struct FlowTotals {
    uint64_t packets = 0;
    uint64_t payload_bytes = 0;
    uint64_t operations = 0;
    uint64_t retransmitted = 0;
    uint64_t naks = 0;  // answers to its requests
};

struct Summary {
    static constexpr size_t kMostFlows = 65'536;
    static constexpr size_t kMostBadNumbers = 10'000;

    uint64_t packets = 0;
    uint64_t roce_packets = 0;  // RoCE and InfiniBand transport packets, damaged ones included
    uint64_t foreign = 0;
    uint64_t malformed = 0;
    uint64_t repeated = 0;  // seen before at another interface; not in any other figure
    uint64_t wire_bytes = 0;
    int64_t first_time_ns = 0;
    int64_t last_time_ns = 0;
    uint64_t bad_icrc = 0;
    uint64_t bad_vcrc = 0;
    uint64_t bad_lpcrc = 0;
    std::vector<uint64_t> bad_icrc_packets;  // the first kMostBadNumbers
    // All RoCE and InfiniBand packets by opcode, damaged ones included.
    std::array<uint64_t, 256> by_opcode{};

    // Only packets that are not damaged.
    uint64_t retransmitted = 0;
    uint64_t out_of_order = 0;
    uint64_t psn_gaps = 0;
    uint64_t psns_missing = 0;
    uint64_t naks = 0;
    std::map<std::string, uint64_t, std::less<>> naks_by_reason;
    uint64_t cnps = 0;
    uint64_t ecn_ce = 0;
    uint64_t fecn = 0;
    uint64_t becn = 0;

    uint64_t pause_frames = 0;  // PFC and PAUSE
    uint64_t flow_control_packets = 0;
    uint64_t operations = 0;  // completed
    std::map<std::string, uint64_t, std::less<>> operations_by_outcome;
    std::map<FlowKey, FlowTotals> flows;
    FlowTotals other_flows;

    void add(const Packet& packet);
    // Counts an operation that is open at the end of the capture.
    void add_unfinished(const FollowedOperation& operation);

    double duration_s() const;
    using FlowRow = std::pair<FlowKey, FlowTotals>;
    std::vector<FlowRow> busiest_flows(size_t most) const;

private:
    void add_transport(const Packet& packet);
    void add_noticed(const Packet& packet);
    FlowTotals& totals_of(const FlowKey& key);
};

}  // namespace tulle::decode
