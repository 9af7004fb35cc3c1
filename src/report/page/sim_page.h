// One run as a page: the verdict, the topology with its loads, queues, pauses and marks of links
// and the rates of senders over time (sim.js draws it). What is over time needs a trace.
#pragma once

#include <span>
#include <string>

#include "report/page/frame.h"
#include "report/verdict.h"

namespace tulle::report {

// Both directions of `cables` are shown over time; those that had most trouble besides.
std::string sim_page(const Facts& facts, const Verdict& verdict, std::span<const uint32_t> cables,
                     const About& about);

}  // namespace tulle::report
