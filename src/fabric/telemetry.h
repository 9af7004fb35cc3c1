// The telemetry of packets in flight: a place for each packet of a TransitStore, by its index, only
// in runs whose senders ask for it. A place belongs to the current owner of the index.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/telemetry.h"

namespace tulle::fabric {

class TelemetryTable {
public:
    wire::Telemetry& of(uint32_t index) {
        if (index >= places_.size()) places_.resize(index + 1);
        return places_[index];
    }
    void copy(uint32_t from, uint32_t to) {
        const wire::Telemetry told = of(from);
        of(to) = told;
    }

private:
    std::vector<wire::Telemetry> places_;
};

}  // namespace tulle::fabric
