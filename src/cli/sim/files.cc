#include "cli/sim/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/descriptor.h"
#include "scenario/files.h"

namespace tulle::cli {
namespace {

base::Error cannot_read(const std::string& path, int error) {
    return {fmt::format("cannot read '{}': {}", path, std::strerror(error))};
}

base::Result<std::string> read_all(const std::string& path, int descriptor) {
    std::string text;
    std::array<char, 1 << 16> buffer;
    for (;;) {
        const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cannot_read(path, errno);
        if (got == 0) return text;
        text.append(buffer.data(), static_cast<size_t>(got));
        // A pipe does not say its size beforehand.
        if (auto error = scenario::check_file_size(path, text.size())) return *error;
    }
}

}  // namespace

base::Result<std::string> read_file(const std::string& path) {
    if (path == "-") return read_all(path, STDIN_FILENO);
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return cannot_read(path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return cannot_read(path, errno);
    if (S_ISDIR(status.st_mode)) return cannot_read(path, EISDIR);
    if (S_ISREG(status.st_mode)) {
        const auto bytes = static_cast<uint64_t>(status.st_size);
        if (auto error = scenario::check_file_size(path, bytes)) return *error;
    }
    return read_all(path, file.get());
}

}  // namespace tulle::cli
