// A finding of `tulle doctor`.
#pragma once

#include <string>

namespace tulle::cli {

// `works` is required, `helps` only makes things faster or better.
struct Finding {
    enum class Kind { works, helps, fails } kind;
    std::string what;
};

}  // namespace tulle::cli
