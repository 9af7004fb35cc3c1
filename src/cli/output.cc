#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cli/exit_code.h"
#include "cli/input.h"
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

// Existing temporary files, so that an exit without unwinding can remove them. A signal handler
// reads this, so it neither allocates nor locks. More files than slots stay behind after a signal.
class Unfinished {
public:
    void add(const std::string& path) {
        for (Slot& slot : slots_) {
            State state = State::empty;
            if (path.size() >= slot.path.size() ||
                !slot.state.compare_exchange_strong(state, State::changing))
                continue;
            std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
            slot.state = State::used;
            return;
        }
    }
    void forget(const std::string& path) {
        for (Slot& slot : slots_)
            if (slot.state == State::used && path == slot.path.data()) slot.state = State::empty;
    }
    void remove() const {
        for (const Slot& slot : slots_)
            if (slot.state == State::used) ::unlink(slot.path.data());
    }

private:
    enum class State { empty, changing, used };
    struct Slot {
        std::atomic<State> state = State::empty;
        std::array<char, PATH_MAX> path{};
    };
    static_assert(std::atomic<State>::is_always_lock_free);

    std::array<Slot, 16> slots_;
};

constinit Unfinished unfinished;

// A new file in the same folder, under a name that no other has. The name is noted before the file
// exists, so that no signal comes between.
std::pair<std::string, live::Descriptor> create_beside(const std::string& path) {
    constexpr int kMostTries = 100;  // files of programs that were killed may be in the way
    for (int i = 0; i < kMostTries; ++i) {
        std::string name = fmt::format("{}.{}.{}", path, ::getpid(), i);
        unfinished.add(name);
        live::Descriptor descriptor(
            ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (descriptor) return {std::move(name), std::move(descriptor)};
        unfinished.forget(name);
        if (errno != EEXIST) break;
    }
    return {};
}

}  // namespace

Output Output::standard() {
    Output output(live::Descriptor(::dup(STDOUT_FILENO)), "standard output");
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
    if (is_input(path))
        return base::Error{fmt::format(
            "cannot write {}: it is an input of this command; name another file", name)};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
        live::Descriptor direct(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        if (!direct) return cannot_write(name, errno);
        return FileToBe(Output(std::move(direct), name), path, {});
    }
    auto [temporary, descriptor] = create_beside(resolved(path));
    if (!descriptor) return cannot_write(name, errno);
    return FileToBe(Output(std::move(descriptor), name), resolved(path), std::move(temporary));
}

FileToBe::~FileToBe() {
    if (temporary_.empty()) return;
    ::unlink(temporary_.c_str());
    unfinished.forget(temporary_);
}

std::optional<base::Error> FileToBe::commit() {
    if (auto error = output_.finish()) return error;
    if (temporary_.empty()) return std::nullopt;
    if (::rename(temporary_.c_str(), place_.c_str()) != 0)
        return cannot_write("'" + place_ + "'", errno);
    unfinished.forget(temporary_);
    temporary_.clear();
    return std::nullopt;
}

void tell_text(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<size_t>(written));
    }
}

int print_all(std::string_view words, std::string_view text) {
    Output standard = Output::standard();
    standard.write(text);
    const auto error = standard.finish();
    if (error) tell("{}: {}\n", words, error->message);
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
    tell("tulle {}: {}\n", command, printable(error.message));
    return exit_code;
}

void remove_unfinished_files() {
    unfinished.remove();
}

}  // namespace tulle::cli
