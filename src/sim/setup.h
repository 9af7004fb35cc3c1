// The input of a simulation, as plain values: a graph, a fabric, hosts, work and faults.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/settings.h"
#include "fabric/reduction_trees.h"
#include "fabric/settings.h"
#include "topology/graph.h"
#include "transport/adapter.h"
#include "workload/program.h"

namespace tulle::sim {

using base::Duration;
using base::Instant;

enum class Verb : uint8_t { write, send, read };

// A message from one host to another. Ends when the requester has its completion.
struct Flow {
    uint32_t source = 0;  // endpoints: hosts counted in the order of the graph
    uint32_t destination = 0;
    uint64_t bytes = 0;
    Instant start{};
    Verb operation = Verb::write;
    uint8_t service_level = 0;
    uint8_t traffic_class = 0;   // DSCP << 2 | ECN-capable
    int32_t path = -1;           // index into Setup::paths; -1: the fabric chooses
    uint16_t port = 0;           // UDP source port; 0: drawn from the flow's number
    uint32_t id = 0;             // its number in the file that it was read from
    uint8_t priority_group = 3;  // of HPCC's files, for fct.txt
    uint16_t destination_port = 100;
    uint32_t group = 0;  // index into Setup::groups, its piece of work
};

// The nodes that data and acknowledgements of a flow pass, hosts included.
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
        pause_storm,  // the host's adapter pauses its link again and again, forever
        pause_storm_end,
        slow_receiver,  // the host takes no more than `rate` from its adapter
        manager_down,   // the subnet manager on the host dies
    };
    Kind kind = Kind::cable_down;
    Instant at{};
    uint32_t subject = 0;  // cable or node of the graph
    base::Rate rate = base::Rate::bits_per_second(1);
};

// The time of a packet between memory and the adapter: on PCI Express, or in the kernel where it is
// not bypassed. Packets take it one after the other.
struct Toll {
    Duration per_packet{};
    std::optional<base::Rate> rate;  // of its payload; none: bytes take no time

    bool is_free() const { return per_packet.ps == 0 && !rate; }
};

// CPU time that a host spends on communication.
struct CpuCost {
    Duration per_message_sent{};
    Duration per_message_received{};
    Duration per_packet_sent{};
    Duration per_packet_received{};
    uint64_t per_byte_sent_e18 = 0;  // in 10^-18 seconds
    uint64_t per_byte_received_e18 = 0;
};

