// The counters of a port, as files of /sys/class/infiniband show them, under the names of mlx5 and
// the kernel. The table maps each name to a word of a process's counters. The shim uses it without
// any of our libraries, so this file is only a table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/counters.h"

namespace tulle::live {

struct CounterName {
    const char* folder;  // in the port's folder: counters or hw_counters
    const char* name;
    uint32_t word;              // into transport::Counters; kNoWord: always zero
    uint32_t minus = 0xffff;    // a word to subtract
    uint32_t bytes_a_unit = 1;  // of the word for each unit that the file shows
};

inline constexpr uint32_t kNoWord = 0xffff;
inline constexpr uint32_t kCounterWords = sizeof(transport::Counters) / sizeof(uint64_t);

// The counters of the wire between machines (udp_path.h); they follow those of the adapter.
struct WireCounters {
    uint64_t rx_unknown_source = 0;  // from addresses without a connection
    uint64_t rx_no_process = 0;      // for queue pair numbers that no process here has
    uint64_t rx_malformed = 0;       // datagrams that are no packets
    uint64_t rx_icrc_errors = 0;
    uint64_t rx_icrc_solved = 0;  // good, with an IPv4 identification that had to be solved for
    uint64_t rx_handed_over = 0;  // handed over to another process of the machine
    uint64_t tx_errors = 0;       // datagrams that the kernel or the network refused
    uint64_t cm_held = 0;         // requests that came before a listener, and were kept
};
inline constexpr uint32_t kWireWords = sizeof(WireCounters) / sizeof(uint64_t);

#define TULLE_WORD(field) (offsetof(transport::Counters, field) / sizeof(uint64_t))
#define TULLE_HARDWARE(field)                    \
    CounterName {                                \
        "hw_counters", #field, TULLE_WORD(field) \
    }
#define TULLE_WIRE(field)                                                                       \
    CounterName {                                                                               \
        "hw_counters", #field, kCounterWords + offsetof(WireCounters, field) / sizeof(uint64_t) \
    }
#define TULLE_ABSENT(folder, name) \
    CounterName {                  \
        folder, name, kNoWord      \
    }

inline constexpr CounterName kCounterNames[] = {
    {"counters", "port_xmit_packets", TULLE_WORD(port_xmit_packets)},
    {"counters", "port_rcv_packets", TULLE_WORD(port_rcv_packets)},
    {"counters", "port_xmit_data", TULLE_WORD(port_xmit_data_bytes), kNoWord, 4},
    {"counters", "port_rcv_data", TULLE_WORD(port_rcv_data_bytes), kNoWord, 4},
    {"counters", "port_rcv_errors", TULLE_WORD(port_rcv_errors)},
    {"counters", "multicast_xmit_packets", TULLE_WORD(multicast_xmit_packets)},
    {"counters", "multicast_rcv_packets", TULLE_WORD(multicast_rcv_packets)},
    {"counters", "unicast_xmit_packets", TULLE_WORD(port_xmit_packets),
     TULLE_WORD(multicast_xmit_packets)},
    {"counters", "unicast_rcv_packets", TULLE_WORD(port_rcv_packets),
     TULLE_WORD(multicast_rcv_packets)},
    TULLE_ABSENT("counters", "port_xmit_wait"),
    TULLE_ABSENT("counters", "port_xmit_discards"),
    TULLE_ABSENT("counters", "port_xmit_constraint_errors"),
    TULLE_ABSENT("counters", "port_rcv_constraint_errors"),
    TULLE_ABSENT("counters", "port_rcv_remote_physical_errors"),
    TULLE_ABSENT("counters", "port_rcv_switch_relay_errors"),
    TULLE_ABSENT("counters", "symbol_error"),
    TULLE_ABSENT("counters", "link_error_recovery"),
    TULLE_ABSENT("counters", "link_downed"),
    TULLE_ABSENT("counters", "local_link_integrity_errors"),
    TULLE_ABSENT("counters", "excessive_buffer_overrun_errors"),
    TULLE_ABSENT("counters", "VL15_dropped"),
    TULLE_HARDWARE(duplicate_request),
    TULLE_HARDWARE(implied_nak_seq_err),
    TULLE_HARDWARE(local_ack_timeout_err),
    TULLE_HARDWARE(out_of_buffer),
    TULLE_HARDWARE(out_of_sequence),
    TULLE_HARDWARE(packet_seq_err),
    TULLE_HARDWARE(req_cqe_error),
    TULLE_HARDWARE(req_cqe_flush_error),
    TULLE_HARDWARE(req_remote_access_errors),
    TULLE_HARDWARE(req_remote_invalid_request),
    TULLE_HARDWARE(resp_cqe_error),
    TULLE_HARDWARE(resp_cqe_flush_error),
    TULLE_HARDWARE(resp_local_length_error),
    TULLE_HARDWARE(resp_remote_access_errors),
    TULLE_HARDWARE(rnr_nak_retry_err),
    TULLE_HARDWARE(rp_cnp_handled),
    TULLE_HARDWARE(rp_cnp_ignored),
    TULLE_HARDWARE(np_cnp_sent),
    TULLE_HARDWARE(np_ecn_marked_roce_packets),
    TULLE_HARDWARE(rx_read_requests),
    TULLE_HARDWARE(rx_write_requests),
    TULLE_HARDWARE(rx_atomic_requests),
    {"hw_counters", "rx_icrc_encapsulated", TULLE_WORD(port_rcv_errors)},
    TULLE_WIRE(rx_unknown_source),
    TULLE_WIRE(rx_no_process),
    TULLE_WIRE(rx_malformed),
    TULLE_WIRE(rx_icrc_errors),
    TULLE_WIRE(rx_icrc_solved),
    TULLE_WIRE(rx_handed_over),
    TULLE_WIRE(tx_errors),
    TULLE_WIRE(cm_held),
    TULLE_ABSENT("hw_counters", "roce_adp_retrans"),
    TULLE_ABSENT("hw_counters", "roce_adp_retrans_to"),
    TULLE_ABSENT("hw_counters", "roce_slow_restart"),
    TULLE_ABSENT("hw_counters", "roce_slow_restart_cnps"),
    TULLE_ABSENT("hw_counters", "roce_slow_restart_trans"),
    TULLE_ABSENT("hw_counters", "rx_dct_connect"),
};

#undef TULLE_WORD
#undef TULLE_HARDWARE
#undef TULLE_WIRE
#undef TULLE_ABSENT

// A host's counters are in one file. Each slot has two blocks: the counters of its adapter, and
// those of the short way. The sum over all blocks is the host's. A process that takes the slot of
// one that has ended adds to the values that it finds, so nothing is lost.
inline constexpr const char* kCountersFile = "port_counters";  // in the host's tree
inline constexpr uint32_t kCounterBlockWords = 48;
inline constexpr uint32_t kCounterBlocks = 2 * 256;
inline constexpr size_t kCountersBytes = size_t{kCounterBlocks} * kCounterBlockWords * 8;
static_assert(kCounterWords + kWireWords <= kCounterBlockWords);

// A counter's value in such a file, which is mapped at `words`.
inline uint64_t sum_of(const uint64_t* words, uint32_t word) {
    uint64_t sum = 0;
    for (uint32_t block = 0; word != kNoWord && block < kCounterBlocks; ++block)
        sum += __atomic_load_n(words + size_t{block} * kCounterBlockWords + word, __ATOMIC_RELAXED);
    return sum;
}
inline uint64_t value_of(const uint64_t* words, const CounterName& counter) {
    return (sum_of(words, counter.word) - sum_of(words, counter.minus)) / counter.bytes_a_unit;
}

}  // namespace tulle::live
