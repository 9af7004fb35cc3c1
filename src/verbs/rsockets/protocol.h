// The messages between the two ends of a stream. The format is that of the "rsocket Protocol and
// Design Guide" of rdma-core (librdmacm/docs/rsocket): greetings as private data of the connection
// manager, then RDMA WRITEs whose immediate data gives their kind.
//
// A side writes data into buffers that the other has announced, one after another. The first comes
// with the greeting. The others are written into a small table, the target list, which each side
// keeps for the other to write. A message uses one of the other side's posted receives, so the
// number of messages is limited by its credits.
#pragma once

#include <endian.h>

#include <cstdint>

namespace tulle::verbs::rsockets {

inline constexpr uint8_t kProtocolVersion = 1;
inline constexpr uint8_t kBigEndian = 1;  // flags of a greeting
inline constexpr uint8_t kTakesMappings = 2;
inline constexpr uint32_t kTargets = 2;   // entries of a target list
inline constexpr uint32_t kControls = 4;  // messages beyond credit that may be in flight

// A buffer that the other side may write. In network order in greetings, in the byte order of the
// table's owner in tables.
struct Target {
    uint64_t address = 0;
    uint32_t key = 0;
    uint32_t length = 0;
};
static_assert(sizeof(Target) == 16);

// A buffer of the program, by the offset that both programs use. Their table follows the target
// list.
struct Mapping {
    uint64_t offset = 0;
    Target where;
};
static_assert(sizeof(Mapping) == 24);

struct Greeting {
    uint8_t version = kProtocolVersion;
    uint8_t flags = 0;
    uint16_t credits = 0;  // network order
    uint8_t reserved[3] = {};
    uint8_t mappings = 0;
    Target targets;  // the target list; its length is in entries
    Target data;     // the first buffer
};
static_assert(sizeof(Greeting) == 40);

// The upper three bits of immediate data.
enum class Kind : uint32_t { data = 0, credit = 4, mapping = 6, control = 7 };
enum class Control : uint32_t { disconnect = 0, keep_alive = 1, shutdown = 2 };

constexpr uint32_t message(Kind kind, uint32_t value) {
    return static_cast<uint32_t>(kind) << 29 | (value & 0x1fff'ffff);
}
constexpr Kind kind_of(uint32_t message) {
    return static_cast<Kind>(message >> 29);
}
constexpr uint32_t value_of(uint32_t message) {
    return message & 0x1fff'ffff;
}

inline Target to_network(const Target& t) {
    return {htobe64(t.address), htobe32(t.key), htobe32(t.length)};
}
inline Target from_network(const Target& t) {
    return {be64toh(t.address), be32toh(t.key), be32toh(t.length)};
}

}  // namespace tulle::verbs::rsockets
