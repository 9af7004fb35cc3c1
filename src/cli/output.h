// A buffered writer that remembers its first failure. A closed pipe (`tulle ... | head`) is not a
// failure; further output is discarded.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "live/descriptor.h"

namespace tulle::cli {

class Output {
public:
    Output(live::Descriptor descriptor, std::string name)
        : descriptor_(std::move(descriptor)), name_(std::move(name)) {}
    // On a terminal, lines are wrapped to its width (wrap.h).
    static Output standard();

    void write(std::string_view text);
    template <class... Arguments>
    void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(buffer_), format, std::forward<Arguments>(arguments)...);
        if (buffer_.size() >= kBufferBytes) flush();
    }
    void flush();

    // The reader has closed the pipe.
    bool is_closed() const { return closed_; }
    // Flushes, and returns the first error since the beginning, if any.
    std::optional<base::Error> finish();

private:
    static constexpr size_t kBufferBytes = 1 << 16;

    live::Descriptor descriptor_;
    std::string name_;
    fmt::memory_buffer buffer_;
    size_t columns_ = 0;  // of the terminal; 0: not a terminal
    bool closed_ = false;
    int error_ = 0;

    void put(std::string_view text);
};

// A file that appears complete or not at all: it is written under a temporary name in the same
// folder, and commit() renames it. Anything but a regular file, such as a pipe, is written
// directly.
class FileToBe {
public:
    static base::Result<FileToBe> create(const std::string& path);
    FileToBe(FileToBe&& other) noexcept
        : output_(std::move(other.output_)),
          place_(std::move(other.place_)),
          temporary_(std::exchange(other.temporary_, {})) {}
    FileToBe& operator=(FileToBe&&) = delete;
    ~FileToBe();

    Output& output() { return output_; }
    std::optional<base::Error> commit();

private:
    FileToBe(Output output, std::string place, std::string temporary)
        : output_(std::move(output)), place_(std::move(place)), temporary_(std::move(temporary)) {}

    Output output_;
    std::string place_;
    std::string temporary_;  // empty if there is none, or after commit()
};

// Prints on standard error. Nobody can be told if that fails, so a failure is ignored.
void tell_text(std::string_view text);
template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    tell_text(fmt::format(format, std::forward<Arguments>(arguments)...));
}

// Prints a text on standard output. Returns the exit code; `words` name the command in an error.
int print_all(std::string_view words, std::string_view text);

// The text in one line for a terminal: control characters and bytes that are no UTF-8 as \x1b.
std::string printable(std::string_view text);

// Prints `tulle COMMAND: sentence` on standard error. Returns the exit code, for `return
// fail(...)`.
int fail(std::string_view command, const base::Error& error, int exit_code);

// Removes the temporaries of all uncommitted files, for a program that is about to exit without
// unwinding. A signal handler may call it.
void remove_unfinished_files();

}  // namespace tulle::cli
