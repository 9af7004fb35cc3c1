#include "cli/sim/outputs.h"

#include "report/csv_report.h"
#include "report/fct_report.h"
#include "report/json_report.h"
#include "report/json_values.h"
#include "report/measured.h"
#include "report/page/sim_page.h"

namespace tulle::cli {

namespace {

std::string json_of(const report::Facts& facts, const report::Verdict& verdict,
                    const SimPage& page) {
    if (!page.measured) return report::json_report(facts, verdict);
    auto json = report::run_json(facts, verdict);
    json["measured"] = report::measured_json(facts, *page.measured);
    return report::json_text(json);
}

}  // namespace

std::string sim_file(SimFile kind, const report::Facts& facts, const report::Verdict& verdict,
                     const SimPage& page) {
    switch (kind) {
        case SimFile::json: return json_of(facts, verdict, page);
        case SimFile::flows_csv: return report::flows_csv(facts);
        case SimFile::links_csv: return report::links_csv(facts);
        case SimFile::fct: return report::fct_report(facts);
        case SimFile::page: return report::sim_page(facts, verdict, page.links, page.about);
    }
    return {};
}

}  // namespace tulle::cli
