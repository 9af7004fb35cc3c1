// Self-contained pages: one HTML file with the figures, and a script that draws them. All share
// frame.html, style.css and charts.js, which are compiled in.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/json_values.h"

namespace tulle::report {

struct PageText {
    std::string_view name;
    std::string_view text;
};

// The files of this folder, by name without extension.
std::span<const PageText> page_texts();

// The question, the date and the version of the program, supplied by the caller.
struct About {
    std::string date;     // "2026-11-15"
    std::string version;  // "Tulle 0.1.0"
    std::string command;
    std::string scenario_file;
    std::string scenario_text;
};

Json about_json(const About& about);

// A page with the script of this name.
std::string page_of(std::string_view script, std::string_view title, const Json& figures);

// The work in one line: "all_reduce of 64 MiB among 128 ranks; backup: 15 flows of 500 KB".
std::string work_text(const Facts& facts);

}  // namespace tulle::report
