#include "cli/result_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace tulle::cli {
namespace {

// Whether two paths name the same file, even one that does not exist yet. Devices and pipes, such
// as /dev/null, may be given twice.
bool is_same_file(const std::string& a, const std::string& b) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (fs::exists(a, ignored) && !fs::is_regular_file(a, ignored)) return false;
    if (fs::equivalent(a, b, ignored)) return true;
    const auto place = [&](const std::string& path) {
        return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
    };
    return place(a) == place(b);
}

}  // namespace

std::optional<base::Error> find_twice(const std::vector<std::string>& paths) {
    for (size_t i = 0; i < paths.size(); ++i)
        for (size_t j = 0; j < i; ++j) {
            const auto is_file = [](const std::string& path) {
                return !path.empty() && path != "-";
            };
            if (is_file(paths[i]) && is_file(paths[j]) && is_same_file(paths[i], paths[j]))
                return base::Error{fmt::format(
                    "two outputs go to one file, '{}'; give each a name of its own", paths[i])};
        }
    return std::nullopt;
}

base::Result<ResultFiles> ResultFiles::open(std::vector<Wanted> wanted) {
    std::vector<std::string> paths;
    for (const Wanted& one : wanted) paths.push_back(one.path);
    if (auto error = find_twice(paths)) return *error;
    ResultFiles files;
    for (Wanted& one : wanted) {
        if (one.path.empty()) continue;
        if (one.path == "-") {
            if (files.takes_standard_output())
                return base::Error{"only one file can go to standard output; name the others"};
            files.places_.push_back({one.path, std::move(one.content), std::nullopt, std::nullopt});
            continue;
        }
        auto file = FileToBe::create(one.path);
        if (!file) return file.error();
        files.places_.push_back({one.path, std::move(one.content),
                                 std::optional<FileToBe>(std::move(*file)), std::nullopt});
    }
    return files;
}

bool ResultFiles::takes_standard_output() const {
    for (const Place& place : places_)
        if (!place.file) return true;
    return false;
}

Output& ResultFiles::Place::output() {
    if (file) return file->output();
    if (!standard) standard.emplace(Output::standard());
    return *standard;
}

Output* ResultFiles::stream(const std::string& path) {
    for (Place& place : places_)
        if (!place.content && place.path == path) return &place.output();
    return nullptr;
}

std::optional<base::Error> ResultFiles::write() {
    for (Place& place : places_) {
        if (place.content) place.output().write(place.content());
        if (place.standard)
            if (auto error = place.standard->finish()) return error;
    }
    for (Place& place : places_)
        if (place.file)
            if (auto error = place.file->commit()) return error;
    return std::nullopt;
}

}  // namespace tulle::cli
