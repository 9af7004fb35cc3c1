// The layers of a packet, from the link to the content of its payload, as values for reports.
//
// Only layers.cc turns headers into these. Management datagrams have about eighty structures, and
// each function that visits all of them costs seconds of compile time.
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
    size_t explained_bytes = 0;      // of the payload; the rest is dumped
};

enum class ShowAs : uint8_t { text, json };

// Every field of every header, in the requested form.
ShownLayers layers_of(const wire::Frame& frame, ShowAs as);

}  // namespace tulle::decode
