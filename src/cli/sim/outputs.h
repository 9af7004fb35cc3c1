// The files of a run. All are opened before it begins, so that hours of work are not lost to a
// wrong name, and each appears whole or not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output.h"
#include "report/verdict.h"

namespace tulle::cli {

enum class SimFile : uint8_t { json, flows_csv, links_csv, fct, pcap, timeline };

class SimOutputs {
public:
    struct Wanted {
        SimFile kind;
        std::string path;  // - is standard output; empty: not wanted
    };

    static base::Result<SimOutputs> open(const std::vector<Wanted>& wanted);

    // A file goes to standard output, which then holds nothing else.
    bool takes_standard_output() const;
    std::optional<base::Error> write(const report::Facts& facts, const report::Verdict& verdict);

private:
    struct Place {
        SimFile kind;
        std::optional<FileToBe> file;  // none: standard output
    };

    std::vector<Place> places_;
};

}  // namespace tulle::cli
