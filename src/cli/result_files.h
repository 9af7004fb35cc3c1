// The files that a command writes in the end. All are opened before it begins, so that hours of
// work are not lost to a wrong name, and each appears whole or not at all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output.h"

namespace tulle::cli {

class ResultFiles {
public:
    struct Wanted {
        std::string path;  // - is standard output; empty: not wanted
        std::function<std::string()> content;
    };

    static base::Result<ResultFiles> open(std::vector<Wanted> wanted);

    // A file goes to standard output, which then holds nothing else.
    bool takes_standard_output() const;
    std::optional<base::Error> write();

private:
    struct Place {
        std::function<std::string()> content;
        std::optional<FileToBe> file;  // none: standard output
    };

    std::vector<Place> places_;
};

}  // namespace tulle::cli
