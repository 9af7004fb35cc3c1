// Common parts of the builders: rows of equal nodes, and limits checked before anything is
// allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/graph.h"

namespace tulle::topology {

// The size of a fabric. 64-bit counts of 32-bit options may overflow, so products saturate.
struct Size {
    uint64_t hosts = 0;
    uint64_t switches = 0;
    uint64_t cables = 0;
    uint64_t ports = 0;  // of the largest switch
};

// a * b, saturated.
constexpr uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? ~uint64_t{0} : product;
}
template <class... More>
constexpr uint64_t times(uint64_t a, uint64_t b, More... more) {
    return times(times(a, b), more...);
}
constexpr uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? ~uint64_t{0} : sum;
}
template <class... More>
constexpr uint64_t plus(uint64_t a, uint64_t b, More... more) {
    return plus(plus(a, b), more...);
}

// An error if the fabric has no hosts, or exceeds the limits of builders.h.
std::optional<base::Error> check_size(std::string_view builder, const Size& size);

// Adds `count` nodes NAME0, NAME1, ...; each host is a server of its own. Returns the index of the
// first.
uint32_t add_hosts(Graph& graph, uint32_t count);
uint32_t add_switches(Graph& graph, uint32_t count, std::string_view name, uint8_t tier);

// Cables `hosts_each` hosts to each of `count` switches, both taken in order.
void attach_hosts(Graph& graph, uint32_t first_host, uint32_t first_switch, uint32_t count,
                  uint32_t hosts_each);

// Global cables of a dragonfly. Group i has `ports` slots for them, numbered from 0; place(i, n) is
// the node with slot n. Each pair of groups gets the same number of cables, in rounds: in each
// round group i goes through all other groups in order.
template <class Place>
void connect_groups(Graph& graph, uint32_t groups, uint32_t ports, Place&& place) {
    const uint32_t rounds = groups > 1 ? ports / (groups - 1) : 0;
    for (uint32_t round = 0; round < rounds; ++round)
        for (uint32_t low = 0; low < groups; ++low)
            for (uint32_t high = low + 1; high < groups; ++high) {
                const uint32_t first = round * (groups - 1);
                graph.connect(place(low, first + high - 1), place(high, first + low));
            }
}

}  // namespace tulle::topology
