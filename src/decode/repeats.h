// Packets that a capture of several interfaces holds more than once, because each of them saw it
// pass.
//
// A packet is known by its flow, opcode and PSN. It is new where an interface has seen it more
// often than any other had before: the first sighting is new, the same packet at the next tap is
// not, and one that is sent again is new at the tap nearest to its sender.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "wire/frame.h"

namespace tulle::decode {

enum class Sighting : uint8_t {
    fresh,
    again,         // seen at another interface before
    again_marked,  // likewise, and marked by congestion since
};

class Repeats {
public:
    // Of a transport packet whose checksum is right.
    Sighting see(const wire::Frame& frame, uint32_t interface);

private:
    struct Seen {
        std::vector<uint8_t> times;  // by interface
        uint8_t most = 0;
        bool is_marked = false;
    };

    std::unordered_map<uint64_t, Seen> seen_;
};

}  // namespace tulle::decode
