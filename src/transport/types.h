// The vocabulary of the RDMA engine: what a user posts, what completes, and the names of objects.
//
// The values of work kinds and completion statuses are those of the verbs header, so the verbs room
// passes them on unchanged.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "wire/ids.h"
#include "wire/opcode.h"

namespace tulle::transport {

using wire::Psn;
using wire::QKey;
using wire::Qpn;
using wire::RKey;
using wire::Service;

// Index into the owner's table of end points; 24 bits travel in a packet.
struct EndpointIndex {
    uint32_t value = 0;
    auto operator<=>(const EndpointIndex&) const = default;
};

// Names of an adapter's objects. A name that is not in use is refused.
struct PdId {
    uint32_t value = 0;
    auto operator<=>(const PdId&) const = default;
};
struct CqId {
    uint32_t value = 0;
    auto operator<=>(const CqId&) const = default;
};
struct SrqId {
    uint32_t value = 0;
    auto operator<=>(const SrqId&) const = default;
};

struct XrcDomainId {
    uint32_t value = 0;
    auto operator<=>(const XrcDomainId&) const = default;
};

struct RdDomainId {
    uint32_t value = 0;
    auto operator<=>(const RdDomainId&) const = default;
};

// Why a call was refused. The verbs room turns these into the errno that its man pages promise.
enum class Refusal : uint8_t {
    none,
    invalid_argument,  // EINVAL
    queue_full,        // ENOMEM
    out_of_resources,  // ENOMEM
    busy,              // EBUSY: something still uses it
    not_supported,     // EOPNOTSUPP
};

// Work of a send queue (ibv_wr_opcode).
enum class Work : uint8_t {
    write = 0,
    write_with_immediate = 1,
    send = 2,
    send_with_immediate = 3,
    read = 4,
    compare_swap = 5,
    fetch_add = 6,
    local_invalidate = 7,
    bind_window = 8,
    send_with_invalidate = 9,
    flush = 14,
    atomic_write = 15,
    resync = 255,  // of EE contexts only, which post it themselves
};

// The kind of work that a completion reports (ibv_wc_opcode).
enum class CompletionKind : uint8_t {
    send = 0,
    write = 1,
    read = 2,
    compare_swap = 3,
    fetch_add = 4,
    bind_window = 5,
    local_invalidate = 6,
    flush = 8,
    atomic_write = 9,
    receive = 128,
    receive_write_with_immediate = 129,
};

// How work ended (ibv_wc_status; IBTA vol 1, 11.6.2).
enum class Status : uint8_t {
    success = 0,
    local_length_error = 1,
    local_qp_operation_error = 2,
    local_eec_operation_error = 3,
    local_protection_error = 4,
    flushed = 5,
    window_bind_error = 6,
    bad_response = 7,
    local_access_error = 8,
    remote_invalid_request = 9,
    remote_access_error = 10,
    remote_operational_error = 11,
    retry_exceeded = 12,
    rnr_retry_exceeded = 13,
    local_rdd_violation = 14,
    remote_invalid_rd_request = 15,
    remote_aborted = 16,
    invalid_ee_context = 17,
    invalid_ee_state = 18,
    fatal = 19,
    response_timeout = 20,
    general_error = 21,
};

// Rights of a memory region or of a queue pair's responder (ibv_access_flags).
enum Access : uint32_t {
    kLocalWrite = 1 << 0,
    kRemoteWrite = 1 << 1,
    kRemoteRead = 1 << 2,
    kRemoteAtomic = 1 << 3,
    kWindowBind = 1 << 4,
    kZeroBased = 1 << 5,
    kFlushGlobal = 1 << 8,
    kFlushPersistent = 1 << 9,
};

// A piece of local memory. Addresses are those of the region's I/O virtual address space.
struct Sge {
    uint64_t address = 0;
    uint32_t length = 0;
    uint32_t lkey = 0;
};

enum SendFlag : uint8_t {
    kFence = 1 << 0,
    kSignalled = 1 << 1,
    kSolicited = 1 << 2,
    kInline = 1 << 3,
};

// The type-2 window that a bind_window request binds, and its new range.
struct WindowBinding {
    uint32_t window_rkey = 0;  // the current key; its index part names the window
    uint32_t new_rkey = 0;     // the key after the bind
    uint32_t region_lkey = 0;
    uint64_t address = 0;
    uint64_t length = 0;
    uint32_t access = 0;
};

struct DatagramTarget {
    EndpointIndex endpoint{};
    Qpn qpn{};
    QKey qkey{};
    uint8_t service_level = 0;
    uint8_t traffic_class = 0;
    uint8_t hop_limit = 64;
};

struct SendRequest {
    uint64_t id = 0;
    Work work = Work::send;
    uint8_t flags = kSignalled;
    std::span<const Sge> sges{};
    // Inline data replaces the list of pieces; it is copied before post_send() returns.
    std::span<const std::byte> inline_data{};
    uint64_t remote_address = 0;
    uint32_t rkey = 0;            // also the key to invalidate, here or at the peer
    uint32_t immediate = 0;       // in wire order, most significant byte first
    uint64_t compare_or_add = 0;  // FETCH_ADD adds this
    uint64_t swap = 0;
    uint8_t flush_placement = 0;  // FETH
    uint8_t flush_selectivity = 0;
    wire::SrqNumber remote_srq{};  // XRC
    DatagramTarget datagram{};     // UD and RD
    wire::EeContext ee_context{};  // RD
    WindowBinding binding{};
};

struct ReceiveRequest {
    uint64_t id = 0;
    std::span<const Sge> sges{};
};

enum CompletionFlag : uint8_t {
    kHasGrh = 1 << 0,
    kWithImmediate = 1 << 1,
    kWithInvalidate = 1 << 2,
    kWasSolicited = 1 << 3,  // XRC: the sender wanted an event
};

// Vendor error codes of ConnectX that scripts look for: with retry_exceeded, rnr_retry_exceeded and
// flushed.
inline constexpr uint32_t kVendorRetryExceeded = 0x81;
inline constexpr uint32_t kVendorRnrExceeded = 0x87;
inline constexpr uint32_t kVendorFlushed = 0xf9;

constexpr uint32_t vendor_error_of(Status status) {
    switch (status) {
        case Status::flushed: return kVendorFlushed;
        case Status::retry_exceeded: return kVendorRetryExceeded;
        case Status::rnr_retry_exceeded: return kVendorRnrExceeded;
        default: return 0;
    }
}

struct Completion {
    uint64_t id = 0;
    Status status = Status::success;
    CompletionKind kind = CompletionKind::send;
    uint8_t flags = 0;
    uint8_t service_level = 0;
    uint32_t vendor_error = 0;
    uint32_t byte_count = 0;
    uint32_t immediate_or_rkey = 0;
    Qpn qpn{};
    Qpn source_qp{};         // datagrams
    EndpointIndex source{};  // datagrams
    uint16_t pkey_index = 0;
};

// Why a responder refused a request for good: for owners who report it to people. The specification
// tells the requester little of it.
struct Objection {
    enum class Cause : uint8_t {
        none,
        ordered,  // by the owner, who injects faults
        receive_too_short,
        receive_wrong,    // the receive names memory that it may not use
        receives_broken,  // the shared receive queue is broken
        not_offered,      // the queue pair does not allow its peer this operation
        too_many_reads,
        malformed,
        unknown_key,
        other_domain,
        other_queue_pair,
        missing_right,
        out_of_bounds,
        key_gone,  // the key was valid when the message began
    };
    Qpn qpn{};  // the responder's
    Cause cause = Cause::none;
    Work work = Work::send;
    uint32_t rkey = 0;
    uint64_t address = 0;
    uint64_t length = 0;
};

// Unsolicited events of an adapter (ibv_event_type).
enum class EventKind : uint8_t {
    cq_error = 0,
    qp_fatal = 1,
    qp_request_error = 2,
    qp_access_error = 3,
    communication_established = 4,
    sq_drained = 5,
    path_migrated = 6,
    path_migration_error = 7,
    device_fatal = 8,
    srq_error = 14,
    srq_limit_reached = 15,
    qp_last_receive_reached = 16,
    completion = 200,        // of an armed completion queue; not an asynchronous event of verbs
    ee_context_error = 201,  // RESYNC failed too; verbs has no EE contexts
};

struct AdapterEvent {
    EventKind kind = EventKind::qp_fatal;
    uint32_t subject = 0;  // QPN, CqId, SrqId or number of an EE context; 0 for the adapter
};

enum class QpState : uint8_t { reset, init, rtr, rts, sqd, sqe, error };

}  // namespace tulle::transport
