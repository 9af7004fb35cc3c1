// An operation as a program posted it, put together again from the packets that carried it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "decode/endpoint.h"
#include "wire/ids.h"
#include "wire/opcode.h"

namespace tulle::decode {

// A place in the capture.
struct When {
    uint64_t packet = 0;  // counted from 1, as Wireshark does
    int64_t time_ns = 0;  // since 1970
};

enum class OperationKind : uint8_t {
    send,
    write,
    read,
    compare_swap,
    fetch_add,
    atomic_write,
    flush,
};

enum class Outcome : uint8_t {
    acknowledged,
    delivered,   // sent whole by a service that acknowledges nothing
    nak,         // refused; `nak_code` says why
    rnr_nak,     // the last word was that no receive was posted
    dropped,     // unreliable: a packet of it is missing, so the receiver drops it
    incomplete,  // a part of the answer was seen, not all of it
    unanswered,
};

struct Operation {
    OperationKind kind = OperationKind::send;
    wire::Service service = wire::Service::rc;
    Endpoint source;  // of the requester
    Endpoint destination;
    wire::Qpn dest_qp;
    std::optional<wire::Qpn> source_qp;  // carried by datagrams, else learned from the answers

    uint64_t bytes = 0;
    bool whole = true;     // every packet of it was seen
    uint32_t packets = 0;  // that carried it, each counted once; of READs, of the response
    uint32_t retransmitted_packets = 0;
    uint32_t rnr_naks = 0;
    wire::Psn first_psn;
    wire::Psn last_psn;
    When begin;  // its first packet
    When end;    // the packet that decided the outcome; the last one seen where none did

    std::optional<wire::VirtualAddress> address;
    std::optional<wire::RKey> rkey;
    std::optional<uint32_t> immediate;
    std::optional<wire::RKey> invalidated;
    std::optional<uint64_t> compare;
    std::optional<uint64_t> swap_or_add;
    std::optional<uint64_t> original;  // what the memory held before an atomic operation

    Outcome outcome = Outcome::unanswered;
    uint8_t nak_code = 0;
};

OperationKind kind_of(wire::Operation operation);

std::string_view kind_name(OperationKind kind);        // SEND, WRITE, READ, CMP_SWAP ...
std::string outcome_text(const Operation& operation);  // acknowledged, NAK: remote access error ...

// Bytes, remote memory, immediate, operands: "100 bytes to 0x7f41e2145000 rkey 0xc2536".
std::string details_text(const Operation& operation);

}  // namespace tulle::decode