// Without GPUDirect a message passes through the host's memory at both ends. An engine of the GPU
// copies it, one message after the other in each direction.
struct Staging {
    bool is_on = false;
    Duration latency{};  // of each copy
    base::Rate rate = base::Rate::bits_per_second(440'000'000'000);
    Duration cpu_per_copy{};
};

// RC; UC, for links that lose nothing; or RD. With RD all messages between two hosts share a
// context and go through it one at a time.
enum class Service : uint8_t { reliable, unreliable, datagram };

struct HostSettings {
    Service service = Service::reliable;
    transport::LossPolicy loss = transport::LossPolicy::go_back_n;
    uint32_t mtu = 4096;
    // Selective repeat: how many packets may overtake a late one before it counts as lost, and how
    // far beyond a missing packet others are sent and kept.
    uint32_t reorder_tolerance = 0;
    uint32_t reorder_packets = 4096;
    transport::Delivery delivery = transport::Delivery::ordered;
    transport::PathSettings paths;
    uint32_t ack_every = 1;  // packets between requests for an acknowledgement
    uint8_t short_ways = transport::kAllShortWays;  // no scenario sets them
    bool coalesce_acks = true;                      // the next ACK replaces one that waits
    uint32_t window_packets = 0;  // in flight per queue pair; 0: as many as the transport allows
    uint8_t ack_timeout = 14;     // 4.096 us times 2 to the power of this; 0: none
    transport::TimeoutSettings timeouts;  // replaces `ack_timeout`, in units of time
    uint8_t retry_count = 7;
    Duration send_latency{};     // from the doorbell to the first bit
    Duration receive_latency{};  // from the last bit to the completion
    uint64_t receive_buffer_bytes = 1 << 20;
    transport::Algorithm congestion = transport::Algorithm::none;
    transport::AlgorithmSettings algorithms;
    transport::NotificationSettings notifications;
    // How its adapter grants credit to senders; null: it grants none.
    const transport::RcccSettings* receiver_credit() const {
        const bool grants =
            transport::nature_of(congestion).grants_credit ||
            (congestion == transport::Algorithm::nscc && algorithms.nscc.has_credit);
        return grants ? &algorithms.rccc : nullptr;
    }
    bool answers_apart = false;        // acknowledgements travel on the lane of notifications
    bool answers_pass_pauses = false;  // a paused lane still sends acknowledgements
    Duration reaction{};  // from the end of a rank's wait to the doorbell of its next message
    Toll send_toll;
    Toll receive_toll;
    transport::MemoryAccess memory;
    CpuCost cpu;
    Staging staging;
};

// The tree of switches that adds up contributions of a job between servers, on one channel.
struct SwitchTree {
    uint32_t job = 0;  // of the program
    uint16_t channel = 0;
    uint32_t first_rank = 0;  // of the ranks that contribute
    fabric::ReductionTree tree;
};

// A host whose adapter, bus or memory differs from the others.
struct HostOverride {
    uint32_t node = 0;  // of the graph
    HostSettings host;
};

// Where a rank of a program is: its adapter, which several ranks of a server may share, and its
// port to the network inside the server.
struct RankPlace {
    uint32_t endpoint = 0;
    uint32_t scale_up = topology::kNone;  // endpoint of Setup::scale_up
    // How slow its computing and its software are: 1000 is normal, 2000 takes twice as long.
    uint32_t compute_permille = 1000;
    uint32_t reaction_permille = 1000;
};

// A link that is captured: every packet that one end of a cable sends.
struct Tap {
    uint32_t cable = 0;
};

// A node whose own settings differ from the fabric's. DCBX finds this when the link comes up.
struct QosOverride {
    uint32_t node = 0;
    uint16_t pfc_priorities = 0;
    fabric::EtsSettings ets;
    bool willing = false;
};

// Hosts that may talk only to each other: a partition of InfiniBand, a VLAN or VRF of Ethernet
// (fabric/tenancy.h). A host may be in several. Hosts without a tenant may talk to each other.
struct Tenant {
    std::string name;
    uint16_t pkey = 0;  // its number, fifteen bits
    uint16_t vlan = 0;
    std::vector<uint32_t> full;     // endpoints
    std::vector<uint32_t> limited;  // may talk only to full members
};

// A switch whose settings differ from the fabric's: buffer, thresholds, marking, latency.
struct SwitchOverride {
    uint32_t node = 0;
    fabric::Settings settings;
};

// Errors of one cable, in one direction or both. They replace those of the graph and the fabric.
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

// Who fills the forwarding tables of switches, and repairs them after a fault.
struct ControlSettings {
    enum class Kind : uint8_t {
        given,  // nobody: right from the beginning, and again route.reroute_delay after a fault
        sweep,  // a subnet manager
        distributed,  // the switches themselves, by BGP
    };
    Kind kind = Kind::given;
    control::SweepSettings sweep;
    control::DistributedSettings distributed;
};

// With --skip: what is simulated instead of more of its kind (scenario/stand_ins.h).
struct StandIns {
    uint32_t packets = 1;           // that one simulated packet inside servers stands for
    uint32_t rails = 1;             // that one simulated rail of a server stands for
    std::vector<uint32_t> places;   // by rank: the rank at whose place it is; empty: at its own
    int64_t doubt_per_million = 0;  // of the program's time
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
    workload::Program program;      // besides the flows
    std::vector<RankPlace> ranks;   // of the program
    std::vector<SwitchTree> trees;  // of its sums between servers
    // The network inside servers. Its graph has one island per server; its hosts are the ports of
    // the GPUs. It has neither flows nor a program of its own.
    std::shared_ptr<const Setup> scale_up;
    std::vector<Fault> faults;
    ControlSettings control;
    std::vector<QosOverride> qos;
    std::vector<Tenant> tenants;
    std::vector<SwitchOverride> switches;  // at most one per switch
    std::vector<CableErrors> cable_errors;
    std::vector<RateMarking> marking_of_rate;  // empty: fabric.ecn for all ports
    std::vector<Tap> taps;
    bool trace = false;  // keep what a timeline needs
    // Skips what repeats in generated programs (Result::skipping). `checks_skipping`: simulates a
    // part of it anyway and compares.
    bool skips = false;
    bool checks_skipping = false;
    StandIns stand_ins;  // `scale_up` and `program` have them already
    uint64_t seed = 1;
    Instant stop = Instant::never();

    // The settings of one host.
    const HostSettings& host_of(uint32_t node) const {
        const auto own = std::ranges::lower_bound(host_overrides, node, {}, &HostOverride::node);
        return own != host_overrides.end() && own->node == node ? own->host : host;
    }
};

// Whether the congestion control of any host asks switches to write telemetry into packets.
inline bool wants_telemetry(const Setup& setup) {
    const auto wants = [](const HostSettings& host) {
        const transport::LoadedPlugin* plugin = host.algorithms.plugin.loaded.get();
        return transport::nature_of(host.congestion).wants_telemetry ||
               (host.congestion == transport::Algorithm::plugin && plugin != nullptr &&
                plugin->wants_telemetry());
    };
    return wants(setup.host) ||
           std::ranges::any_of(setup.host_overrides, wants, &HostOverride::host);
}

}  // namespace tulle::sim
