// What a subnet manager is told by files: options as in opensm.conf, partitions as in
// partitions.conf.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "control/subnet/manager/settings.h"

namespace tulle::cli {

struct PolicyInput {
    control::ManagerSettings settings;
    std::vector<std::string> ignored;  // options that this manager does not know
};

// Empty names: there is no such file. `engine` on the command line comes before that of a file.
base::Result<PolicyInput> read_policies(const std::string& options_file,
                                        const std::string& partitions_file,
                                        const std::string& engine);

}  // namespace tulle::cli
