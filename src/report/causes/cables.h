// Properties of cables: which differ from similar ones, which repair errors, which were down.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "report/causes.h"
#include "report/usual_cable.h"

namespace tulle::report::causes {

// The part of a time at one rate that another, faster one would save.
Duration slow_part(Duration time, base::Rate rate, base::Rate usual);

// Bit errors and losses of what one end of a cable sends.
struct Errors {
    uint64_t loss_per_trillion = 0;
    uint64_t error_rate_e18 = 0;

    bool any() const { return loss_per_trillion != 0 || error_rate_e18 != 0; }
};
Errors errors_at(const sim::Setup& setup, fabric::Place place);

class Cables {
public:
    // The facts must outlive it.
    explicit Cables(const Facts& facts) : facts_(facts), usual_(usual_cables(facts.setup)) {}

    // The typical cable of a kind: at hosts, and between switches.
    const UsualCable& usual(uint32_t cable) const;
    bool is_slow(uint32_t cable) const;
    std::string slow_text(uint32_t cable) const;
    // The part of a time on a slow cable that the usual one would save.
    Duration excess_of(uint32_t cable, Duration time) const;
    // How busy the usual cable would be with the same packets.
    uint64_t usual_permille(uint32_t cable, uint64_t busy_permille) const;
    bool is_far(uint32_t cable) const;
    std::string far_text(uint32_t cable) const;
    // The share of a line's time that goes to retransmissions by the link, and to waiting for the
    // far end's answer.
    uint64_t repair_permille(fabric::Place place) const;
    bool has_fault(sim::Fault::Kind kind, uint32_t subject) const;
    // The reason for a missing route at a node: what went down first, of its own cables and their
    // other ends if one of them did.
    std::optional<std::string> first_down(uint32_t node) const;
    // Whether a host was cut off, by its cable or the switch there: its name.
    std::optional<std::string> what_cuts_off(uint32_t host) const;
    // The switch at an end of a cable, or the cable itself.
    std::optional<std::string> what_was_down(uint32_t number) const;

private:
    bool touches(const sim::Fault& fault, uint32_t node) const;

    const Facts& facts_;
    std::array<std::optional<UsualCable>, 2> usual_;
};

}  // namespace tulle::report::causes
