// `tulle subnet check`: what is wrong with a fabric and its forwarding tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tulle::cli {

struct CheckOptions {
    std::string fabric;
    std::string engine;       // empty: the one that is made for the fabric's shape
    std::string tables_file;  // empty: an engine makes the tables
    std::string json_file;
    std::optional<uint64_t> shifts;  // to look at; none: as many as take a second or so
    std::optional<uint64_t> flows;   // on a link in a shift, at the most; none: see the man page
};

int check_subnet(const CheckOptions& options);

}  // namespace tulle::cli
