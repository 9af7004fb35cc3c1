// The layers of a packet, from the link to what its payload holds, as values that a report prints.
//
// One file (layers.cc) turns every header into these: management datagrams bring some eighty
// structures, and each function that visits them all costs the compiler seconds.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wire/frame.h"

namespace tulle::decode {

struct ShownField {
    const char* name;
    std::string text;             // for people
    nlohmann::ordered_json json;  // for programs
};

struct ShownLayer {
    const char* name;
    std::vector<ShownField> fields;
};

struct ShownLayers {
    std::vector<ShownLayer> layers;  // in wire order
    size_t explained_bytes = 0;      // of the payload; the rest is shown as it is
};

enum class ShowAs : uint8_t { text, json };

// Every field of every header, in the one dress that is asked for.
ShownLayers layers_of(const wire::Frame& frame, ShowAs as);

}  // namespace tulle::decode
