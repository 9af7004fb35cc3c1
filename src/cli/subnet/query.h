// `tulle subnet query`: what subnet administration and the agents of a fabric answer, once a
// manager has brought it up in virtual time.
#pragma once

#include <string>

namespace tulle::cli {

struct QueryOptions {
    std::string fabric;
    std::string what;
    std::string from;  // names of hosts
    std::string to;
    std::string engine;
    std::string options_file;
    std::string partitions_file;
    std::string json_file;
};

int query_subnet(const QueryOptions& options);

}  // namespace tulle::cli
