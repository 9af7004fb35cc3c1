#include "live/tally.h"

#include "live/carrier.h"

namespace tulle::live {
namespace {

constexpr base::Duration kShowAfter{10'000'000'000};  // 10 ms

}  // namespace

void Tally::open(const Identity& who, uint32_t slot) {
    port_count_ = who.port_count();
    for (uint32_t port = 1; port <= port_count_; ++port)
        slots_[port - 1] = CounterSlot(counters_file_of_port(who.counters_file, port), slot);
}

// The engine counts for all ports together. Traffic of ports other than the first is counted
// separately; the rest belongs to the first.
void Tally::show() {
    transport::Counters first = adapter_.counters();
    for (uint32_t port = 2; port <= port_count_; ++port) {
        const transport::Counters& more = carrier_.traffic_of(port);
        first.port_xmit_packets -= more.port_xmit_packets;
        first.port_rcv_packets -= more.port_rcv_packets;
        first.port_xmit_data_bytes -= more.port_xmit_data_bytes;
        first.port_rcv_data_bytes -= more.port_rcv_data_bytes;
        slots_[port - 1].publish(more);
    }
    slots_[0].publish(first,
                      carrier_.udp() != nullptr ? carrier_.udp()->counters() : WireCounters{});
}

void Tally::look(base::Instant now) {
    const transport::Counters& counted = adapter_.counters();
    const uint64_t sum =
        counted.port_xmit_packets + counted.port_rcv_packets + counted.req_cqe_error +
        counted.local_ack_timeout_err +
        (carrier_.udp() != nullptr ? carrier_.udp()->sockets().counts().received : 0);
    if (sum == shown_) return;
    if (look_at_ == base::Instant::never()) look_at_ = now + kShowAfter;
    if (now < look_at_) return;
    show();
    shown_ = sum;
    look_at_ = base::Instant::never();
}

}  // namespace tulle::live
