#include "cli/about.h"

#include <fmt/format.h>

#include <ctime>
#include <string_view>

namespace tulle::cli {
namespace {

constexpr size_t kMostTextBytes = 100'000;

std::string& command() {
    static std::string text;
    return text;
}

// Quoted for a shell.
std::string quoted(std::string_view word) {
    const std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=.,:/@%+";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
        return std::string(word);
    std::string text = "'";
    for (const char c : word)
        if (c == '\'')
            text += "'\\''";
        else
            text += c;
    return text + "'";
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

}  // namespace

void remember_command(int argc, const char* const* argv) {
    std::string& text = command();
    text = "tulle";
    for (int i = 1; i < argc; ++i) text.append(" ").append(quoted(argv[i]));
}

report::About about(const std::string& file, std::string text) {
    if (text.size() > kMostTextBytes) text.clear();
    return {today(), "Tulle " TULLE_VERSION, command(), file, std::move(text)};
}

}  // namespace tulle::cli
