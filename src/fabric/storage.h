// What a switch stores. Packets are counted at the input that they came through, whichever queue
// they wait in. Copies of one packet may share its room.
//
// When room falls free, the neighbour at that input may have to be told. Storage only notes that in
// the port (intake.h); the caller starts the line.
#pragma once

#include "fabric/groups.h"
#include "fabric/switch_ports.h"

namespace tulle::fabric {

class Storage {
public:
    static constexpr uint32_t kNoPort = UINT32_MAX;

    Storage(SwitchPorts& ports, NodeTimers& timers);

    // Counts a lossy packet as stored; false if the queue that it waits in, at port `to`, has no
    // room for it. It may then have lost its payload, and wait in another lane.
    bool admit_lossy(uint32_t to, uint32_t index) {
        const Transit& transit = ports_.cabling.store[index];
        if (intake_.admit_lossy(ports_.out(to, transit.lane).bytes, transit.wire_bytes))
            return true;
        return trims_ && admit_trimmed(to, index);
    }
    // The stored packet of this input becomes so many copies. Returns their Transit::in_port.
    uint16_t share(uint16_t in, size_t copies);

    // A packet has left, whose Transit::in_port is `in`. Returns the input where room has fallen
    // free; kNoPort: other copies still need it.
    TULLE_HOT uint32_t release(Instant now, uint32_t in, uint8_t lane, uint32_t bytes);

    // The input whose buffer has a packet with this Transit::in_port.
    uint16_t input_of(uint16_t in_port) const {
        return is_copy(in_port) ? rooms_.input_of(static_cast<uint16_t>(in_port - port_count_))
                                : in_port;
    }
    bool is_copy(uint32_t in_port) const { return in_port >= port_count_; }
    Intake& intake() { return intake_; }
    const Intake& intake() const { return intake_; }

private:
    bool admit_trimmed(uint32_t to, uint32_t index);

    SwitchPorts& ports_;
    Intake intake_;
    SharedRooms rooms_;
    uint16_t port_count_;
    bool trims_;
};

inline uint32_t Storage::release(Instant now, uint32_t in, uint8_t lane, uint32_t bytes) {
    if (is_copy(in)) [[unlikely]] {
        const auto input = rooms_.release(static_cast<uint16_t>(in - port_count_));
        if (!input) return kNoPort;
        in = *input;
    }
    intake_.release(now, static_cast<uint16_t>(in), lane, bytes);
    return in;
}

}  // namespace tulle::fabric
