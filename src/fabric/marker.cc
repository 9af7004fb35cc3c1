#include "fabric/marker.h"

#include "fabric/marking.h"

namespace tulle::fabric {

void Marker::mark(Instant now, uint32_t port, uint32_t index) {
    Cabling& cabling = ports_.cabling;
    Transit& transit = cabling.store[index];
    if (!is_due(port, transit) || (transit.flags & Transit::kMarked) != 0) return;
    transit.flags |= Transit::kMarked;
    ++ports_.counters(port).marked;
    ports_.sample(TraceSample::Kind::mark, now, port, transit.lane, 1);
    if (cabling.journal != nullptr)
        cabling.journal->mark(index, cabling.place(ports_.global(port)));
}

bool Marker::is_due(uint32_t port, const Transit& transit) {
    const uint32_t queued = ports_.out(port, transit.lane).bytes;
    if (marking_ == Marking::ecn)
        return (transit.flags & Transit::kEcnCapable) != 0 &&
               ecn_marks(by_port_.empty() ? ports_.settings.ecn : by_port_[port], queued, random_);
    if ((transit.flags & Transit::kData) == 0) return false;
    const bool is_victim = (ports_[port].held & bit_of(transit.lane)) != 0;
    return fecn_marks(ports_.settings.fecn, queued, ports_.wait(port, transit.lane), is_victim,
                      transit.wire_bytes);
}

}  // namespace tulle::fabric
