#include "report/page/frame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "report/findings/findings.h"

namespace tulle::report {
namespace {

constexpr size_t kMostPieces = 6;

std::string_view text_of(std::string_view name) {
    for (const PageText& one : page_texts())
        if (one.name == name) return one.text;
    TULLE_CHECK(false);
}

void put(std::string_view place, std::string_view text, std::string& page) {
    const size_t at = page.find(place);
    TULLE_CHECK(at != std::string::npos);
    page.replace(at, place.size(), text);
}

// Escapes names so that they cannot end the script with the figures, or the title.
std::string escaped(std::string_view text, std::string_view instead) {
    std::string safe;
    for (const char c : text)
        if (c == '<')
            safe += instead;
        else
            safe += c;
    return safe;
}

void add_once(std::string text, std::vector<std::string>& pieces) {
    if (std::find(pieces.begin(), pieces.end(), text) == pieces.end())
        pieces.push_back(std::move(text));
}

}  // namespace

Json about_json(const About& about) {
    return {{"date", about.date},
            {"version", about.version},
            {"command", about.command},
            {"scenario_file", about.scenario_file},
            {"scenario_text", about.scenario_text}};
}

std::string page_of(std::string_view script, std::string_view title, const Json& figures) {
    std::string page(text_of("frame"));
    put("/*style*/", text_of("style"), page);
    put("/*charts*/", text_of("charts"), page);
    put("/*script*/", text_of(script), page);
    // User text is inserted last, so that none of it is taken for a placeholder.
    put("/*figures*/null",
        escaped(figures.dump(-1, ' ', true, Json::error_handler_t::replace), "\\u003c"), page);
    put("/*title*/", escaped(title, "&lt;"), page);
    return page;
}

std::string work_text(const Facts& facts) {
    std::vector<std::string> pieces;
    for (const CollectiveFacts& phase : facts.collectives)
        if (phase.bytes != 0)
            add_once(fmt::format("{} of {} among {} ranks", phase.name,
                                 base::bytes_to_string(phase.bytes), phase.ranks),
                     pieces);
    std::vector<std::pair<uint64_t, uint64_t>> groups(facts.setup.groups.size());
    for (const sim::Flow& flow : facts.setup.flows)
        if (flow.group < groups.size()) {
            ++groups[flow.group].first;
            groups[flow.group].second += flow.bytes;
        }
    for (size_t i = 0; i < groups.size(); ++i)
        add_once(fmt::format("{}: {}, {}", facts.setup.groups[i], counted(groups[i].first, "flow"),
                             base::bytes_to_string(groups[i].second)),
                 pieces);
    const size_t more = pieces.size() > kMostPieces ? pieces.size() - kMostPieces : 0;
    if (more != 0) {
        pieces.resize(kMostPieces);
        pieces.push_back(fmt::format("and {} more", more));
    }
    return fmt::format("{}", fmt::join(pieces, "; "));
}

}  // namespace tulle::report
