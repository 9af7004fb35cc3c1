// Our own form of a fabric, which loses nothing:
//
//   hosts: [h0, {name: h1, server: 0, rail: 1}]
//   switches: [{name: leaf0, tier: 1, ports: 8}]
//   cables:
//     - [h0, leaf0]                     the next free ports
//     - {between: [h1:1, leaf0:7], rate: 100Gbps, delay: 1us, length: 3m, loss: 1e-9}
//
// Ports count from 1. What is left out is as usual: each host a server of its own, tiers by the
// distance from the hosts, as many ports as cables need, rate and delay of the profile.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// `name` is that of the file, for sentences.
base::Result<Graph> read_yaml(std::string_view text, std::string_view name);

std::string write_yaml(const Graph& graph);

}  // namespace tulle::topology
