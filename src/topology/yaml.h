// Tulle's own format, which keeps everything:
//
//   hosts: [h0, {name: h1, server: 0, rail: 1}]
//   switches: [{name: leaf0, tier: 1, ports: 8}]
//   cables:
//     - [h0, leaf0]                     the next free ports
//     - {between: [h1:1, leaf0:7], rate: 100Gbps, delay: 1us, length: 3m, loss: 1e-9}
//
// Ports count from 1. Defaults: each host is a server of its own, tiers follow the distance from
// the hosts, nodes have as many ports as cables need, and rate and delay are those of the profile.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// `name` is the file's, for error messages.
base::Result<Graph> read_yaml(std::string_view text, std::string_view name);

std::string write_yaml(const Graph& graph);

}  // namespace tulle::topology
