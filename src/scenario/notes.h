// The first error of one file, with its line. Readers continue with defaults after a complaint, so
// they need no early return; their caller checks once at the end.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scenario/tree.h"

namespace tulle::scenario {

// One key of a map with a fixed set of keys, for checks and for the reference.
struct KnownKey {
    std::string_view name;
    std::string_view type;
    std::string_view meaning;
};

// A kind of list entry. The key of an entry tells its kind.
struct WorkKind {
    KnownKey key;
    std::vector<KnownKey> keys;  // keys below it; empty if its value is a file name
};

class Notes {
public:
    explicit Notes(std::string file) : file_(std::move(file)) {}

    void fail(uint32_t line, std::string_view sentence);
    // Takes over an error of another file, which has its own place.
    void adopt(const base::Error& error) {
        if (!error_) error_ = error;
    }
    bool failed() const { return error_.has_value(); }
    const base::Error& error() const { return *error_; }
    const std::string& file() const { return file_; }

    // Checks that the value is a map with known keys only; `what` names it in the sentence.
    bool expect_map(const Value& value, std::string_view what, std::span<const KnownKey> known);
    bool expect_list(const Value& value, std::string_view what);
    bool expect_text(const Value& value, std::string_view what, std::string_view example);

private:
    std::string file_;
    std::optional<base::Error> error_;
};

// "unknown key 'x' in pfc; did you mean 'xoff'?", or a list of the known keys.
std::string unknown_key(std::string_view key, std::string_view where,
                        std::span<const std::string_view> known);

}  // namespace tulle::scenario
