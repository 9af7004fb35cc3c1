// The configuration of the HPCC simulator (ns-3), which SimAI and others have too: a key and its
// values a line, with the topology and the flows in files beside it.
//
// What it describes runs here on the profile `peer-ns3-hpcc`. Every key that this program knows is
// known: it is used, or the notes say why it has no effect; one that cannot be honoured is refused.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scenario/files.h"
#include "sim/setup.h"

namespace tulle::scenario {

struct HpccRun {
    sim::Setup setup;
    std::string fct_file;            // FCT_OUTPUT_FILE, as written
    std::vector<std::string> notes;  // a sentence for each key without effect
};

// `paths` is the text of a file of recorded paths (workload::read_paths), or empty.
base::Result<HpccRun> read_hpcc(std::string_view config, std::string_view file,
                                const FileReader& files, std::string_view paths = {});

struct HpccKey {
    std::string_view name;
    std::string_view why_ignored;  // empty if it is used
};
std::span<const HpccKey> hpcc_keys();

}  // namespace tulle::scenario
