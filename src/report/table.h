// Columns of text, each as wide as its widest cell. The first column holds words, the others
// figures.
#pragma once

#include <string>
#include <vector>

namespace tulle::report {

class Table {
public:
    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    bool empty() const { return rows_.empty(); }
    // Every line indented by two.
    std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace tulle::report
