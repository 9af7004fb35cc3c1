// How end points handle a lost packet: the seam for loss policies.
//
//   go-back-N         the responder drops packets out of order, and names the missing PSN; the
//                     requester retransmits everything from there (IBTA vol 1, 9.7.5)
//   selective repeat  the responder keeps packets out of order (receive_bitmap.h), and reports
//                     them; the requester keeps a scoreboard (scoreboard.h), and retransmits
//                     only what is missing. For RC and XRC; others use go-back-N.
//
// A NAK without a selective acknowledgement comes from a peer that keeps nothing. A requester of
// either policy then goes back, so peers with different policies work together.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tulle::transport {

enum class LossPolicy : uint8_t { go_back_n, selective_repeat };

// The order in which a receiver takes packets, with selective repeat. Each packet of `placed` and
// `unordered` says where its data goes (unordered.h), so the data need not wait for its turn.
enum class Delivery : uint8_t {
    ordered,    // RC: packets are carried out in the order of their PSNs
    placed,     // data of WRITEs goes to memory on arrival; messages complete in order
    unordered,  // a message completes when it is whole, even if earlier packets are missing
};

// The timeout, unless it is a code of the queue pair. Few packets in flight may be the end of a
// message: no later packet reveals their loss, and retransmitting them costs little (Mittal et al.,
// "Revisiting Network Support for RDMA" (SIGCOMM 2018), 3.1: RTO_low and RTO_high). Each timeout
// without progress doubles the next one.
struct TimeoutSettings {
    base::Duration high{};     // zero: the queue pair's code applies
    base::Duration low{};      // with few packets in flight; zero: same as `high`
    uint32_t few_packets = 3;  // the same, 4.1: N
};

}  // namespace tulle::transport
