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
        // The whole of it in the end, or nothing, where it is written as it comes: see stream().
        std::function<std::string()> content;
    };

    static base::Result<ResultFiles> open(std::vector<Wanted> wanted);

    // A file goes to standard output, which then holds nothing else.
    bool takes_standard_output() const;
    // Where to write a file that has no content; null if it is not wanted. It too appears with the
    // others, in write().
    Output* stream(const std::string& path);
    std::optional<base::Error> write();

private:
    struct Place {
        std::string path;
        std::function<std::string()> content;
        std::optional<FileToBe> file;    // none: standard output
        std::optional<Output> standard;  // once something was written to it

        Output& output();
    };

    std::vector<Place> places_;
};

}  // namespace tulle::cli
