#include "cli/sim/outputs.h"

#include "report/csv_report.h"
#include "report/fct_report.h"
#include "report/json_report.h"
#include "report/page/sim_page.h"

namespace tulle::cli {

std::string sim_file(SimFile kind, const report::Facts& facts, const report::Verdict& verdict,
                     const SimPage& page) {
    switch (kind) {
        case SimFile::json: return report::json_report(facts, verdict);
        case SimFile::flows_csv: return report::flows_csv(facts);
        case SimFile::links_csv: return report::links_csv(facts);
        case SimFile::fct: return report::fct_report(facts);
        case SimFile::page: return report::sim_page(facts, verdict, page.links, page.about);
    }
    return {};
}

}  // namespace tulle::cli
