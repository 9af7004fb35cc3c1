// The files that a command writes at the end. All are opened before the work begins, so that a
// wrong name does not waste hours, and each appears complete or not at all.
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
        // Returns the whole text at the end; null for a file that is written through stream().
        std::function<std::string()> content;
    };

    static base::Result<ResultFiles> open(std::vector<Wanted> wanted);

    // True if a file goes to standard output, which then holds nothing else.
    bool takes_standard_output() const;
    // The output of a file that has no `content`; null if it is not wanted. write() commits it with
    // the others.
    Output* stream(const std::string& path);
    std::optional<base::Error> write();

private:
    struct Place {
        std::string path;
        std::function<std::string()> content;
        std::optional<FileToBe> file;    // none: standard output
        std::optional<Output> standard;  // once something has been written to it

        Output& output();
    };

    std::vector<Place> places_;
};

// The error if two of the outputs go to one file. Empty paths and - are no files.
std::optional<base::Error> find_twice(const std::vector<std::string>& paths);

}  // namespace tulle::cli
