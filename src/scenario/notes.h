// What is wrong with one file: the first thing, with its line. Readers go on with defaults after a
// complaint, so they need no way out, and their caller looks once at the end.
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

// One key of a map that has a fixed set of them: for checks, and for the reference.
struct KnownKey {
    std::string_view name;
    std::string_view type;
    std::string_view meaning;
};

// An entry of a list that is one of several kinds, told by the key that it has.
struct WorkKind {
    KnownKey key;
    std::vector<KnownKey> keys;  // below it; none where it is the name of a file
};

class Notes {
public:
    explicit Notes(std::string file) : file_(std::move(file)) {}

    void fail(uint32_t line, std::string_view sentence);
    // What another file complained of, which has its own place.
    void adopt(const base::Error& error) {
        if (!error_) error_ = error;
    }
    bool failed() const { return error_.has_value(); }
    const base::Error& error() const { return *error_; }
    const std::string& file() const { return file_; }

    // A map whose keys are all known; `what` names it in the sentence.
    bool expect_map(const Value& value, std::string_view what, std::span<const KnownKey> known);
    bool expect_list(const Value& value, std::string_view what);
    bool expect_text(const Value& value, std::string_view what, std::string_view example);

private:
    std::string file_;
    std::optional<base::Error> error_;
};

// "unknown key 'x' in pfc; did you mean 'xoff'?", or the keys that there are.
std::string unknown_key(std::string_view key, std::string_view where,
                        std::span<const std::string_view> known);

// The known word that is most like the given one; empty where none is.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace tulle::scenario
