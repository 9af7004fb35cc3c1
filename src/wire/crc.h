// The three CRCs of InfiniBand and RoCE (IBTA vol 1, 7.8).
//
// ICRC uses the polynomial of Ethernet, VCRC and LPCRC use 0x100B. All are computed least
// significant bit first, start with ones and are inverted at the end. A CRC is a running register,
// so a packet may be summed in pieces: headers from one buffer, payload from another.
#pragma once

#include <cstdint>

#include "wire/layout.h"

namespace tulle::wire {

inline constexpr uint32_t kCrc32Start = 0xffff'ffff;
inline constexpr uint16_t kCrc16Start = 0xffff;

// Feeds bytes into the register, with carry-less multiplication if the CPU has it.
uint32_t crc32_update(uint32_t state, Bytes bytes);
constexpr uint32_t crc32_finish(uint32_t state) {
    return ~state;
}

// The same without that instruction: with tables, eight bytes per step.
uint32_t crc32_update_portable(uint32_t state, Bytes bytes);

// Whether crc32_update() uses carry-less multiplication on this CPU.
bool crc32_is_accelerated();

uint16_t crc16_update(uint16_t state, Bytes bytes);
constexpr uint16_t crc16_finish(uint16_t state) {
    return static_cast<uint16_t>(~state);
}

}  // namespace tulle::wire
