// Finds packets that a capture of several interfaces holds more than once, because several
// interfaces saw them.
//
// A packet is identified by its flow, opcode and PSN. It is new if this interface has now seen it
// more often than any other: the first sighting is new, the same packet at the next tap is not, and
// a retransmission is new at the tap nearest to its sender.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "wire/frame.h"

namespace tulle::decode {

enum class Sighting : uint8_t {
    fresh,
    again,         // seen at another interface before
    again_marked,  // likewise, and marked for congestion since
};

class Repeats {
public:
    // For transport packets with a correct checksum.
    Sighting see(const wire::Frame& frame, uint32_t interface);

private:
    struct Seen {
        std::vector<uint8_t> times;  // seen, by interface
        uint8_t most = 0;
        bool is_marked = false;
    };

    std::unordered_map<uint64_t, Seen> seen_;
};

}  // namespace tulle::decode
