#include "cli/sim/outputs.h"

#include "report/capture_report.h"
#include "report/csv_report.h"
#include "report/fct_report.h"
#include "report/json_report.h"
#include "report/timeline.h"

namespace tulle::cli {
namespace {

std::string content(SimFile kind, const report::Facts& facts, const report::Verdict& verdict) {
    switch (kind) {
        case SimFile::json: return report::json_report(facts, verdict);
        case SimFile::flows_csv: return report::flows_csv(facts);
        case SimFile::links_csv: return report::links_csv(facts);
        case SimFile::fct: return report::fct_report(facts);
        case SimFile::timeline: return report::timeline(facts);
        case SimFile::pcap: {
            const std::vector<std::byte> bytes = report::capture_report(facts.setup, facts.result);
            return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        }
    }
    return {};
}

}  // namespace

base::Result<SimOutputs> SimOutputs::open(const std::vector<Wanted>& wanted) {
    SimOutputs outputs;
    for (const Wanted& one : wanted) {
        if (one.path.empty()) continue;
        if (one.path == "-") {
            if (outputs.takes_standard_output())
                return base::Error{"only one file can go to standard output; name the others"};
            outputs.places_.push_back({one.kind, std::nullopt});
            continue;
        }
        auto file = FileToBe::create(one.path);
        if (!file) return file.error();
        outputs.places_.push_back({one.kind, std::optional<FileToBe>(std::move(*file))});
    }
    return outputs;
}

bool SimOutputs::takes_standard_output() const {
    for (const Place& place : places_)
        if (!place.file) return true;
    return false;
}

std::optional<base::Error> SimOutputs::write(const report::Facts& facts,
                                             const report::Verdict& verdict) {
    for (Place& place : places_) {
        const std::string text = content(place.kind, facts, verdict);
        if (place.file) {
            place.file->output().write(text);
            continue;
        }
        Output standard = Output::standard();
        standard.write(text);
        if (auto error = standard.finish()) return error;
    }
    for (Place& place : places_)
        if (place.file)
            if (auto error = place.file->commit()) return error;
    return std::nullopt;
}

}  // namespace tulle::cli
