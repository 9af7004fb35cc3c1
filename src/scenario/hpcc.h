// The configuration of the HPCC simulator (ns-3), also used by SimAI and others. Each line has a
// key and its values; topology and flows are in separate files.
//
// The run uses the profile `peer-ns3-hpcc`. All keys of that simulator are known: each is used, or
// the notes say why it has no effect. A key that cannot be honoured is an error.
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
    std::vector<std::string> notes;  // one sentence for each key without effect
};

// `paths_file` has the recorded paths of all flows (workload::read_paths), or is empty.
base::Result<HpccRun> read_hpcc(std::string_view config, std::string_view file,
                                const FileReader& files, const std::string& paths_file = {});

struct HpccKey {
    std::string_view name;
    std::string_view why_ignored;  // empty if it is used
    bool is_of_hpcc = false;       // HPCC itself uses it all the same
};
std::span<const HpccKey> hpcc_keys();

}  // namespace tulle::scenario
