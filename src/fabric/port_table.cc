#include "fabric/port_table.h"

namespace tulle::fabric {

PortTable::PortTable(const Settings& settings, uint32_t lanes, std::pmr::memory_resource* memory)
    : has_credits_(settings.flow_control == FlowControl::credits),
      scale_(settings.credits.unit_bytes, settings.credits.counter_bits),
      lanes_(lanes),
      capacity_blocks_(scale_.whole_blocks(settings.credits.lane_buffer_bytes)),
      ports_(memory),
      lines_(memory),
      outs_(memory),
      waits_(memory),
      ins_(memory),
      inbound_(memory),
      nodes_(memory),
      counters_(memory) {}

void PortTable::reserve(size_t ports) {
    ports_.reserve(ports);
    lines_.reserve(ports);
    error_places_.reserve(ports);
    counters_.reserve(ports);
    inbound_.reserve(ports);
    nodes_.reserve(ports);
    outs_.reserve(ports * lanes_);
    waits_.reserve(ports * lanes_);
    ins_.reserve(ports * lanes_);
}

uint32_t PortTable::append(const Port& port, Rate rate, const ErrorModel& errors, uint32_t node) {
    const auto p = static_cast<uint32_t>(ports_.size());
    ports_.push_back(port);
    lines_.emplace_back(rate);
    error_places_.push_back(static_cast<uint32_t>(errors_.size()));
    if (!errors.is_clean()) errors_.push_back(errors);
    counters_.emplace_back();
    inbound_.emplace_back();
    nodes_.push_back(node);
    outs_.resize(outs_.size() + lanes_);
    waits_.resize(waits_.size() + lanes_);
    ins_.resize(ins_.size() + lanes_);
    // When the link comes up, both ends know each other's buffer (the first credit packets).
    const uint16_t limit = scale_.wrapped(std::min(capacity_blocks_, scale_.most_blocks()));
    for (uint32_t lane = 0; lane < lanes_; ++lane) {
        out(p, lane).credits.credit_limit = limit;
        in(p, lane).credits.last_limit = limit;
    }
    return p;
}

Instant PortTable::occupy(uint32_t p, Instant now, uint32_t bytes) {
    Port& port = ports_[p];
    port.wire_bytes += bytes;
    if (port.whole_nanoseconds) return now + line_time(p, bytes);
    if (port.ps_per_byte != 0) return {now.ps + int64_t{bytes} * port.ps_per_byte};
    return lines_[p].send(now, bytes);
}

Duration PortTable::line_time(uint32_t p, uint32_t bytes) const {
    const Duration exact = rate(p).time_for(bytes);
    return ports_[p].whole_nanoseconds ? Duration{exact.ps / 1000 * 1000} : exact;
}

uint64_t PortTable::held_ps(uint32_t p, uint32_t lane, Instant now) const {
    const LaneWait& waiting = waits_[p * lanes_ + lane];
    const bool is_held = (ports_[p].held >> lane & 1) != 0;
    const bool has_packets = outs_[p * lanes_ + lane].bytes != 0;
    if (!is_held || !has_packets) return waiting.held_ps;
    return waiting.held_ps + static_cast<uint64_t>((now - waiting.held_since).ps);
}

}  // namespace tulle::fabric
