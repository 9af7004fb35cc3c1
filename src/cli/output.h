// Where text goes: one buffered writer that remembers the first failure. A reader that has gone
// away (`tulle ... | head`) is not a failure; what is written then falls on the floor.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/descriptor.h"

namespace tulle::cli {

class Output {
public:
    Output(Descriptor descriptor, std::string name)
        : descriptor_(std::move(descriptor)), name_(std::move(name)) {}
    // On a terminal lines are no longer than it is wide (wrap.h).
    static Output standard();

    void write(std::string_view text);
    template <class... Arguments>
    void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(buffer_), format, std::forward<Arguments>(arguments)...);
        if (buffer_.size() >= kBufferBytes) flush();
    }
    void flush();

    // Nobody reads on.
    bool is_closed() const { return closed_; }
    // Flushes and says what went wrong since the beginning, if anything.
    std::optional<base::Error> finish();

private:
    static constexpr size_t kBufferBytes = 1 << 16;

    Descriptor descriptor_;
    std::string name_;
    fmt::memory_buffer buffer_;
    size_t columns_ = 0;  // of the terminal; 0: it is none
    bool closed_ = false;
    int error_ = 0;

    void put(std::string_view text);
};

// A file that appears whole or not at all: written beside its place under another name, and put
// there by commit(). Something that is not a regular file, such as a pipe, is written directly.
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
    std::string temporary_;  // empty where there is none, or no longer
};

// Takes away the temporaries of all files that were begun and not committed: for a program that is
// about to end without unwinding.
void remove_unfinished_files();

}  // namespace tulle::cli
