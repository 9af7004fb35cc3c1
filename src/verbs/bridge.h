// What librdmacm needs from libibverbs beyond verbs: the transport for messages of the connection
// manager. The two libraries belong to one build; the version checks that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/process.h"

namespace tulle::verbs {

inline constexpr uint32_t kBridgeVersion = 8;
inline constexpr uint32_t kNobody = 0xff'ffff;

// The two ends of a connection, by port numbers from 1.
struct PortPair {
    uint8_t own = 1;
    uint8_t peer = 1;
};

struct Bridge {
    // The calls below are made with the lock held, and handlers are called with it.
    void (*lock)(ibv_context* context);
    void (*unlock)(ibv_context* context);
    int64_t (*now_ps)();
    void (*set_handler)(ibv_context* context, const ManagementHandler& handler);
    // False if there is no memory or room at the moment.
    bool (*send)(ibv_context* context, uint32_t peer, const void* bytes, size_t length);
    // Sends what was queued, and tells the thread the next deadline; INT64_MAX is none.
    void (*flush)(ibv_context* context, int64_t deadline_ps);
    // The second one looks among known processes alone, and does not wait for others.
    uint32_t (*find_port)(ibv_context* context, uint8_t protocol, uint16_t port,
                          const uint8_t* address);
    uint32_t (*find_known_port)(ibv_context* context, uint8_t protocol, uint16_t port,
                                const uint8_t* address);
    // Whether the address belongs to another machine that this one talks to.
    bool (*is_elsewhere)(ibv_context* context, const uint8_t* address);
    // An eight-bit number of this process, unique on the machine.
    uint32_t (*slot)(ibv_context* context);
    // Whether there is a process at this address that no switch connects to us.
    bool (*listens_on_other_link)(ibv_context* context, uint8_t protocol, uint16_t port,
                                  const uint8_t* address);
    // Says on standard error why another machine does not answer the connection manager.
    void (*explain_silence)(ibv_context* context, uint32_t peer);
    // A group is about to be joined on the interface of this address of ours.
    void (*speak_to_group_from)(ibv_context* context, const uint8_t* group, const uint8_t* own);
    // A descriptor that holds the port; -1 if the port is taken.
    int (*take_port)(ibv_context* context, uint8_t protocol, uint16_t port);
    bool (*show_port)(ibv_context* context, uint8_t protocol, uint16_t port,
                      const uint8_t* address);
    void (*hide_port)(ibv_context* context, uint8_t protocol, uint16_t port);
    // The address of a peer's queue pairs, from port to port; false if it has none, or no such
    // port.
    bool (*peer_address)(ibv_context* context, uint32_t peer, PortPair ports, ibv_ah_attr* address);
    // The same for the owner of this queue pair.
    bool (*qp_address)(ibv_context* context, uint32_t qpn, ibv_ah_attr* address);
};

}  // namespace tulle::verbs

extern "C" const tulle::verbs::Bridge* tulle_live_bridge(uint32_t version);
