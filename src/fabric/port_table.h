// The ports of a partition as data: port, line, and lanes, found by number. A node's ports are
// numbered one after another. Cabling moves packets between them.
#pragma once

#include <algorithm>
#include <memory_resource>
#include <vector>

#include "fabric/port.h"
#include "fabric/shares.h"

namespace tulle::fabric {

class PortTable {
public:
    struct Inbound {
        Fifo packets;
        Fifo control;
    };

    PortTable(const Settings& settings, uint32_t lanes, std::pmr::memory_resource* memory);

    void reserve(size_t ports);

    uint32_t lanes() const { return lanes_; }
    bool has_credits() const { return has_credits_; }
    CreditScale credit_scale() const { return scale_; }
    uint32_t capacity_blocks() const { return capacity_blocks_; }

    size_t ports() const { return ports_.size(); }
    Port& port(uint32_t p) { return ports_[p]; }
    Rate rate(uint32_t p) const { return lines_[p].rate(); }
    PortEvents& counters(uint32_t p) { return counters_[p]; }
    Inbound& inbound(uint32_t p) { return inbound_[p]; }
    LaneOut& out(uint32_t p, uint32_t lane) { return outs_[p * lanes_ + lane]; }
    LaneWait& wait(uint32_t p, uint32_t lane) { return waits_[p * lanes_ + lane]; }
    LaneIn& in(uint32_t p, uint32_t lane) { return ins_[p * lanes_ + lane]; }

    // The port as a place in the whole network.
    Place place(uint32_t p) const { return place_of(ports_[p].cable, ports_[p].is_a); }
    // How long an idle line takes to send `bytes`.
    Duration line_time(uint32_t p, uint32_t bytes) const;
    // How long the lane has been held with packets waiting, in total until `now`.
    uint64_t held_ps(uint32_t p, uint32_t lane, Instant now) const;

protected:
    uint32_t append(const Port& port, Rate rate, const ErrorModel& errors, uint32_t node);
    uint32_t number_of(const Port& port) const {
        return static_cast<uint32_t>(&port - ports_.data());
    }
    // Puts bytes on the line; returns when their last bit has left.
    Instant occupy(uint32_t p, Instant now, uint32_t bytes);

    bool has_credits_;
    CreditScale scale_;
    uint32_t lanes_;
    uint32_t capacity_blocks_;
    std::pmr::vector<Port> ports_;
    std::pmr::vector<base::Serializer> lines_;  // by port
    std::pmr::vector<LaneOut> outs_;
    std::pmr::vector<LaneWait> waits_;
    std::pmr::vector<LaneIn> ins_;
    std::pmr::vector<Inbound> inbound_;
    std::pmr::vector<uint32_t> nodes_;  // by port: its node in the partition
    std::pmr::vector<PortEvents> counters_;
    std::vector<ErrorModel> errors_;  // only of ports with Port::has_errors
    std::vector<uint32_t> error_places_;
};

}  // namespace tulle::fabric
