// A finished run with everything that the writers and the verdict need, computed once. Ratios are
// whole thousandths, so that reports are the same with every compiler.
#pragma once

#include <optional>

#include "base/histogram.h"
#include "report/collectives.h"
#include "report/ideal.h"
#include "report/names.h"
#include "report/routes.h"
#include "report/serving.h"
#include "report/traces.h"
#include "report/training.h"
#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::report {

using base::Duration;
using base::Instant;

class Facts {
public:
    // Both must outlive the facts.
    Facts(const sim::Setup& setup, const sim::Result& result);
    Facts(const Facts&) = delete;
    Facts& operator=(const Facts&) = delete;

    const sim::Setup& setup;
    const sim::Result& result;
    const Names names;
    const Routes routes;
    const Ideal ideal;

    const std::vector<CollectiveFacts> collectives;  // the phases of the program
    const std::vector<TrainingFacts> trainings;
    const std::vector<ServingFacts> servings;
    const std::vector<TraceFacts> traces;

    // From the start of the first flow to the end of the last, or of the run if not all have ended;
    // likewise for phases of the program.
    Instant begin{};
    Duration span{};
    // No fabric with these links could be faster: the time of all that a host sends, or of all that
    // it receives, or of the flow that takes longest alone; for a program, of the job whose phases
    // take longest.
    Duration limit{};

    bool has_work() const { return flows() != 0 || !collectives.empty(); }
    // Every flow succeeded, and every phase ended.
    bool is_complete() const;
    size_t phases_finished() const;
    size_t flows() const { return setup.flows.size(); }
    bool succeeded(size_t flow) const;
    size_t succeeded_count() const;
    uint64_t succeeded_bytes() const;
    Instant end_of(size_t flow) const;
    Duration ideal_of(size_t flow) const { return ideals_[flow]; }
    // 1000: as fast as alone. A flow that did not end counts up to the end of the run.
    uint64_t slowdown_permille(size_t flow) const;
    // Whether some port refused its packets, because they belong to another tenant.
    bool is_refused(size_t flow) const;
    // Bits of payload per second; 0 if it did not end.
    uint64_t goodput_bps(size_t flow) const;

    uint64_t busy_permille(const sim::LinkResult& link) const { return permille(link.busy); }
    // A duration in thousandths of the simulated time.
    uint64_t permille(Duration part) const;
    // The link that sends from a port; null if the result has none.
    const sim::LinkResult* link_at(uint32_t node, uint16_t port) const;
    uint64_t drops_of(sim::Drop cause) const {
        return result.totals.dropped[static_cast<size_t>(cause)];
    }
    uint64_t drops() const;
    // Latency of the program's messages in picoseconds; without a program, completion times of
    // successful flows.
    base::Histogram message_latency() const;
    // Bytes of headers and gaps per 1000 bytes of payload, for packets of messages.
    uint64_t header_permille() const;
    // Bytes that hosts send beyond the payload, with acknowledgements and retransmissions.
    uint64_t wire_overhead_permille() const;
    uint64_t payload_bytes() const;
    size_t servers() const;
    // Processors busy with communication in each server, in thousandths.
    uint64_t busy_cores_permille() const;
    // True if senders wait for credits instead of being paused.
    bool has_credits() const { return setup.fabric.flow_control == fabric::FlowControl::credits; }
    bool is_host(uint32_t node) const { return setup.graph.nodes[node].is_host(); }
    // The lane of a flow's data.
    uint8_t lane_of(const sim::Flow& flow) const;
    // False only if no packet of the flow can leave by that port.
    bool may_cross(const sim::Flow& flow, uint32_t node, uint16_t port) const;

private:
    void reckon_span();
    void reckon_limit();
    void reckon_program_limit();

    std::vector<Duration> ideals_;
};

// The value of rank ceil(count * percent / 100) in sorted values.
template <class T>
const T& percentile(const std::vector<T>& sorted, size_t percent) {
    const size_t rank = (sorted.size() * percent + 99) / 100;
    return sorted[rank == 0 ? 0 : rank - 1];
}

uint64_t dropped_by(const sim::LinkResult& link);

// 1234 thousandths: "1.23"; 12345: "12.3".
std::string ratio_text(uint64_t permille);
// 968 thousandths: "96.8 %".
std::string percent_text(uint64_t permille);

}  // namespace tulle::report
