// The time of a flow that is alone on the fabric, in closed form: the reference of slowdown.
//
// A message is N packets of three sizes (first, middle, last) that pass H links one after another.
// The time until the last packet arrives is the longest path through a table of packets and links,
// one step right or down at a time, where each cell is the time of that packet on that link. Middle
// packets are equal, so a path is determined by the link where it leaves the first packet and the
// link where it enters the last one: H * H paths instead of N * H cells. A cut-through switch does
// not wait for the end of a packet: then the slowest link counts, and the headers at each switch.
#pragma once

#include "report/routes.h"
#include "sim/cables.h"

namespace tulle::report {

// A packet's bytes on a link, gap included.
uint64_t data_wire_bytes(const sim::Setup& setup, sim::Verb operation, uint64_t payload,
                         bool is_first, bool is_last);
// All packets of a flow.
uint64_t flow_wire_bytes(const sim::Setup& setup, const sim::Flow& flow);

using sim::cable_delay;
using sim::cable_rate;

class Ideal {
public:
    Ideal(const sim::Setup& setup, const Routes& routes);

    // From the doorbell to the requester's completion, once the last acknowledgement is back.
    base::Duration of(const sim::Flow& flow) const;

    // The same by the formula of HPCC's files (ideal_fct): the round trip of the path, the time of
    // one payload on each link, and all bytes at the rate of the slowest link.
    base::Duration of_hpcc(const sim::Flow& flow) const;

    // The links of a flow's data: its given path, or the first of the shortest paths.
    std::vector<topology::CableEnd> path(const sim::Flow& flow) const;

private:
    struct Link {
        base::Rate rate;
        base::Duration delay;
    };
    std::vector<Link> links_of(const std::vector<topology::CableEnd>& path) const;
    std::vector<topology::CableEnd> along(const std::vector<uint32_t>& nodes) const;
    base::Duration message(const sim::Flow& flow, const std::vector<Link>& links) const;
    base::Duration memory(const sim::Flow& flow, const std::vector<Link>& links) const;
    base::Duration single(uint64_t packet_bytes, const std::vector<Link>& links) const;
    base::Duration way(uint64_t packet_bytes, const std::vector<Link>& links) const;
    base::Duration time_on(const Link& link, uint64_t packet_bytes, uint64_t packets) const;

    const sim::Setup* setup_;
    const Routes* routes_;
    topology::Ports ports_;
    std::vector<uint32_t> hosts_;
};

}  // namespace tulle::report
