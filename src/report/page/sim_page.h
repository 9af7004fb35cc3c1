// One run as a page: the verdict, the topology with its loads, and over time the queues, pauses and
// marks of links and the rates of senders (drawn by sim.js). Charts over time need a trace.
#pragma once

#include <span>
#include <string>

#include "report/page/frame.h"
#include "report/verdict.h"

namespace tulle::report {

// Shows both directions of `cables` over time, and the links with most trouble.
std::string sim_page(const Facts& facts, const Verdict& verdict, std::span<const uint32_t> cables,
                     const About& about);

}  // namespace tulle::report
