// Opcodes of the base transport header (IBTA vol 1, 9.2.1): three bits of service, five of
// operation. One table says what an opcode implies, first of all which extended headers follow.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tulle::wire {

enum class Service : uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, cnp = 4, xrc = 5 };

enum class Operation : uint8_t {
    send_first = 0x00,
    send_middle = 0x01,
    send_last = 0x02,
    send_last_with_immediate = 0x03,
    send_only = 0x04,
    send_only_with_immediate = 0x05,
    write_first = 0x06,
    write_middle = 0x07,
    write_last = 0x08,
    write_last_with_immediate = 0x09,
    write_only = 0x0a,
    write_only_with_immediate = 0x0b,
    read_request = 0x0c,
    read_response_first = 0x0d,
    read_response_middle = 0x0e,
    read_response_last = 0x0f,
    read_response_only = 0x10,
    acknowledge = 0x11,
    atomic_acknowledge = 0x12,
    compare_swap = 0x13,
    fetch_add = 0x14,
    resync = 0x15,
    send_last_with_invalidate = 0x16,
    send_only_with_invalidate = 0x17,
    flush = 0x1c,
    atomic_write = 0x1d,
};

inline constexpr uint8_t kCnpOpcode = 0x81;

constexpr uint8_t opcode_of(Service service, Operation operation) {
    return static_cast<uint8_t>(static_cast<uint8_t>(service) << 5 |
                                static_cast<uint8_t>(operation));
}
constexpr Service service_of(uint8_t opcode) {
    return static_cast<Service>(opcode >> 5);
}
constexpr Operation operation_of(uint8_t opcode) {
    return static_cast<Operation>(opcode & 0x1f);
}

// Extended headers, in wire order.
enum HeaderBit : uint16_t {
    kRdeth = 1 << 0,
    kDeth = 1 << 1,
    kXrceth = 1 << 2,
    kFeth = 1 << 3,
    kReth = 1 << 4,
    kAtomicEth = 1 << 5,
    kAeth = 1 << 6,
    kAtomicAckEth = 1 << 7,
    kImmDt = 1 << 8,
    kIeth = 1 << 9,
    kCnpReserved = 1 << 10,
};

// The position of a packet in its message. Requests without payload are messages of one packet.
enum class Position : uint8_t { first, middle, last, only };

struct OpcodeInfo {
    bool known = false;     // defined by the specification
    bool response = false;  // travels from responder to requester
    bool payload = false;   // may carry payload
    Position position = Position::only;
    uint16_t headers = 0;     // HeaderBits
    uint8_t header_size = 0;  // of the base and all extended headers, in bytes
};

extern const std::array<OpcodeInfo, 256> kOpcodes;

inline const OpcodeInfo& opcode_info(uint8_t opcode) {
    return kOpcodes[opcode];
}

std::string opcode_name(uint8_t opcode);  // RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, CNP, UNKNOWN_0xe0

}  // namespace tulle::wire
