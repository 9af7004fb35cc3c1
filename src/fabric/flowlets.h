// Which port each flow of a switch took last, and when. A flow keeps its port until it has rested
// for longer than the gap, so its packets keep their order while paths empty within the gap.
//
// Each flow has a place of its own: flows that shared one would move each other. A place is free
// again once its flow has rested; while too few are free, the table grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/time.h"

namespace tulle::fabric {

struct Flowlet {
    base::Instant last{};  // zero: of no flow
    uint32_t flow = 0;
    uint16_t port = 0;
};

class Flowlets {
public:
    explicit Flowlets(base::Duration gap) : gap_(gap) {}

    // Whether a flow that was last seen in this place has not rested since.
    bool is_close(const Flowlet& flowlet, base::Instant now) const {
        return flowlet.last.ps != 0 && now - flowlet.last <= gap_;
    }
    // The place of this flow. If it is not close, it says nothing about the flow.
    Flowlet& of(uint32_t flow, base::Instant now) {
        if (places_.empty()) places_.resize(kFirstPlaces);
        for (;;) {
            if (Flowlet* place = find(flow, now)) return *place;
            grow(now);
        }
    }

private:
    static constexpr size_t kFirstPlaces = 256;
    static constexpr size_t kTries = 8;  // places in a row that may be a flow's

    Flowlet* find(uint32_t flow, base::Instant now) {
        Flowlet* free = nullptr;
        const auto first = static_cast<size_t>(base::mix64(flow));
        for (size_t i = 0; i < kTries; ++i) {
            Flowlet& place = places_[(first + i) & (places_.size() - 1)];
            if (!is_close(place, now)) {
                if (free == nullptr) free = &place;
            } else if (place.flow == flow) {
                return &place;
            }
        }
        if (free != nullptr) *free = {.flow = flow};
        return free;
    }

    void grow(base::Instant now) {
        const std::vector<Flowlet> before =
            std::exchange(places_, std::vector<Flowlet>(2 * places_.size()));
        for (const Flowlet& flowlet : before)
            if (is_close(flowlet, now)) of(flowlet.flow, now) = flowlet;
    }

    base::Duration gap_;
    std::vector<Flowlet> places_;  // none until a flow asks: most switches have no flowlets
};

}  // namespace tulle::fabric
