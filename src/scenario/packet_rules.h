// Faults of packets for programs that run in real time: the rules of `tulle run --faults`. In
// virtual time links and switches fail (faults.h), and packets are lost as a consequence.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scenario/notes.h"
#include "transport/fault_rules.h"

namespace tulle::scenario {

// Errors are one sentence that begins with "file:line: ".
base::Result<std::vector<transport::FaultRule>> read_packet_rules(std::string_view text,
                                                                  std::string_view file);

// A share of packets, such as "1%" or "0.01", in millionths.
base::Result<uint32_t> parse_share(std::string_view text);

std::span<const WorkKind> packet_rule_kinds();
std::span<const KnownKey> packet_match_keys();

}  // namespace tulle::scenario
