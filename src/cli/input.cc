#include "cli/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "live/descriptor.h"

namespace tulle::cli {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;

using FileId = std::pair<dev_t, ino_t>;

struct Inputs {
    std::mutex mutex;
    std::set<FileId> files;
};

Inputs& inputs() {
    static Inputs all;
    return all;
}

}  // namespace

void note_input(int descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
    const std::scoped_lock lock(inputs().mutex);
    inputs().files.insert({status.st_dev, status.st_ino});
}

bool is_input(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return false;
    const std::scoped_lock lock(inputs().mutex);
    return inputs().files.contains({status.st_dev, status.st_ino});
}

base::Result<std::string> read_file(const std::string& path) {
    const bool is_standard = path == "-";
    const std::string name = is_standard ? "standard input" : path;
    const live::Descriptor descriptor(is_standard ? ::dup(STDIN_FILENO)
                                                  : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!descriptor)
        return base::Error{fmt::format("cannot open {}: {}", name, std::strerror(errno))};
    note_input(descriptor.get());
    std::string content;
    std::array<char, 1 << 16> buffer{};
    while (true) {
        const ssize_t count = ::read(descriptor.get(), buffer.data(), buffer.size());
        if (count == 0) return content;
        if (count < 0 && errno == EINTR) continue;
        if (count < 0)
            return base::Error{fmt::format("cannot read {}: {}", name, std::strerror(errno))};
        content.append(buffer.data(), static_cast<size_t>(count));
        if (content.size() > kMaxBytes)
            return base::Error{fmt::format("{} is larger than {} MiB", name, kMaxBytes >> 20)};
    }
}

}  // namespace tulle::cli
