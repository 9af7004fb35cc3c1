// What end points do about a lost packet: the seam for loss policies.
//
//   go-back-N         the responder keeps nothing that comes out of order and names the PSN that it
//                     misses; the requester sends everything again from there (IBTA vol 1, 9.7.5)
//   selective repeat  the responder keeps what comes out of order (receive_bitmap.h) and tells
//   which
//                     packets it has; the requester keeps a scoreboard (scoreboard.h) and sends
//                     again what is missing, and nothing else. RC and XRC; others go back.
//
// A NAK without a selective acknowledgement comes from a peer that keeps nothing: a requester of
// either policy goes back then, so that peers of different policies understand each other.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tulle::transport {

enum class LossPolicy : uint8_t { go_back_n, selective_repeat };

// In which order a receiver takes packets, with selective repeat. Each packet of `placed` and
// `unordered` says where its data goes (unordered.h), so it need not be kept until its turn.
enum class Delivery : uint8_t {
    ordered,    // RC: packets are carried out in the order of their PSNs
    placed,     // data of WRITEs goes to memory as it comes; messages complete in order
    unordered,  // a message completes when it is whole, whatever is missing before it
};

// How long silence lasts before it counts as loss, where that is not a code of the queue pair. Few
// packets in flight may be the end of a message: nothing behind them shows that they are lost, and
// sending them again costs little (Mittal et al., "Revisiting Network Support for RDMA" (SIGCOMM
// 2018), 3.1: RTO_low and RTO_high). Each timeout without progress doubles the next one.
struct TimeoutSettings {
    base::Duration high{};     // zero: the code of the queue pair counts
    base::Duration low{};      // with few packets in flight; zero: as `high`
    uint32_t few_packets = 3;  // the same, 4.1: N
};

}  // namespace tulle::transport
