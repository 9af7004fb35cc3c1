// The result of a simulation, as plain values; the report room makes tables and verdicts of it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/time.h"
#include "control/history.h"
#include "fabric/port.h"
#include "fabric/record.h"
#include "sim/time_account.h"
#include "transport/types.h"
#include "wire/packet.h"
#include "workload/serving/outcome.h"

namespace tulle::sim {

using base::Duration;
using base::Instant;

using fabric::CapturedPacket;
using fabric::Drop;
using fabric::kDropCauses;
using fabric::TraceSample;

struct FlowResult {
    bool finished = false;
    transport::Status status = transport::Status::success;
    Duration completion{};  // from its start to the requester's completion

    // Whether the requester has its completion, with success or with an error.
    bool has_ended() const { return finished || status != transport::Status::success; }
};

// A phase of the program: from when its first task could begin to when its last message arrived.
struct PhaseResult {
    bool finished = false;
    Instant begin{};
    Instant end{};
    uint64_t messages = 0;
};

// A stored task of the program: when its computing began or its message was posted, and the task
// that it waited for last.
struct TaskTime {
    static constexpr uint32_t kNothing = 0xffff'ffff;
    Instant begin{};
    uint32_t last_need = kNothing;
};

// One direction of a cable: the sending port, its queues and what held it up.
struct LinkResult {
    uint32_t node = 0;
    uint16_t port = 0;
    uint32_t cable = 0;
    uint32_t peer_node = 0;
    uint16_t peer_port = 0;
    uint64_t data_packets = 0;
    uint64_t control_packets = 0;  // ACKs, NAKs and CNPs of the transport
    uint64_t wire_bytes = 0;       // gaps and flow control included
    Duration busy{};
    uint64_t flow_control_packets = 0;  // pause frames or credit packets that it sent
    uint64_t pauses_received = 0;
    Duration paused{};      // held by pause frames or lack of credits, with something to send
    bool was_held = false;  // so, if only for an instant
    uint64_t peak_queue_bytes = 0;
    uint64_t marked = 0;
    std::array<uint64_t, kDropCauses> dropped{};
    uint64_t flows = 0;  // whose first packet crossed it
};

// A port that could not send, because the buffer at the other end of its cable was full of packets
// for `culprit_port` of the node there.
struct Blame {
    uint32_t node = 0;  // the victim, which was held up ...
    uint16_t port = 0;
    uint8_t lane = 0;
    uint32_t culprit_node = 0;  // ... and the output port that the full buffer waited for
    uint16_t culprit_port = 0;
    Duration paused{};
};

// Output ports that wait for each other in a circle.
struct DeadlockHop {
    uint32_t node = 0;
    uint16_t port = 0;
    uint8_t lane = 0;
};

// Packets that the fabric refused because sender and receiver share no tenant.
struct Violation {
    uint32_t source = 0;  // endpoints
    uint32_t destination = 0;
    uint32_t node = 0;  // where: a switch, or the receiving host
    uint16_t port = 0;
    bool as_sent = false;  // at the switch port of the sender, not of the receiver
    uint64_t packets = 0;
};

struct Disagreement {  // found by DCBX when a link came up
    uint32_t cable = 0;
    std::string what;
};

// What a run records as it goes, by time.
struct Records {
    std::vector<TraceSample> trace;
    std::vector<CapturedPacket> captured;
};

struct EngineFigures {
    uint64_t events = 0;
    uint64_t hops = 0;  // links traversed by data and ACK packets
    uint32_t threads = 1;
    double cpu_s = 0;
    double wall_s = 0;
    uint64_t peak_rss_bytes = 0;
};

struct Totals {
    uint64_t data_packets = 0;  // sent by hosts, retransmissions included
    uint64_t control_packets = 0;
    uint64_t delivered = 0;   // data and control, to hosts
    uint64_t in_flight = 0;   // at the end of the run
    uint64_t reduced = 0;     // contributions that a switch took into a sum
    uint64_t replicated = 0;  // copies that switches made for multicast groups
    uint64_t words = 0;       // back-pressure messages from switches to sources, ...
    uint64_t lost_words = 0;  // ... and how many of them were lost
    std::array<uint64_t, kDropCauses> dropped{};
    uint64_t retransmitted = 0;
    uint64_t trimmed = 0;
    uint64_t ecn_marked = 0;
    uint64_t cnps = 0;
    uint64_t pause_frames = 0;
    uint64_t credit_packets = 0;
    uint64_t watchdog_fired = 0;
    Duration paused{};  // summed over links
};

// What was not simulated because it repeated (Setup::skips).
struct Skipping {
    Duration time{};   // of the program, in total
    Duration doubt{};  // error bound of `time`, estimated from the simulated part
    uint64_t jumps = 0;
    uint64_t messages = 0;  // that were not sent
    // Of a part that was simulated as a check (Setup::checks_skipping): the time that was expected,
    // and the time that it took.
    Duration expected{};
    Duration taken{};
    std::string why_not;  // why nothing could be skipped
};

// The repair after a fault, and the packets lost until the next fault, by cause.
struct RepairResult {
    control::Repair repair;
    std::array<uint64_t, kDropCauses> lost{};
};

// What the control plane did; empty if tables are given.
struct ControlResult {
    std::string way;  // the protocol, or the routing engine
    Duration bring_up{};
    uint64_t bring_up_messages = 0;
    std::vector<RepairResult> repairs;  // by time

    bool is_given() const { return way.empty(); }
};

struct Result {
    // A run in which a plug-in failed is void.
    enum class End : uint8_t { done, stop_time, interrupted, stuck, plugin_failed };
    End end = End::done;
    std::string stuck_reason;  // why nothing can happen any more, or what a plug-in did
    Instant time{};            // of the last thing that happened
    uint64_t hash = 0;
    EngineFigures engine;
    Totals totals;
    std::vector<FlowResult> flows;                  // as Setup::flows
    std::vector<PhaseResult> phases;                // as Setup::program has them
    std::vector<TaskTime> tasks;                    // by task, where a job is training or a trace
    std::vector<workload::ServingOutcome> serving;  // of jobs that serve requests, in order
    // Picoseconds from the doorbell of a message of the program to its arrival; of this network.
    base::Histogram message_latency;
    uint64_t payload_bytes = 0;  // that hosts sent, each byte once
    Duration cpu{};              // of all hosts' processors
    std::shared_ptr<const Result> scale_up;
    std::vector<LinkResult> links;  // by node and port
    std::vector<Blame> blames;
    std::vector<DeadlockHop> deadlock;
    std::vector<Disagreement> disagreements;
    std::vector<Violation> violations;  // by source, destination and place
    std::vector<TraceSample> trace;
    std::vector<CapturedPacket> captured;
    TimeAccount account;
    Skipping skipping;
    ControlResult control;
};

}  // namespace tulle::sim
