// The performance management agent of one node (IBTA vol 1, 16.1). It keeps the counters of its
// ports. Get reads them; Set writes those that the MAD selects.
//
// PortCounters and PortCountersExtended count the same events, each since its own last Set. The
// counters of PortCounters saturate at their highest value.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "control/subnet/agent/mad_bytes.h"

namespace tulle::control {

// In the order of PortCountersExtended.
enum class PortCounter : uint8_t {
    xmit_data,  // in units of four bytes, like the next one
    rcv_data,
    xmit_packets,
    rcv_packets,
    unicast_xmit_packets,
    unicast_rcv_packets,
    multicast_xmit_packets,
    multicast_rcv_packets,
    symbol_errors,
    link_error_recoveries,
    link_downed,
    rcv_errors,
    rcv_remote_physical_errors,
    rcv_switch_relay_errors,
    xmit_discards,
    xmit_constraint_errors,
    rcv_constraint_errors,
    local_link_integrity_errors,
    excessive_buffer_overruns,
    vl15_dropped,
    xmit_wait,
    qp1_dropped,
};
inline constexpr size_t kPortCounters = 22;

class PerformanceAgent {
public:
    PerformanceAgent(bool is_switch, uint8_t port_count)
        : is_switch_(is_switch), ports_(port_count + 1u) {}

    void count(uint8_t port, PortCounter counter, uint64_t amount = 1) {
        ports_[port].total[static_cast<size_t>(counter)] += amount;
    }
    // Turns a request into its answer; false: it is not a request.
    bool answer(MadBytes& mad);

private:
    using Values = std::array<uint64_t, kPortCounters>;
    struct Port {
        Values total{};
        Values small_base{};  // the total when the small counter was 0
        Values base{};
    };

    uint16_t serve(bool is_set, MadBytes& mad);
    uint16_t serve_class(MadBytes& mad) const;
    uint16_t serve_small(bool is_set, wire::MutableBytes data);
    uint16_t serve_extended(bool is_set, wire::MutableBytes data);
    // Port 0 of an adapter does not exist; kAllPorts means the sum.
    bool has(uint8_t port) const;
    Values shown(uint8_t port, Values Port::*base) const;
    template <class Visit>
    void for_each_meant(uint8_t port, Visit&& visit);

    bool is_switch_;
    std::vector<Port> ports_;
};

}  // namespace tulle::control
