#include "report/compare/words.h"

namespace tulle::report {
namespace {

constexpr size_t kColumns = 100;

}  // namespace

std::string wrapped(std::string_view text, std::string_view indent) {
    std::string lines;
    size_t room = kColumns;
    while (text.size() > room) {
        const size_t cut = text.rfind(' ', room);
        const bool can_cut = cut != std::string_view::npos && cut > text.find_first_not_of(' ');
        if (!can_cut) break;
        lines.append(text.substr(0, cut)).append("\n").append(indent);
        text.remove_prefix(cut + 1);
        room = kColumns - indent.size();
    }
    return lines.append(text).append("\n");
}

std::string shortened(std::string_view text, size_t most) {
    if (text.size() <= most) return std::string(text);
    constexpr std::string_view kDots = " ...";
    const size_t cut = text.rfind(' ', most - kDots.size());
    return std::string(text.substr(0, cut)).append(kDots);
}

std::vector<std::string> pieces_of(std::string_view name, size_t width) {
    std::vector<std::string> pieces;
    while (name.size() > width) {
        const size_t place = name.find_last_of("- ", width - 1);
        const size_t cut = place == std::string_view::npos || place == 0 ? width : place + 1;
        pieces.emplace_back(name.substr(0, name[cut - 1] == ' ' ? cut - 1 : cut));
        name.remove_prefix(cut);
    }
    pieces.emplace_back(name);
    return pieces;
}

}  // namespace tulle::report
