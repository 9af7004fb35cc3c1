// What a simulation is given, as plain values: a graph, a fabric, hosts, work and faults.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/settings.h"
#include "fabric/settings.h"
#include "topology/graph.h"
#include "transport/adapter.h"
#include "workload/program.h"

namespace tulle::sim {

using base::Duration;
using base::Instant;

enum class Operation : uint8_t { write, send, read };

// A message from one host to another. Ends when the requester has its completion.
struct Flow {
    uint32_t source = 0;  // endpoints: hosts counted in the order of the graph
    uint32_t destination = 0;
    uint64_t bytes = 0;
    Instant start{};
    Operation operation = Operation::write;
    uint8_t service_level = 0;
    uint8_t traffic_class = 0;   // DSCP << 2 | ECN-capable
    int32_t path = -1;           // index into Setup::paths; -1: as the fabric chooses
    uint16_t port = 0;           // UDP source port; 0: drawn from the flow's number
    uint32_t id = 0;             // as the file that it came from numbers it
    uint8_t priority_group = 3;  // of HPCC's files, for fct.txt
    uint16_t destination_port = 100;
    uint32_t group = 0;  // index into Setup::groups: the piece of work that it belongs to
};

// Nodes of the graph that the data of a flow passes, and its acknowledgements, hosts included.
struct ExplicitPath {
    std::vector<uint32_t> data;
    std::vector<uint32_t> acknowledgements;
};

struct Fault {
    enum class Kind : uint8_t {
        cable_down,
        cable_up,
        switch_down,
        switch_up,
        pause_storm,  // the host's adapter pauses its link again and again, for ever
        pause_storm_end,
        slow_receiver,  // the host takes no more than `rate` from its adapter
        manager_down,   // the subnet manager that lives at the host dies
    };
    Kind kind = Kind::cable_down;
    Instant at{};
    uint32_t subject = 0;  // cable or node of the graph
    base::Rate rate = base::Rate::bits_per_second(1);
};

// What a packet costs between memory and the adapter, one after the other: PCI Express, or the
// kernel's work where it is not bypassed.
struct Toll {
    Duration per_packet{};
    std::optional<base::Rate> rate;  // of its payload; none: bytes cost nothing

