#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "cli/exit_code.h"
#include "cli/wrap.h"

namespace tulle::cli {
namespace {

base::Error cannot_write(const std::string& name, int error) {
    return {fmt::format("cannot write {}: {}", name, std::strerror(error))};
}

// Resolves a symbolic link to the file it points to.
std::string resolved(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    return real ? real.get() : path;
}

// mkstemp() makes files that only their owner may read; results get the usual permissions.
void apply_umask(int descriptor) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(descriptor, 0666 & ~mask);
}

// How many bytes the first letter has, in UTF-8; 0 for a control character and for no letter.
size_t letter_bytes(std::string_view text) {
    const auto first = static_cast<uint8_t>(text.front());
    if (first < 0x20 || first == 0x7f) return 0;
    if (first < 0x80) return 1;
    const size_t length = first < 0xc2   ? 0
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                          : first < 0xf5 ? 4
                                         : 0;
    if (length == 0 || text.size() < length) return 0;
    const auto goes_on = [](char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; };
    return std::ranges::all_of(text.substr(1, length - 1), goes_on) ? length : 0;
}

// Existing temporary files, so that an exit without unwinding can remove them.
struct Unfinished {
    std::mutex mutex;
    std::set<std::string> paths;

    void add(const std::string& path) {
        const std::scoped_lock lock(mutex);
        paths.insert(path);
    }
    void forget(const std::string& path) {
        const std::scoped_lock lock(mutex);
        paths.erase(path);
    }
};

Unfinished& unfinished() {
    static Unfinished all;
    return all;
}

}  // namespace

Output Output::standard() {
    Output output(Descriptor(::dup(STDOUT_FILENO)), "standard output");
    output.columns_ = terminal_columns();
    return output;
}

void Output::write(std::string_view text) {
    buffer_.append(text);
    if (buffer_.size() >= kBufferBytes) flush();
}

// Only complete lines can be wrapped; the rest stays in the buffer.
void Output::flush() {
    const std::string_view all(buffer_.data(), buffer_.size());
    if (columns_ == 0) {
        put(all);
        buffer_.clear();
        return;
    }
    const size_t end = all.rfind('\n') + 1;  // 0 if there is none
    put(wrap(all.substr(0, end), columns_));
    const std::string rest(all.substr(end));
    buffer_.clear();
    buffer_.append(rest);
}

void Output::put(std::string_view text) {
    const char* from = text.data();
    size_t left = text.size();
    while (left != 0 && error_ == 0 && !closed_) {
        const ssize_t written = ::write(descriptor_.get(), from, left);
        if (written >= 0) {
            from += written;
            left -= static_cast<size_t>(written);
        } else if (errno == EPIPE) {
            closed_ = true;
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
}

std::optional<base::Error> Output::finish() {
    flush();
    put(std::string_view(buffer_.data(), buffer_.size()));
    buffer_.clear();
    if (error_ == 0) return std::nullopt;
    return cannot_write(name_, error_);
}

base::Result<FileToBe> FileToBe::create(const std::string& path) {
    const std::string name = "'" + path + "'";
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
        return base::Error{fmt::format("cannot write {}: it is a directory; name a file", name)};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
        Descriptor direct(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        if (!direct) return cannot_write(name, errno);
        return FileToBe(Output(std::move(direct), name), path, {});
    }
    std::string temporary = resolved(path) + ".XXXXXX";
    Descriptor descriptor(::mkstemp(temporary.data()));
    if (!descriptor) return cannot_write(name, errno);
    unfinished().add(temporary);
    apply_umask(descriptor.get());
    return FileToBe(Output(std::move(descriptor), name), resolved(path), std::move(temporary));
}

FileToBe::~FileToBe() {
    if (temporary_.empty()) return;
    ::unlink(temporary_.c_str());
    unfinished().forget(temporary_);
}

std::optional<base::Error> FileToBe::commit() {
    if (auto error = output_.finish()) return error;
    if (temporary_.empty()) return std::nullopt;
    if (::rename(temporary_.c_str(), place_.c_str()) != 0)
        return cannot_write("'" + place_ + "'", errno);
    unfinished().forget(temporary_);
    temporary_.clear();
    return std::nullopt;
}

int print_all(std::string_view words, std::string_view text) {
    Output standard = Output::standard();
    standard.write(text);
    const auto error = standard.finish();
    if (error) fmt::print(stderr, "{}: {}\n", words, error->message);
    return error ? kRunFailed : kDone;
}

std::string printable(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const size_t length = letter_bytes(text);
        if (length == 0) fmt::format_to(std::back_inserter(shown), "\\x{:02x}", uint8_t(text[0]));
        shown.append(text.substr(0, length));
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    return shown;
}

int fail(std::string_view command, const base::Error& error, int exit_code) {
    fmt::print(stderr, "tulle {}: {}\n", command, printable(error.message));
    return exit_code;
}

void remove_unfinished_files() {
    const std::scoped_lock lock(unfinished().mutex);
    for (const std::string& path : unfinished().paths) ::unlink(path.c_str());
}

}  // namespace tulle::cli
