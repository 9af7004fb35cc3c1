// Options that act on packets: a capture, faults, and --strict. With any of them, all data travels
// in packets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace tulle::cli {

class Command;

struct WireOptions {
    std::string capture_file;
    std::string log_file;
    std::string rules_file;
    std::string loss;
    std::string duplicate;
    std::string reorder;
    std::string corrupt;
    std::string delay;
    std::string rate;
    bool is_strict = false;
    std::optional<uint64_t> seed;  // 1 unless given
};

void add_wire_options(Command& command, WireOptions& options);

// The setting that is passed to programs; empty if no option was given. Creates the capture file
// with its header, and empties the log.
base::Result<std::string> wire_setting(const WireOptions& options, bool is_ethernet);

}  // namespace tulle::cli
