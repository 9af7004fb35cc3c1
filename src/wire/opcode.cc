#include "wire/opcode.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "wire/transport_headers.h"

namespace tulle::wire {
namespace {

using enum Operation;

constexpr std::array<std::string_view, 32> kOperationNames = {
    "SEND_FIRST",
    "SEND_MIDDLE",
    "SEND_LAST",
    "SEND_LAST_WITH_IMMEDIATE",
    "SEND_ONLY",
    "SEND_ONLY_WITH_IMMEDIATE",
    "RDMA_WRITE_FIRST",
    "RDMA_WRITE_MIDDLE",
    "RDMA_WRITE_LAST",
    "RDMA_WRITE_LAST_WITH_IMMEDIATE",
    "RDMA_WRITE_ONLY",
    "RDMA_WRITE_ONLY_WITH_IMMEDIATE",
    "RDMA_READ_REQUEST",
    "RDMA_READ_RESPONSE_FIRST",
    "RDMA_READ_RESPONSE_MIDDLE",
    "RDMA_READ_RESPONSE_LAST",
    "RDMA_READ_RESPONSE_ONLY",
    "ACKNOWLEDGE",
    "ATOMIC_ACKNOWLEDGE",
    "COMPARE_SWAP",
    "FETCH_ADD",
    "RESYNC",
    "SEND_LAST_WITH_INVALIDATE",
    "SEND_ONLY_WITH_INVALIDATE",
    "",
    "",
    "",
    "",
    "FLUSH",
    "ATOMIC_WRITE",
};

constexpr std::array<std::string_view, 6> kServiceNames = {"RC", "UC", "RD", "UD", "CNP", "XRC"};

// The operations of a service (IBTA vol 1, table 38; annexes A14 and A19).
constexpr bool offers(Service service, Operation operation) {
    if (kOperationNames[static_cast<size_t>(operation)].empty()) return false;
    switch (service) {
        case Service::rc:
        case Service::xrc: return operation != resync;
        case Service::uc: return operation <= write_only_with_immediate;
        case Service::rd:
            return operation != send_last_with_invalidate && operation != send_only_with_invalidate;
        case Service::ud: return operation == send_only || operation == send_only_with_immediate;
        case Service::cnp: return opcode_of(service, operation) == kCnpOpcode;
    }
    return false;
}

constexpr bool is_response(Operation operation) {
    return operation >= read_response_first && operation <= atomic_acknowledge;
}

constexpr Position position_of(Operation operation) {
    switch (operation) {
        case send_first:
        case write_first:
        case read_response_first: return Position::first;
        case send_middle:
        case write_middle:
        case read_response_middle: return Position::middle;
        case send_last:
        case send_last_with_immediate:
        case send_last_with_invalidate:
        case write_last:
        case write_last_with_immediate:
        case read_response_last: return Position::last;
        default: return Position::only;
    }
}

constexpr bool carries_payload(Operation operation) {
    switch (operation) {
        case read_request:
        case acknowledge:
        case atomic_acknowledge:
        case compare_swap:
        case fetch_add:
        case resync:
        case flush: return false;
        default: return true;
    }
}

// The headers of an operation, in any service.
constexpr unsigned operation_headers(Operation operation) {
    switch (operation) {
        case send_last_with_immediate:
        case send_only_with_immediate:
        case write_last_with_immediate: return kImmDt;
        case write_first:
        case write_only:
        case read_request:
        case atomic_write: return kReth;
        case write_only_with_immediate: return kReth | kImmDt;
        case read_response_first:
        case read_response_last:
        case read_response_only:
        case acknowledge: return kAeth;
        case atomic_acknowledge: return kAeth | kAtomicAckEth;
        case compare_swap:
        case fetch_add: return kAtomicEth;
        case send_last_with_invalidate:
        case send_only_with_invalidate: return kIeth;
        case flush: return kFeth | kReth;
        default: return 0;
    }
}

constexpr unsigned service_headers(Service service, Operation operation) {
    switch (service) {
        case Service::rd: return kRdeth | (is_response(operation) ? 0u : unsigned{kDeth});
        case Service::ud: return kDeth;
        case Service::xrc: return is_response(operation) ? 0u : unsigned{kXrceth};
        default: return 0;
    }
}

constexpr size_t header_size(unsigned headers) {
    constexpr std::array<size_t, 11> kSizes = {Rdeth::kSize, Deth::kSize,         Xrceth::kSize,
                                               Feth::kSize,  Reth::kSize,         AtomicEth::kSize,
                                               Aeth::kSize,  AtomicAckEth::kSize, ImmDt::kSize,
                                               Ieth::kSize,  CnpReserved::kSize};
    size_t size = Bth::kSize;
    for (size_t bit = 0; bit < kSizes.size(); ++bit)
        if ((headers >> bit & 1) != 0) size += kSizes[bit];
    return size;
}

constexpr OpcodeInfo describe(uint8_t opcode) {
    const Service service = service_of(opcode);
    const Operation operation = operation_of(opcode);
    OpcodeInfo info;
    info.known = offers(service, operation);
    unsigned headers = 0;
    if (info.known && service == Service::cnp) {
        headers = kCnpReserved;
    } else if (info.known) {
        info.response = is_response(operation);
        info.payload = carries_payload(operation);
        info.position = position_of(operation);
        headers = operation_headers(operation) | service_headers(service, operation);
    } else {
        info.payload = true;  // what follows the base header is unknown
    }
    info.headers = static_cast<uint16_t>(headers);
    info.header_size = static_cast<uint8_t>(header_size(headers));
    return info;
}

}  // namespace

constinit const std::array<OpcodeInfo, 256> kOpcodes = [] {
    std::array<OpcodeInfo, 256> table{};
    for (size_t i = 0; i < table.size(); ++i) table[i] = describe(static_cast<uint8_t>(i));
    return table;
}();

std::string opcode_name(uint8_t opcode) {
    if (opcode == kCnpOpcode) return "CNP";
    if (!opcode_info(opcode).known) {
        char text[16];
        std::snprintf(text, sizeof text, "UNKNOWN_0x%02x", opcode);
        return text;
    }
    std::string name(kServiceNames[opcode >> 5]);
    return name.append("_").append(kOperationNames[opcode & 0x1f]);
}

}  // namespace tulle::wire
