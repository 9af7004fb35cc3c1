// Counters under their usual names: those of a port's `counters` and `hw_counters` folders in
// /sys/class/infiniband (mlx5), in the same order.
#pragma once

#include <cstdint>

namespace tulle::transport {

struct Counters {
    // counters
    uint64_t port_xmit_packets = 0;
    uint64_t port_rcv_packets = 0;
    uint64_t port_xmit_data_bytes = 0;  // sysfs shows four-byte words
    uint64_t port_rcv_data_bytes = 0;
    uint64_t port_rcv_errors = 0;
    uint64_t multicast_xmit_packets = 0;
    uint64_t multicast_rcv_packets = 0;
    // hw_counters
    uint64_t duplicate_request = 0;
    uint64_t implied_nak_seq_err = 0;
    uint64_t local_ack_timeout_err = 0;
    uint64_t out_of_buffer = 0;
    uint64_t out_of_sequence = 0;
    uint64_t packet_seq_err = 0;
    uint64_t req_cqe_error = 0;
    uint64_t req_cqe_flush_error = 0;
    uint64_t req_remote_access_errors = 0;
    uint64_t req_remote_invalid_request = 0;
    uint64_t resp_cqe_error = 0;
    uint64_t resp_cqe_flush_error = 0;
    uint64_t resp_local_length_error = 0;
    uint64_t resp_remote_access_errors = 0;
    uint64_t rnr_nak_retry_err = 0;
    uint64_t rp_cnp_handled = 0;
    uint64_t rp_cnp_ignored = 0;
    uint64_t np_cnp_sent = 0;
    uint64_t np_ecn_marked_roce_packets = 0;
    uint64_t rx_read_requests = 0;
    uint64_t rx_write_requests = 0;
    uint64_t rx_atomic_requests = 0;
    // PortInfo (IBTA vol 1, 14.2.5.6)
    uint64_t pkey_violations = 0;
    uint64_t qkey_violations = 0;
    // our own
    uint64_t retransmitted_packets = 0;
    uint64_t retransmitted_bytes = 0;  // payload of those
    uint64_t dropped_no_qp = 0;        // for a queue pair that does not exist
    uint64_t dropped_bad_state = 0;    // for a queue pair that does not receive
    uint64_t dropped_silently = 0;     // silent drops that the specification requires
    uint64_t dropped_too_early = 0;    // too far ahead of a missing packet: reorder_packets

    // Counts a retransmitted packet, a request or an answer.
    void count_again(uint32_t payload_bytes) {
        ++retransmitted_packets;
        retransmitted_bytes += payload_bytes;
    }
};

}  // namespace tulle::transport
