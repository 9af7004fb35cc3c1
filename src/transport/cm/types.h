// The arguments of a connection manager's calls: who to connect to, how to answer, how long to
// wait. Times are codes as in messages, 4.096 us * 2^n (times.h). Private data and additional
// information are read during the call and need not outlive it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "transport/cm/ip_addresses.h"
#include "wire/ids.h"
#include "wire/layout.h"
#include "wire/mad/cm.h"

namespace tulle::transport {

// Names a connection, or the resolution of a datagram service. Zero names none.
struct CmHandle {
    uint32_t bits = 0;
    bool operator==(const CmHandle&) const = default;
    explicit operator bool() const { return bits != 0; }
};

struct CmListener {
    uint32_t number = 0;
    bool operator==(const CmListener&) const = default;
};

enum class [[nodiscard]] CmStatus : uint8_t{
    ok,
    no_such_connection,  // never existed, is over, or was abandoned
    wrong_state,         // not now: another call must come first, or is too late
    no_room,             // the configured limit of connections or listeners is reached
    too_long,            // private data or additional information does not fit the message
    invalid,             // a value that the message cannot carry
    in_use,              // another listener has this service ID
};

struct [[nodiscard]] CmOpened {
    CmStatus status = CmStatus::ok;
    CmHandle handle;
};

struct [[nodiscard]] CmListening {
    CmStatus status = CmStatus::ok;
    CmListener listener;
};

enum class CmTransport : uint8_t { rc, uc, xrc };

// A path as seen from its user. On Ethernet the LIDs are permissive.
struct CmPath {
    wire::Gid local_gid = {};
    wire::Gid remote_gid = {};
    wire::Lid local_lid = wire::kPermissiveLid;
    wire::Lid remote_lid = wire::kPermissiveLid;
    uint32_t flow_label = 0;
    uint8_t packet_rate = 0;
    uint8_t traffic_class = 0;
    uint8_t hop_limit = 64;
    uint8_t service_level = 0;
    bool subnet_local = false;
    uint8_t packet_lifetime = 16;  // time code, one way
    bool operator==(const CmPath&) const = default;
};

struct ConnectRequest {
    uint32_t endpoint = 0;  // the peer's index in the owner's table
    CmPath path = {};
    std::optional<CmPath> alternate = {};
    wire::Key64 service_id = {};         // service_id_of() of wire/mad/ip_cm.h for an IP port
    std::optional<IpAddresses> ip = {};  // takes the first 36 bytes of the private data
    wire::PKey pkey = wire::kDefaultPKey;
    uint8_t path_mtu = 3;  // MtuCode, 1 to 5
    CmTransport transport = CmTransport::rc;
    wire::Qpn qpn = {};
    wire::Psn starting_psn = {};  // the first PSN that the peer is to send (12.7)
    bool srq = false;
    bool end_to_end_flow_control = false;
    uint8_t responder_resources = 0;
    uint8_t initiator_depth = 0;
    uint8_t retry_count = 7;
    uint8_t rnr_retry_count = 7;
    uint8_t remote_cm_response_timeout = 20;  // how long the peer may take
    uint8_t local_cm_response_timeout = 20;   // how long we may take
    uint8_t max_cm_retries = 15;
    bool peer_to_peer = false;      // the other side may connect to us at the same time
    bool watches_peer = false;      // asks it now and then: for peers on other machines (alive.cc)
    wire::Bytes private_data = {};  // 92 bytes, 56 with IP addresses
};

struct AcceptReply {
    wire::Qpn qpn = {};
    wire::Psn starting_psn = {};
    uint8_t responder_resources = 0;
    uint8_t initiator_depth = 0;
    uint8_t rnr_retry_count = 7;
    uint8_t failover_accepted = 0;  // 0: the alternate path is accepted, or there is none
    bool srq = false;
    bool end_to_end_flow_control = false;
    bool watches_peer = false;
    wire::Bytes private_data = {};  // 196 bytes
};

struct Rejection {
    uint16_t reason = wire::kCmRejectConsumer;
    wire::Bytes additional_info = {};  // 72 bytes
    wire::Bytes private_data = {};     // 148 bytes
};

struct ServiceRequest {  // asks which QP serves this service's datagrams
    uint32_t endpoint = 0;
    wire::Key64 service_id = {};
    std::optional<IpAddresses> ip = {};
    wire::PKey pkey = wire::kDefaultPKey;
    uint8_t packet_lifetime = 16;
    uint8_t response_timeout = 20;
    uint8_t max_cm_retries = 15;
    wire::Bytes private_data = {};  // 216 bytes, 180 with IP addresses
};

struct ServiceAnswer {
    wire::CmSidrStatus status = wire::kSidrValid;
    wire::Qpn qpn = {};
    wire::QKey qkey = {};
    wire::Bytes additional_info = {};  // 72 bytes
    wire::Bytes private_data = {};     // 136 bytes
};

struct CmConfig {
    wire::Guid ca_guid = {};
    uint8_t ack_delay = 15;  // time code: ACK delay of our adapter
    uint32_t max_connections = 65'536;
    uint32_t max_listeners = 1'024;
    uint8_t max_path_mtu = 5;    // MtuCode: requests for more are refused, and come again with less
    uint8_t max_peer_time = 24;  // time code: limit of a wait that the peer asks for (69 s)
    // Bits that are the same in all communication IDs of this manager. They identify the recipient
    // of a message if several managers share an address.
    uint32_t id_mask = 0;
    uint32_t id_value = 0;
    // A message without an answer after this time is sent once more, in addition to the retries;
    // zero: it is not. A response timeout is usually seconds, because programs take time to answer.
    // A lost message need not wait that long.
    base::Duration early_repeat{};
    // How often a watched peer is asked whether it still knows a connection; zero: never.
    base::Duration ask_every{};
    uint32_t max_waiting = 65'536;  // datagrams or events not polled; beyond, drops arrivals
};

struct CmStats {
    uint64_t received = 0;
    uint64_t sent = 0;        // answers to duplicates and retries included
    uint64_t retries = 0;     // retransmitted because no answer came in time
    uint64_t duplicates = 0;  // received again
    uint64_t malformed = 0;   // not a message of this class and version, or invalid values
    uint64_t unknown = 0;     // for a communication ID that is not ours
    uint64_t wrong_state = 0;
    uint64_t overload = 0;  // dropped because the owner did not poll
};

using CmDatagram = std::array<std::byte, wire::kMadSize>;

struct CmOutgoing {
    uint32_t endpoint = 0;
    wire::Qpn qpn{1};
    CmDatagram mad{};
};

}  // namespace tulle::transport
