// The files of a run, and what each of them holds.
#pragma once

#include <string>

#include "report/verdict.h"

namespace tulle::cli {

enum class SimFile : uint8_t { json, flows_csv, links_csv, fct, pcap, timeline };

std::string sim_file(SimFile kind, const report::Facts& facts, const report::Verdict& verdict);

}  // namespace tulle::cli
