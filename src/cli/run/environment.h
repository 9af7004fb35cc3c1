// The environment in which a program finds the adapter: the drop-in libraries first on its path,
// the shim in front of the C library, and its rank.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tulle::cli {

using Variable = std::pair<std::string, std::string>;

// The folder of the libraries: next to this program in a build tree, else where they were
// installed.
base::Result<std::string> library_folder();

struct RunIdentity {
    uint32_t rank = 0;
    uint32_t size = 1;
    uint32_t devices = 1;
    uint32_t ports = 1;  // of each adapter
    std::string link_layer = "ethernet";
    std::string listens;       // addresses of the machine; empty: none
    std::string device_files;  // the tree that replaces /sys and /dev
};

std::vector<Variable> environment_for(const std::string& folder, const RunIdentity& who);

}  // namespace tulle::cli
