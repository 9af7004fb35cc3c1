#include "control/subnet/agent/performance.h"

#include <algorithm>
#include <limits>

#include "wire/mad/perf.h"

namespace tulle::control {
namespace {

using wire::PortCountersExtended;

constexpr std::array<uint64_t PortCountersExtended::*, kPortCounters> kExtended{
    &PortCountersExtended::xmit_data,
    &PortCountersExtended::rcv_data,
    &PortCountersExtended::xmit_packets,
    &PortCountersExtended::rcv_packets,
    &PortCountersExtended::unicast_xmit_packets,
    &PortCountersExtended::unicast_rcv_packets,
    &PortCountersExtended::multicast_xmit_packets,
    &PortCountersExtended::multicast_rcv_packets,
    &PortCountersExtended::symbol_errors,
    &PortCountersExtended::link_error_recoveries,
    &PortCountersExtended::link_downed,
    &PortCountersExtended::rcv_errors,
    &PortCountersExtended::rcv_remote_physical_errors,
    &PortCountersExtended::rcv_switch_relay_errors,
    &PortCountersExtended::xmit_discards,
    &PortCountersExtended::xmit_constraint_errors,
    &PortCountersExtended::rcv_constraint_errors,
    &PortCountersExtended::local_link_integrity_errors,
    &PortCountersExtended::excessive_buffer_overruns,
    &PortCountersExtended::vl15_dropped,
    &PortCountersExtended::xmit_wait,
    &PortCountersExtended::qp1_dropped,
};
constexpr unsigned kFirstOfSelect2 = 8;  // extended counters from here on: counter_select2

// Calls visit(counter, value, highest value, bit) for each counter of PortCounters. Bits from 16 on
// are in counter_select2.
template <class Visit>
void for_each_small(wire::PortCounters& counters, Visit&& visit) {
    const auto each = [&](PortCounter counter, auto& value, unsigned bit, unsigned width = 0) {
        using Value = std::remove_reference_t<decltype(value)>;
        const uint64_t most =
            width != 0 ? (1u << width) - 1 : uint64_t{std::numeric_limits<Value>::max()};
        visit(counter, value, most, bit);
    };
    each(PortCounter::symbol_errors, counters.symbol_errors, 0);
    each(PortCounter::link_error_recoveries, counters.link_error_recoveries, 1);
    each(PortCounter::link_downed, counters.link_downed, 2);
    each(PortCounter::rcv_errors, counters.rcv_errors, 3);
    each(PortCounter::rcv_remote_physical_errors, counters.rcv_remote_physical_errors, 4);
    each(PortCounter::rcv_switch_relay_errors, counters.rcv_switch_relay_errors, 5);
    each(PortCounter::xmit_discards, counters.xmit_discards, 6);
    each(PortCounter::xmit_constraint_errors, counters.xmit_constraint_errors, 7);
    each(PortCounter::rcv_constraint_errors, counters.rcv_constraint_errors, 8);
    each(PortCounter::local_link_integrity_errors, counters.local_link_integrity_errors, 9, 4);
    each(PortCounter::excessive_buffer_overruns, counters.excessive_buffer_overruns, 10, 4);
    each(PortCounter::vl15_dropped, counters.vl15_dropped, 11);
    each(PortCounter::xmit_data, counters.xmit_data, 12);
    each(PortCounter::rcv_data, counters.rcv_data, 13);
    each(PortCounter::xmit_packets, counters.xmit_packets, 14);
    each(PortCounter::rcv_packets, counters.rcv_packets, 15);
    each(PortCounter::xmit_wait, counters.xmit_wait, 16);
}

}  // namespace

bool PerformanceAgent::answer(MadBytes& mad) {
    const uint8_t method = mad.method();
    if (method != wire::kMethodGet && method != wire::kMethodSet) return false;
    mad.answer(serve(method == wire::kMethodSet, mad));
    return true;
}

uint16_t PerformanceAgent::serve(bool is_set, MadBytes& mad) {
    const auto data = mad.bytes().subspan(wire::kPerfDataOffset);
    switch (mad.attribute()) {
        case wire::kPerfClassPortInfo:
            return is_set ? uint16_t{wire::kStatusMethodAttributeUnsupported} : serve_class(mad);
        case wire::kPerfPortCounters: return serve_small(is_set, data);
        case wire::kPerfPortCountersExtended: return serve_extended(is_set, data);
        default: return wire::kStatusMethodAttributeUnsupported;
    }
}

uint16_t PerformanceAgent::serve_class(MadBytes& mad) const {
    wire::ClassPortInfo info;
    info.base_version = info.class_version = 1;
    info.capability_mask.value =
        wire::kPerfAllPortSelect | wire::kPerfExtendedWidth | wire::kPerfXmitWait;
    info.response_time = 18;  // about a second
    const auto data = mad.bytes().subspan(wire::kPerfDataOffset);
    std::fill(data.begin(), data.end(), std::byte{0});
    wire::write(info, data);
    return wire::kStatusOk;
}

bool PerformanceAgent::has(uint8_t port) const {
    return port == wire::kAllPorts || (port < ports_.size() && (is_switch_ || port != 0));
}

PerformanceAgent::Values PerformanceAgent::shown(uint8_t port, Values Port::*base) const {
    Values sum{};
    for (size_t number = 0; number < ports_.size(); ++number)
        if (number == port || port == wire::kAllPorts)
            for (size_t i = 0; i < sum.size(); ++i)
                sum[i] += ports_[number].total[i] - (ports_[number].*base)[i];
    return sum;
}

template <class Visit>
void PerformanceAgent::for_each_meant(uint8_t port, Visit&& visit) {
    for (size_t number = 0; number < ports_.size(); ++number)
        if (number == port || port == wire::kAllPorts) visit(ports_[number]);
}

uint16_t PerformanceAgent::serve_small(bool is_set, wire::MutableBytes data) {
    auto counters = *wire::parse<wire::PortCounters>(data);
    if (!has(counters.port_select)) return wire::kStatusInvalidValue;
    const uint32_t select = counters.counter_select.value | uint32_t{counters.counter_select2.value}
                                                                << 16;
    if (is_set)
        for_each_small(counters, [&](PortCounter counter, auto value, uint64_t, unsigned bit) {
            const auto i = static_cast<size_t>(counter);
            if ((select >> bit & 1) != 0)
                for_each_meant(counters.port_select,
                               [&](Port& port) { port.small_base[i] = port.total[i] - value; });
        });
    const Values values = shown(counters.port_select, &Port::small_base);
    for_each_small(counters, [&](PortCounter counter, auto& value, uint64_t most, unsigned) {
        value = static_cast<std::remove_reference_t<decltype(value)>>(
            std::min(values[static_cast<size_t>(counter)], most));
    });
    counters.qp1_dropped = static_cast<uint16_t>(
        std::min<uint64_t>(values[static_cast<size_t>(PortCounter::qp1_dropped)], 0xffff));
    wire::write(counters, data);
    return wire::kStatusOk;
}

uint16_t PerformanceAgent::serve_extended(bool is_set, wire::MutableBytes data) {
    auto counters = *wire::parse<PortCountersExtended>(data);
    if (!has(counters.port_select)) return wire::kStatusInvalidValue;
    const uint64_t select = (counters.counter_select.value & 0xffu) |
                            uint64_t{counters.counter_select2.value} << kFirstOfSelect2;
    if (is_set)
        for (size_t i = 0; i < kPortCounters; ++i)
            if ((select >> i & 1) != 0)
                for_each_meant(counters.port_select, [&](Port& port) {
                    port.base[i] = port.total[i] - counters.*kExtended[i];
                });
    const Values values = shown(counters.port_select, &Port::base);
    for (size_t i = 0; i < kPortCounters; ++i) counters.*kExtended[i] = values[i];
    wire::write(counters, data);
    return wire::kStatusOk;
}

}  // namespace tulle::control
