// What end points do about a lost packet: the seam for loss policies.
//
//   go-back-N         the responder keeps nothing that comes out of order and names the PSN that it
//                     misses; the requester sends everything again from there (IBTA vol 1, 9.7.5)
//   selective repeat  the responder keeps what comes out of order (reorder_buffer.h) and names the
//                     PSN that it misses; the requester sends that packet again and goes on where
//                     it was. The same packets on the wire: a peer of the other policy understands.
#pragma once

#include <cstdint>

namespace tulle::transport {

enum class LossPolicy : uint8_t { go_back_n, selective_repeat };

}  // namespace tulle::transport
