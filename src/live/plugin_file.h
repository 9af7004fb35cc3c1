// A shared object with a congestion control in it (include/tulle/congestion.h), opened.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "transport/congestion/plugin.h"

namespace tulle::live {

// By its source, "./mine.so:key=value"; or a sentence that names the file. It stays loaded until
// the process ends: flows may call it any time.
base::Result<std::shared_ptr<const transport::LoadedPlugin>> load_plugin(const std::string& source,
                                                                         uint64_t line_rate_bps);

// The file of a source.
std::string plugin_file_of(const std::string& source);

}  // namespace tulle::live