    bool is_free() const { return per_packet.ps == 0 && !rate; }
};

// Time of processors that a host spends on communication.
struct CpuCost {
    Duration per_message_sent{};
    Duration per_message_received{};
    Duration per_packet_sent{};
    Duration per_packet_received{};
    uint64_t per_byte_sent_e18 = 0;  // seconds a byte, in 10^-18
    uint64_t per_byte_received_e18 = 0;
};

// Without GPUDirect a message passes through the host's memory at both ends: copied by an engine
// of the GPU, one message after the other in each direction.
struct Staging {
    bool is_on = false;
    Duration latency{};  // of each copy
    base::Rate rate = base::Rate::bits_per_second(440'000'000'000);
    Duration cpu_per_copy{};
};

// RC; or UC, where the links lose nothing; or RD, whose messages share a context for each pair of
// hosts and go through it one at a time.
enum class Service : uint8_t { reliable, unreliable, datagram };

struct HostSettings {
    Service service = Service::reliable;
    transport::LossPolicy loss = transport::LossPolicy::go_back_n;
    uint32_t mtu = 4096;
    // Selective repeat: packets that may overtake a late one, and how far ahead of one that is
    // missing packets are sent and kept.
    uint32_t reorder_tolerance = 0;
    uint32_t reorder_packets = 4096;
    transport::Delivery delivery = transport::Delivery::ordered;
    transport::PathSettings paths;
    uint32_t ack_every = 1;       // packets between requests for an acknowledgement
    bool short_ways = true;       // of packets in the middle of messages; no scenario sets it
    bool coalesce_acks = true;    // an ACK that waits is replaced by the next
    uint32_t window_packets = 0;  // in flight of a queue pair; 0: as many as the transport allows
    uint8_t ack_timeout = 14;     // 4.096 us times 2 to the power of this; 0: none
    transport::TimeoutSettings timeouts;  // instead of that, in units of time
    uint8_t retry_count = 7;
    Duration send_latency{};     // from the doorbell to the first bit
    Duration receive_latency{};  // from the last bit to the completion
    uint64_t receive_buffer_bytes = 1 << 20;
    transport::Algorithm congestion = transport::Algorithm::none;
    transport::AlgorithmSettings algorithms;
    transport::NotificationSettings notifications;
    bool answers_pass_pauses = false;  // a paused lane still sends acknowledgements
    Duration reaction{};  // from what a rank waits for to the doorbell of what it sends then
    Toll send_toll;
    Toll receive_toll;
    transport::MemoryAccess memory;
    CpuCost cpu;
    Staging staging;
};

// A host whose adapter, bus or memory is not as those of the others.
struct HostOverride {
    uint32_t node = 0;  // of the graph
    HostSettings host;
};

// Where a rank of a program is: its adapter, which ranks of a server may share, and its port of the
// network inside the server.
struct RankPlace {
    uint32_t endpoint = 0;
    uint32_t scale_up = topology::kNone;  // endpoint of Setup::scale_up
    // Of a slow rank: how long its computing and its software take, in thousandths of what they
    // should. 1000 at least.
    uint32_t compute_permille = 1000;
    uint32_t reaction_permille = 1000;
};

// A link that is captured: every packet that one end of a cable sends.
struct Tap {
    uint32_t cable = 0;
};

// A node whose own settings differ from the fabric's: what DCBX finds out when the link comes up.
struct QosOverride {
    uint32_t node = 0;
    uint16_t pfc_priorities = 0;
    fabric::EtsSettings ets;
    bool willing = false;
};

// A switch whose settings differ from the fabric's: buffer, thresholds, marking, latency.
struct SwitchOverride {
    uint32_t node = 0;
    fabric::Settings settings;
};

// Errors of one cable, in one direction or both, instead of what the graph and the fabric say.
struct CableErrors {
    uint32_t cable = 0;
    bool from_a = true;
    bool from_b = true;
    std::optional<uint64_t> loss_per_trillion;  // packets in 10^12
    std::optional<uint64_t> error_rate_e18;     // bits in 10^18
};

// Marking at ports of one rate.
struct RateMarking {
    uint64_t rate_bps = 0;
    fabric::EcnSettings ecn;
};

// Who fills the forwarding tables of switches, and fills them again when something breaks.
struct ControlSettings {
    enum class Kind : uint8_t {
        given,  // nobody: they are right from the beginning, and again route.reroute_delay later
        sweep,  // a subnet manager
        distributed,  // the switches themselves, by BGP
    };
    Kind kind = Kind::given;
    control::SweepSettings sweep;
    control::DistributedSettings distributed;
};

struct Setup {
    std::string name;  // of the scenario
    std::string fabric_name;
    topology::Graph graph;
    fabric::Settings fabric;
    HostSettings host;
    std::vector<HostOverride> host_overrides;  // by node
    std::vector<Flow> flows;
    std::vector<std::string> groups;  // names of the pieces of work, for the report
    std::vector<ExplicitPath> paths;
    workload::Program program;     // besides the flows
    std::vector<RankPlace> ranks;  // of the program
    // The network inside servers: a graph of islands, one a server, its fabric and the ports of
    // the GPUs as its hosts. It has neither flows nor a program of its own.
    std::shared_ptr<const Setup> scale_up;
    std::vector<Fault> faults;
    ControlSettings control;
    std::vector<QosOverride> qos;
    std::vector<SwitchOverride> switches;  // one a switch at most
    std::vector<CableErrors> cable_errors;
    std::vector<RateMarking> marking_of_rate;  // empty: fabric.ecn for all ports
    std::vector<Tap> taps;
    bool trace = false;  // keep what a timeline needs
    // Of programs that are generated: what goes on as before is skipped (Result::skipping).
    // Checked: a part of it is simulated all the same and compared.
    bool skips = false;
    bool checks_skipping = false;
    uint64_t seed = 1;
    Instant stop = Instant::never();

    // The settings of one host.
    const HostSettings& host_of(uint32_t node) const {
        const auto own = std::ranges::lower_bound(host_overrides, node, {}, &HostOverride::node);
        return own != host_overrides.end() && own->node == node ? own->host : host;
    }
};

}  // namespace tulle::sim
