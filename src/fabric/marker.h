// Congestion marks of a switch: which packets get one, and when.
#pragma once

#include <vector>

#include "base/random.h"
#include "fabric/switch_ports.h"

namespace tulle::fabric {

class Marker {
public:
    // `by_port`: ECN's settings; empty: those of the settings for all. `never_marks`: an earlier
    // run found that no packet is marked here.
    Marker(SwitchPorts& ports, std::vector<EcnSettings> by_port, bool never_marks,
           base::RandomStream& random)
        : ports_(ports),
          by_port_(std::move(by_port)),
          marking_(never_marks ? Marking::none : ports.settings.marking),
          random_(random) {}

    // When packets are marked: as they leave a queue, or as they enter it.
    bool is_at_dequeue() const {
        return marking_ == Marking::ecn && ports_.settings.ecn.at_dequeue;
    }
    bool is_at_enqueue() const { return marking_ != Marking::none && !is_at_dequeue(); }
    void mark(Instant now, uint32_t port, uint32_t index);

private:
    bool is_due(uint32_t port, const Transit& transit);

    SwitchPorts& ports_;
    std::vector<EcnSettings> by_port_;
    Marking marking_;
    base::RandomStream& random_;
};

}  // namespace tulle::fabric
