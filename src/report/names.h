// Names of nodes, links and flows in all reports.
#pragma once

#include <string>

#include "sim/result.h"
#include "sim/setup.h"

namespace tulle::report {

class Names {
public:
    explicit Names(const sim::Setup& setup);

    const std::string& node(uint32_t node) const { return setup_->graph.nodes[node].name; }
    const std::string& endpoint(uint32_t host) const { return node(hosts_[host]); }
    std::string port(uint32_t node, uint16_t port) const;  // "s4[3]"; "h0" where there is but one
    std::string link(uint32_t node, uint16_t port) const;  // "s4[3] -> s1"
    std::string link(const sim::LinkResult& link) const { return this->link(link.node, link.port); }
    std::string cable(uint32_t cable) const;         // "s4[3] - s1[0]"
    std::string flow(size_t flow) const;             // "flow 3 (h0 -> h7)"
    std::string group(const sim::Flow& flow) const;  // the piece of work; empty if it has no name
    std::string lane(uint8_t lane) const;            // "VL 3" or "priority 3"

    // The node of each endpoint, and the cable at each port.
    const std::vector<uint32_t>& hosts() const { return hosts_; }
    const topology::Ports& ports() const { return ports_; }

private:
    const sim::Setup* setup_;
    std::vector<uint32_t> hosts_;
    topology::Ports ports_;
};

// "buffer_full": also the key in JSON.
const char* drop_name(sim::Drop cause);
const char* status_name(transport::Status status);
const char* end_name(sim::Result::End end);
// How a flow ended: its status, or "unfinished".
const char* outcome_name(const sim::FlowResult& flow);

}  // namespace tulle::report
