// Loads a shared object with a congestion control (include/tulle/congestion.h).
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "transport/congestion/plugin.h"

namespace tulle::live {

// Loads the plug-in of a source such as "./mine.so:key=value". An error names the file. It stays
// loaded until the process ends, because flows may call it at any time.
base::Result<std::shared_ptr<const transport::LoadedPlugin>> load_plugin(const std::string& source,
                                                                         uint64_t line_rate_bps);

// The file of a source.
std::string plugin_file_of(const std::string& source);

}  // namespace tulle::live
