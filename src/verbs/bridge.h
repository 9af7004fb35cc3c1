// What librdmacm needs of libibverbs beyond verbs: the way for messages of the connection manager.
// The two are libraries of one build; the version says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/process.h"

namespace tulle::verbs {

inline constexpr uint32_t kBridgeVersion = 5;
inline constexpr uint32_t kNobody = 0xff'ffff;

// Two ends of a connection, by their numbers from 1.
struct PortPair {
    uint8_t own = 1;
    uint8_t peer = 1;
};

struct Bridge {
    // All calls below them are made with the lock held, handlers are called with it.
    void (*lock)(ibv_context* context);
    void (*unlock)(ibv_context* context);
    int64_t (*now_ps)();
    void (*set_handler)(ibv_context* context, const ManagementHandler& handler);
    // False if there is no memory for it now.
    bool (*send)(ibv_context* context, uint32_t peer, const void* bytes, size_t length);
    // What was sent goes out, and the thread knows of the next deadline; INT64_MAX is none.
    void (*flush)(ibv_context* context, int64_t deadline_ps);
    uint32_t (*find_port)(ibv_context* context, uint8_t protocol, uint16_t port,
                          const uint8_t* address);
    // Whether the address is of another machine that this one talks to.
    bool (*is_elsewhere)(ibv_context* context, const uint8_t* address);
    // The process's own among those of the machine, eight bits.
    uint32_t (*slot)(ibv_context* context);
    // Whether somebody is found there whom no switch joins to us.
    bool (*listens_on_other_link)(ibv_context* context, uint8_t protocol, uint16_t port,
                                  const uint8_t* address);
    // A descriptor that holds the port; -1 if it is taken.
    int (*take_port)(ibv_context* context, uint8_t protocol, uint16_t port);
    bool (*show_port)(ibv_context* context, uint8_t protocol, uint16_t port,
                      const uint8_t* address);
    void (*hide_port)(ibv_context* context, uint8_t protocol, uint16_t port);
    // The address by which a peer's queue pairs are reached, from port to port; false if it shows
    // none, or has no such port.
    bool (*peer_address)(ibv_context* context, uint32_t peer, PortPair ports, ibv_ah_attr* address);
    // The same of whoever has this queue pair.
    bool (*qp_address)(ibv_context* context, uint32_t qpn, ibv_ah_attr* address);
};

}  // namespace tulle::verbs

extern "C" const tulle::verbs::Bridge* tulle_live_bridge(uint32_t version);
