#include "cli/result_files.h"

namespace tulle::cli {

base::Result<ResultFiles> ResultFiles::open(std::vector<Wanted> wanted) {
    ResultFiles files;
    for (Wanted& one : wanted) {
        if (one.path.empty()) continue;
        if (one.path == "-") {
            if (files.takes_standard_output())
                return base::Error{"only one file can go to standard output; name the others"};
            files.places_.push_back({std::move(one.content), std::nullopt});
            continue;
        }
        auto file = FileToBe::create(one.path);
        if (!file) return file.error();
        files.places_.push_back(
            {std::move(one.content), std::optional<FileToBe>(std::move(*file))});
    }
    return files;
}

bool ResultFiles::takes_standard_output() const {
    for (const Place& place : places_)
        if (!place.file) return true;
    return false;
}

std::optional<base::Error> ResultFiles::write() {
    for (Place& place : places_) {
        const std::string text = place.content();
        if (place.file) {
            place.file->output().write(text);
            continue;
        }
        Output standard = Output::standard();
        standard.write(text);
        if (auto error = standard.finish()) return error;
    }
    for (Place& place : places_)
        if (place.file)
            if (auto error = place.file->commit()) return error;
    return std::nullopt;
}

}  // namespace tulle::cli
