// `tulle subnet check`: finds faults of a fabric and its forwarding tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tulle::cli {

struct CheckOptions {
    std::string fabric;
    std::string engine;            // empty: chosen by the topology
    std::string tables_file;       // empty: an engine computes the tables
    std::string path_levels_file;  // of the tables
    std::string sl2vl_file;        // of the tables
    std::string partitions_file;   // as partitions.conf; empty: partitions are not checked
    std::string json_file;
    std::optional<uint64_t> shifts;  // to check; none: as many as take about a second
    std::optional<uint64_t> flows;   // most on a link in a shift; none: see the man page
};

int check_subnet(const CheckOptions& options);

}  // namespace tulle::cli
