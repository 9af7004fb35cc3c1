// What a setup says of each port: its cable, rate, delay and errors, its node's settings, and the
// room that it keeps for what arrives after a pause.
#pragma once

#include <vector>

#include "fabric/port.h"
#include "sim/setup.h"

namespace tulle::sim {

class Wiring {
public:
    // The setup must outlive this object.
    explicit Wiring(const Setup& setup);

    const topology::Ports& cables() const { return cables_; }
    topology::Ports::Link at(uint32_t node, uint16_t port) const {
        return cables_.at({node, port});
    }
    auto of(uint32_t node) const { return cables_.of(node); }

    // With coding and decoding at the ends.
    Duration delay_of(const topology::Cable& cable) const;
    base::Rate line_rate(uint32_t node, uint16_t port) const;
    fabric::ErrorModel errors_of(uint32_t node, uint16_t port) const;
    uint32_t headroom_of(const topology::Cable& cable, uint32_t node) const;
    uint8_t alpha_doublings(const topology::Cable& cable) const;

    // Of the switch itself, or else the fabric's.
    const fabric::Settings& settings_of(uint32_t node) const;
    bool has_own_settings(uint32_t node) const { return overrides_[node] != nullptr; }
    uint64_t reserved_bytes(uint32_t node) const;
    uint64_t shared_bytes(uint32_t node) const;  // of a switch's buffer
    // By port; empty: that of the settings for all.
    std::vector<fabric::EcnSettings> marking_of(uint32_t node) const;
    uint32_t first_switch() const;

private:
    const Setup& setup_;
    topology::Ports cables_;
    std::vector<const SwitchOverride*> overrides_;  // by node; null: settings of the fabric
    base::Rate host_rate_;                          // of the first host's cable
};

}  // namespace tulle::sim
