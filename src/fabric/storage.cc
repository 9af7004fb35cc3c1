#include "fabric/storage.h"

#include "fabric/trimming.h"

namespace tulle::fabric {

Storage::Storage(SwitchPorts& ports, NodeTimers& timers)
    : ports_(ports),
      intake_(ports.settings, ports.cabling, timers, ports.first(), ports.count(),
              ports.settings.node.buffer_bytes),
      port_count_(ports.count()),
      trims_(ports.settings.overflow == Overflow::trim) {}

// Without its payload the packet may find room, in the lane of trimmed packets.
bool Storage::admit_trimmed(uint32_t to, uint32_t index) {
    Cabling& cabling = ports_.cabling;
    Transit& transit = cabling.store[index];
    const auto bytes = trimmed_bytes(ports_.settings, transit, cabling.store.packet(index));
    const uint8_t lane = ports_.settings.qos.trimmed_lane;
    if (!bytes || !intake_.admit_lossy(ports_.out(to, lane).bytes, *bytes)) return false;
    trim(transit, *bytes, lane);
    ++ports_.counters(to).trimmed;
    if (cabling.journal != nullptr)
        cabling.journal->lose(cabling.store.packet(index), cabling.place(ports_.global(to)),
                              Drop::buffer_full);
    return true;
}

uint16_t Storage::share(uint16_t in, size_t copies) {
    const uint16_t room = rooms_.take(in, static_cast<uint32_t>(copies));
    const auto in_port = static_cast<uint16_t>(port_count_ + room);
    TULLE_CHECK(is_copy(in_port));
    return in_port;
}

}  // namespace tulle::fabric
