// An operation as the program posted it, reassembled from its packets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "decode/endpoint.h"
#include "wire/ids.h"
#include "wire/opcode.h"

namespace tulle::decode {

// A position in the capture.
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
    delivered,   // sent completely by a service without acknowledgements
    nak,         // refused, see `nak_code`
    rnr_nak,     // the last answer was that no receive was posted
    dropped,     // unreliable: a packet is missing, so the receiver drops it
    incomplete,  // only a part of the answer was seen
    unanswered,
};

struct FollowedOperation {
    OperationKind kind = OperationKind::send;
    wire::Service service = wire::Service::rc;
    PacketAddress source;  // the requester
    PacketAddress destination;
    wire::Qpn dest_qp;
    std::optional<wire::Qpn> source_qp;  // carried by datagrams, else learned from answers

    uint64_t bytes = 0;
    bool whole = true;     // all its packets were seen
    uint32_t packets = 0;  // distinct packets; of a READ, those of the response
    uint32_t retransmitted_packets = 0;
    uint32_t rnr_naks = 0;
    wire::Psn first_psn;
    wire::Psn last_psn;
    When begin;  // first packet
    When end;    // the packet that decided the outcome, else the last one seen

    std::optional<wire::VirtualAddress> address;
    std::optional<wire::RKey> rkey;
    std::optional<uint32_t> immediate;
    std::optional<wire::RKey> invalidated;
    std::optional<uint64_t> compare;
    std::optional<uint64_t> swap_or_add;
    std::optional<uint64_t> original;  // content of the memory before an atomic operation

    Outcome outcome = Outcome::unanswered;
    uint8_t nak_code = 0;
};

OperationKind kind_of(wire::Operation operation);

std::string_view kind_name(OperationKind kind);  // SEND, WRITE, READ, CMP_SWAP ...
std::string outcome_text(
    const FollowedOperation& operation);  // acknowledged, NAK: remote access error ...

// Bytes, remote memory, immediate, operands: "100 bytes to 0x7f41e2145000 rkey 0xc2536".
std::string details_text(const FollowedOperation& operation);

}  // namespace tulle::decode
