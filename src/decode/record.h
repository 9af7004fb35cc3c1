// A packet as it is stored in a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/layout.h"

namespace tulle::decode {

struct Record {
    uint64_t number = 0;  // counted from 1
    int64_t time_ns = 0;  // since 1970
    wire::Bytes bytes;    // valid until the next record is read
    size_t original_size = 0;
    uint32_t interface = 0;           // index in the capture, from 0
    std::string_view interface_name;  // empty if there is only one, or it has no name
};

}  // namespace tulle::decode
