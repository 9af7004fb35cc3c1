// The files that are written after a run, and their contents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/page/frame.h"
#include "report/verdict.h"
#include "scenario/measured.h"

namespace tulle::cli {

enum class SimFile : uint8_t { json, flows_csv, links_csv, fct, page };

// What a page shows in addition to the run.
struct SimPage {
    std::vector<uint32_t> links;  // cables
    report::About about;
    std::optional<scenario::Measured> measured;  // also in the JSON
};

std::string sim_file(SimFile kind, const report::Facts& facts, const report::Verdict& verdict,
                     const SimPage& page);

}  // namespace tulle::cli
