#include "cli/wrap.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace tulle::cli {
namespace {

// Counts the first bytes of UTF-8 characters.
size_t columns_of(std::string_view text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void wrap_line(std::string_view line, size_t columns, std::string& text) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string margin(indent + 2, ' ');
    std::string row(line.substr(0, indent));
    bool is_empty = true;  // no word in the row yet
    for (size_t at = indent; at < line.size();) {
        const size_t word = std::min(line.find_first_not_of(' ', at), line.size());
        const size_t end = std::min(line.find(' ', word), line.size());
        const std::string_view piece = line.substr(at, end - at);  // with the leading spaces
        if (!is_empty && columns_of(row) + columns_of(piece) > columns) {
            text += row + '\n';
            row = margin;
            row += line.substr(word, end - word);
        } else {
            row += piece;
        }
        is_empty = false;
        at = end;
    }
    text += row;
}

}  // namespace

std::string wrap(std::string_view text, size_t columns) {
    std::string wrapped;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        if (columns_of(line) <= columns)
            wrapped += line;
        else
            wrap_line(line, columns, wrapped);
        if (end < text.size()) wrapped += '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return wrapped;
}

size_t terminal_columns() {
    winsize size{};
    if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}

}  // namespace tulle::cli
