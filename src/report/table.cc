#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace tulle::report {

std::string Table::text() const {
    std::vector<size_t> widths;
    for (const auto& cells : rows_) {
        widths.resize(std::max(widths.size(), cells.size()));
        for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
    }
    std::string text;
    for (const auto& cells : rows_) {
        std::string line = "  ";
        for (size_t i = 0; i < cells.size(); ++i)
            line += i == 0 ? fmt::format("{:<{}}", cells[i], widths[i])
                           : fmt::format("  {:>{}}", cells[i], widths[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace tulle::report
