// The files that are written when a run is over, and what each of them holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/page/frame.h"
#include "report/verdict.h"
#include "scenario/measured.h"

namespace tulle::cli {

enum class SimFile : uint8_t { json, flows_csv, links_csv, fct, page };

// What a page shows besides the run itself.
struct SimPage {
    std::vector<uint32_t> links;  // cables
    report::About about;
    std::optional<scenario::Measured> measured;  // of the JSON: what stands beside it
};

std::string sim_file(SimFile kind, const report::Facts& facts, const report::Verdict& verdict,
                     const SimPage& page);

}  // namespace tulle::cli
