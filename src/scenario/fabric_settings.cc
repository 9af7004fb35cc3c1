// Settings of links, switches, loss, routes and marking.
#include <bit>

#include "fabric/credits.h"
#include "scenario/setting_tables.h"

namespace tulle::scenario {
namespace {

using fabric::Arbitration;
using fabric::BitErrors;
using fabric::FlowControl;
using fabric::Forwarding;
using fabric::Marking;
using fabric::Overflow;
using fabric::PathChoice;
using fabric::RouteKind;
using fabric::Trust;
using wire::Encapsulation;

// Sets the bytes around BTH, extended headers and payload: Ethernet 14 and 4, IPv4 20, IPv6 or GRH
// 40, UDP 8, ICRC 4; LRH 8 and VCRC 2 on InfiniBand.
void set_envelope(Target& target) {
    fabric::FramingSettings& framing = target.fabric.framing;
    framing.minimum_bytes = 64;
    switch (framing.encapsulation) {
        case Encapsulation::infiniband_local: framing.envelope_bytes = 14; break;
        case Encapsulation::infiniband_global: framing.envelope_bytes = 54; break;
        case Encapsulation::roce_v1: framing.envelope_bytes = 62; break;
        case Encapsulation::roce_v2_ipv4: framing.envelope_bytes = 50; break;
        case Encapsulation::roce_v2_ipv6: framing.envelope_bytes = 70; break;
    }
    if (wire::is_infiniband(framing.encapsulation)) framing.minimum_bytes = 0;
}

std::vector<Setting> link_settings() {
    return {
        {"fabric.link.rate", Use::always, rate(TULLE_AT(fabric.link.rate)),
         "data rate of a cable, without line code and FEC, unless the topology gives one"},
        {"fabric.link.delay", Use::always, duration(TULLE_AT(fabric.link.delay)),
         "propagation delay of a cable, unless the topology gives one"},
        {"fabric.link.fec_delay", Use::always, duration(TULLE_AT(fabric.link.fec_delay)),
         "time to encode and decode FEC, once per cable"},
        {"fabric.link.gap", Use::always, size32(TULLE_AT(fabric.link.gap_bytes)),
         "bytes between packets: preamble and inter-frame gap"},
        {"fabric.link.error_rate", Use::always,
         part64(TULLE_AT(fabric.link.error_rate_e18), 1'000'000'000'000'000'000),
         "bit errors that remain after FEC, as a part of all bits"},
        {"fabric.link.bit_errors", Use::always,
         choice<BitErrors>(TULLE_AT(fabric.link.bit_errors),
                           {{"corrected", BitErrors::corrected},
                            {"retransmitted", BitErrors::retransmitted},
                            {"dropped", BitErrors::dropped}}),
         "what happens to a packet with a bit error: FEC corrects it, the link retransmits it and "
         "all packets after it (link-level retry), or it is dropped"},
        {"fabric.link.retry.response", Use::link_retry,
         duration(TULLE_AT(fabric.link.retry.response)),
         "time that both ends take to request a retransmission, without the delay of the cable"},
        {"fabric.link.retry.replays", Use::link_retry,
         number<uint8_t>(TULLE_AT(fabric.link.retry.replays), 1, 255),
         "retransmissions of one packet before it is dropped"},
        {"fabric.link.whole_nanoseconds", Use::always,
         yes_no(TULLE_AT(fabric.link.whole_nanoseconds)),
         "round the serialization time of a packet down to whole nanoseconds, as ns-3 does"},
        {"fabric.framing.encapsulation", Use::always,
         choice<Encapsulation>(TULLE_AT(fabric.framing.encapsulation),
                               {{"infiniband", Encapsulation::infiniband_local},
                                {"infiniband_global", Encapsulation::infiniband_global},
                                {"roce_v1", Encapsulation::roce_v1},
                                {"roce_v2", Encapsulation::roce_v2_ipv4},
                                {"roce_v2_ipv6", Encapsulation::roce_v2_ipv6}},
                               set_envelope),
         "the headers around a packet; sets envelope and minimum"},
        {"fabric.framing.envelope", Use::always, size32(TULLE_AT(fabric.framing.envelope_bytes)),
         "bytes of a packet other than BTH, extended headers and payload"},
        {"fabric.framing.minimum", Use::always, size32(TULLE_AT(fabric.framing.minimum_bytes)),
         "size of the smallest packet"},
        {"fabric.framing.fixed_header", Use::always,
         size32(TULLE_AT(fabric.framing.fixed_header_bytes)),
         "header bytes of every data packet, as in simulators without extended headers; 0: as on "
         "the wire"},
        {"fabric.framing.fixed_ack", Use::always, size32(TULLE_AT(fabric.framing.fixed_ack_bytes)),
         "bytes of every acknowledgement, as in simulators; 0: as on the wire"},
        {"fabric.framing.telemetry", Use::telemetry,
         size32(TULLE_AT(fabric.framing.telemetry_bytes)),
         "additional bytes of each data packet and acknowledgement: what switches write into "
         "packets and receivers return"},
    };
}

std::vector<Setting> loss_settings() {
    return {
        {"fabric.framing.capture", Use::always,
         choice<bool>(TULLE_AT(fabric.framing.is_captured_as_uet),
                      {{"roce", false}, {"uet", true}}),
         "which headers a capture shows if encapsulation is roce_v2: those of RoCE or of Ultra "
         "Ethernet. The size of packets on the line does not depend on it"},
        {"fabric.flow_control", Use::always,
         choice<FlowControl>(TULLE_AT(fabric.flow_control), {{"none", FlowControl::none},
                                                             {"pfc", FlowControl::pfc},
                                                             {"credits", FlowControl::credits}}),
         "how a full buffer stops the sender before it"},
        {"fabric.overflow", Use::always,
         choice<Overflow>(TULLE_AT(fabric.overflow),
                          {{"drop", Overflow::drop}, {"trim", Overflow::trim}}),
         "what a full buffer does with a packet: drop it, or cut off its payload (trim)"},
        {"fabric.pfc.priorities", Use::pfc, lane_set(TULLE_AT(fabric.pfc.priorities), 7),
         "the lossless priorities"},
        {"fabric.pfc.threshold", Use::pfc,
         choice<bool>(TULLE_AT(fabric.pfc.dynamic_threshold),
                      {{"dynamic", true}, {"static", false}}),
         "dynamic: pause at switch.alpha times the free shared buffer; static: pause at xoff"},
        {"fabric.pfc.xoff", Use::static_threshold, size64(TULLE_AT(fabric.pfc.xoff_bytes)),
         "bytes of an ingress port and priority at which it pauses its sender"},
        {"fabric.pfc.xon_offset", Use::pfc, size64(TULLE_AT(fabric.pfc.xon_offset_bytes)),
         "a pause ends when the queue is this far below the threshold"},
        {"fabric.pfc.reserve", Use::pfc, size64(TULLE_AT(fabric.pfc.reserve_bytes)),
         "buffer reserved for each ingress port and priority, used before the shared buffer"},
        {"fabric.pfc.headroom", Use::pfc, size64(TULLE_AT(fabric.pfc.headroom_bytes)),
         "buffer of each ingress port and priority for packets that arrive after a pause was sent; "
         "0: computed"},
        {"fabric.pfc.headroom_delays", Use::pfc,
         number<uint32_t>(TULLE_AT(fabric.pfc.headroom_delays), 0, 1000),
         "if headroom is 0: the headroom as a multiple of what fits on the cable; 0: what arrives "
         "until a pause takes effect"},
        {"fabric.pfc.quanta", Use::pfc, number<uint16_t>(TULLE_AT(fabric.pfc.quanta), 1, 0xffff),
         "pause time in a pause frame, in units of 512 bit times"},
        {"fabric.pfc.response_time", Use::pfc, duration(TULLE_AT(fabric.pfc.response_time)),
         "time from the arrival of a pause frame until no further packet starts"},
        {"fabric.pfc.watchdog", Use::pfc, duration_or_off(TULLE_AT(fabric.pfc.watchdog)),
         "a queue that is paused for longer is released, and its packets are dropped"},
        {"fabric.pfc.watchdog_restore", Use::watchdog,
         duration(TULLE_AT(fabric.pfc.watchdog_restore)), "how long pauses are ignored after that"},
        {"fabric.credits.lane_buffer", Use::credits,
         size32(TULLE_AT(fabric.credits.lane_buffer_bytes)),
         "input buffer of each virtual lane of a port"},
        {"fabric.credits.update", Use::credits, size32(TULLE_AT(fabric.credits.update_bytes)),
         "buffer that has to become free before a flow-control packet is sent"},
        {"fabric.credits.packet", Use::credits, size32(TULLE_AT(fabric.credits.packet_bytes)),
         "size of a flow-control packet on the wire"},
        {"fabric.credits.counter_bits", Use::credits,
         number<uint32_t>(TULLE_AT(fabric.credits.counter_bits), 9, fabric::kMostCreditBits),
         "width of the credit counters, which wrap; half of their range can be granted at a time"},
        {"fabric.credits.unit", Use::credits,
         Field{"size, a power of two from 16 to 1024",
               [](Target& target, const Value& value) -> Complaint {
                   uint32_t bytes = 0;
                   const auto read = size32([&](Target&) -> uint32_t& { return bytes; });
                   if (auto wrong = read.read(target, value)) return wrong;
                   if (!std::has_single_bit(bytes) || bytes < 16 || bytes > 1024)
                       return "write a power of two from 16B to 1024B";
                   target.fabric.credits.unit_bytes = bytes;
                   return std::nullopt;
               }},
         "size of one credit: 64B on InfiniBand, 128B in Ultra Ethernet's CBFC"},
        {"fabric.credits.head_of_queue_lifetime", Use::credits,
         duration_or_off(TULLE_AT(fabric.credits.head_of_queue_lifetime)),
         "a packet that waits longer at the head of its queue is dropped"},
    };
}

std::vector<Setting> switch_settings() {
    return {
        {"fabric.switch.forwarding", Use::always,
         choice<Forwarding>(TULLE_AT(fabric.node.forwarding),
                            {{"store_and_forward", Forwarding::store_and_forward},
                             {"cut_through", Forwarding::cut_through}}),
         "whether a packet has to arrive completely before it is forwarded"},
        {"fabric.switch.latency", Use::always, duration(TULLE_AT(fabric.node.latency)),
         "time from the arrival of a packet to its output queue"},
        {"fabric.switch.buffer", Use::shared_buffer, size64(TULLE_AT(fabric.node.buffer_bytes)),
         "buffer shared by all ports, besides reserves and headroom"},
        {"fabric.switch.buffer_holds", Use::pfc,
         choice<bool>(TULLE_AT(fabric.node.buffer_holds_all), {{"shared", false}, {"all", true}}),
         "whether buffer is the shared part alone, or also contains a reserve and a headroom for "
         "each port"},
        {"fabric.switch.port_buffer", Use::shared_buffer,
         size64(TULLE_AT(fabric.node.port_buffer_bytes)),
         "size limit of an output queue; 0: limited by the shared buffer only"},
        {"fabric.switch.lossy_threshold", Use::shared_buffer,
         choice<bool>(TULLE_AT(fabric.node.lossy_dynamic_threshold),
                      {{"dynamic", true}, {"none", false}}),
         "whether a lossy queue is limited to alpha times the free shared buffer"},
        {"fabric.switch.alpha", Use::alpha,
         ratio(TULLE_AT(fabric.pfc.alpha_numerator), TULLE_AT(fabric.pfc.alpha_denominator)),
         "part of the free shared buffer that one queue may take"},
        {"fabric.switch.alpha_by_rate", Use::alpha, yes_no(TULLE_AT(fabric.node.alpha_by_rate)),
         "double alpha for pauses with each doubling of an input's rate above that of the hosts, "
         "up to 1"},
        {"fabric.switch.reduction", Use::always, yes_no(TULLE_AT(fabric.node.reduction)),
         "whether the switch adds up what several hosts send, and copies the result to several"},
        {"fabric.switch.reduction_efficiency", Use::reduction,
         ratio(TULLE_AT(fabric.node.reduction_numerator),
               TULLE_AT(fabric.node.reduction_denominator)),
         "part of the line rate that this traffic reaches, from 1/4 to 1"},
        {"fabric.switch.reduction_trees", Use::reduction,
         number<uint32_t>(TULLE_AT(fabric.node.reduction_trees), 0, 1 << 20),
         "between servers: limit of the trees that a switch takes part in; 0: no limit"},
        {"fabric.switch.reduction_streams", Use::reduction,
         number<uint32_t>(TULLE_AT(fabric.node.reduction_streams), 0, 1 << 20),
         "between servers: limit of the trees for long messages at one port; 0: no limit"},
        {"fabric.switch.reduction_stream_above", Use::reduction,
         size64(TULLE_AT(fabric.node.reduction_stream_above)),
         "between servers: longer messages use a tree that streams"},
        {"fabric.switch.reduction_piece", Use::reduction,
         size64(TULLE_AT(fabric.node.reduction_piece)),
         "between servers: bytes that a tree for shorter messages adds up at a time"},
        {"fabric.switch.reduction_pieces", Use::reduction,
         number<uint32_t>(TULLE_AT(fabric.node.reduction_pieces), 1, 1 << 16),
         "between servers: pieces of a message in flight"},
        {"fabric.switch.partition_enforcement", Use::credits,
         yes_no(TULLE_AT(fabric.node.enforces_partitions)),
         "with tenants on InfiniBand: whether switches check P_Keys at the ports of hosts, as "
         "OpenSM configures them; adapters always check"},
        {"fabric.arbitration", Use::always,
         choice<Arbitration>(TULLE_AT(fabric.arbitration),
                             {{"ets", Arbitration::ets}, {"vl_tables", Arbitration::vl_tables}}),
         "how a port chooses the lane that sends next"},
        {"fabric.ets.strict", Use::ets, lane_set(TULLE_AT(fabric.ets.strict)),
         "lanes with strict priority; the highest number goes first"},
        {"fabric.ets.weights", Use::ets, array<fabric::kLanes>(TULLE_AT(fabric.ets.weight), 1, 255),
         "weights of the other lanes"},
        {"fabric.vl_arbitration.high", Use::vl_tables, vl_table([](Target& target) {
             auto& tables = target.fabric.vl_arbitration;
             return std::pair(tables.high.data(), &tables.high_count);
         }),
         "the table with priority; weights are in blocks of 64 bytes"},
        {"fabric.vl_arbitration.low", Use::vl_tables, vl_table([](Target& target) {
             auto& tables = target.fabric.vl_arbitration;
             return std::pair(tables.low.data(), &tables.low_count);
         }),
         "the other table"},
        {"fabric.vl_arbitration.high_limit", Use::vl_tables,
         number<uint8_t>(TULLE_AT(fabric.vl_arbitration.high_limit), 0, 255),
         "4,096-byte blocks that the high table may send before the low table gets a turn; 255: no "
         "limit; 0: one packet"},
        {"fabric.qos.trust", Use::always,
         choice<Trust>(TULLE_AT(fabric.qos.trust),
                       {{"service_level", Trust::service_level}, {"dscp", Trust::dscp}}),
         "which field of a packet selects its lane"},
        {"fabric.qos.lane_of_level", Use::always,
         array<16>(TULLE_AT(fabric.qos.lane_of_level), 0, 15), "the lane of each service level"},
        {"fabric.qos.lane_of_dscp", Use::dscp, array<64>(TULLE_AT(fabric.qos.lane_of_dscp), 0, 7),
         "the lane of each DSCP"},
        {"fabric.qos.trimmed_lane", Use::trimming,
         number<uint8_t>(TULLE_AT(fabric.qos.trimmed_lane), 0, 15), "the lane of trimmed packets"},
    };
}

std::vector<Setting> signal_and_route_settings() {
    return {
        {"fabric.marking", Use::always,
         choice<Marking>(TULLE_AT(fabric.marking),
                         {{"none", Marking::none}, {"ecn", Marking::ecn}, {"fecn", Marking::fecn}}),
         "how a switch signals congestion"},
        {"fabric.ecn.kmin", Use::ecn, size64(TULLE_AT(fabric.ecn.kmin_bytes)),
         "queue length below which no packet is marked"},
        {"fabric.ecn.kmax", Use::ecn, size64(TULLE_AT(fabric.ecn.kmax_bytes)),
         "queue length above which every packet is marked"},
        {"fabric.ecn.pmax", Use::ecn, part32(TULLE_AT(fabric.ecn.pmax_millionths), 1'000'000),
         "part of the packets that is marked just below kmax"},
        {"fabric.ecn.at", Use::ecn,
         choice<bool>(TULLE_AT(fabric.ecn.at_dequeue), {{"enqueue", false}, {"dequeue", true}}),
         "whether a packet is marked when it enters the queue or when it leaves"},
        {"fabric.ecn.at_hosts", Use::ecn, yes_no(TULLE_AT(fabric.ecn.at_hosts)),
         "whether ports to hosts mark too; where receivers grant credit, marks there are not "
         "needed"},
        {"fabric.fecn.threshold", Use::fecn, size64(TULLE_AT(fabric.fecn.threshold_bytes)),
         "length of an output queue above which it marks"},
        {"fabric.fecn.marking_rate", Use::fecn,
         number<uint32_t>(TULLE_AT(fabric.fecn.marking_rate), 0, 0xffff),
         "packets between two marked packets"},
        {"fabric.fecn.minimum", Use::fecn, size32(TULLE_AT(fabric.fecn.minimum_bytes)),
         "size below which a packet is not marked"},
        {"fabric.fecn.victims", Use::fecn, yes_no(TULLE_AT(fabric.fecn.victims)),
         "whether a queue that waits for credits itself marks too"},
        {"fabric.back_pressure.above", Use::always,
         size64(TULLE_AT(fabric.back_pressure.above_bytes)),
         "queue length to a host above which a switch tells each source how many sources fill that "
         "queue, for congestion.algorithm: back_pressure; 0: never"},
        {"fabric.back_pressure.forget_after", Use::back_pressure,
         duration(TULLE_AT(fabric.back_pressure.forget_after)),
         "a source that has sent nothing for this long is no longer counted"},
        {"fabric.back_pressure.interval", Use::back_pressure,
         duration(TULLE_AT(fabric.back_pressure.interval)),
         "shortest time between two notifications to one source"},
        {"fabric.back_pressure.lane", Use::back_pressure,
         number<uint8_t>(TULLE_AT(fabric.back_pressure.lane), 0, 14),
         "lane of the notifications; it must not be lossless"},
        {"fabric.back_pressure.frame", Use::back_pressure,
         size32(TULLE_AT(fabric.back_pressure.frame_bytes)), "size of a notification on the wire"},
        {"fabric.route.kind", Use::always,
         choice<RouteKind>(TULLE_AT(fabric.route.kind),
                           {{"shortest", RouteKind::shortest},
                            {"up_down", RouteKind::up_down},
                            {"spanning_tree", RouteKind::spanning_tree}}),
         "which paths the forwarding tables contain"},
        {"fabric.route.choice", Use::always,
         choice<PathChoice>(TULLE_AT(fabric.route.choice),
                            {{"ecmp", PathChoice::ecmp},
                             {"destination", PathChoice::destination},
                             {"adaptive", PathChoice::adaptive},
                             {"flowlet", PathChoice::flowlet},
                             {"spray", PathChoice::spray},
                             {"ugal", PathChoice::ugal}}),
         "how a switch chooses among the ports of its table. ecmp: by a hash of the flow; "
         "destination: one port for each destination; adaptive: the shortest queue, packet by "
         "packet; flowlet: the shortest queue, flowlet by flowlet; spray: all ports evenly, packet "
         "by packet; ugal: on a dragonfly the shortest queue or a detour through another group, "
         "elsewhere as adaptive"},
        {"fabric.route.flowlet_gap", Use::flowlets, duration(TULLE_AT(fabric.route.flowlet_gap)),
         "pause of a flow after which it may change its path; 0: after each packet"},
        {"fabric.route.load_step", Use::loads, size64(TULLE_AT(fabric.route.load_step_bytes)),
         "granularity with which a switch sees the load of its queues; 0: bytes"},
        {"fabric.route.load_period", Use::loads, duration(TULLE_AT(fabric.route.load_period)),
         "a switch reads the load of a port once in this time; 0: for each packet"},
        {"fabric.route.warn_above", Use::loads, size64(TULLE_AT(fabric.route.warn_above_bytes)),
         "queue length above which a switch warns its neighbours, which then avoid paths through "
         "that queue; 0: never"},
        {"fabric.route.detour_bias", Use::ugal, duration(TULLE_AT(fabric.route.detour_bias)),
         "a packet takes a detour if it would wait more than twice as long without one, plus this "
         "time"},
        {"fabric.route.group_lanes", Use::always, yes_no(TULLE_AT(fabric.route.group_lanes)),
         "a packet from another group of a dragonfly moves up one lane, so that no credit loop "
         "forms"},
        {"fabric.route.reroute_delay", Use::always, duration(TULLE_AT(fabric.route.reroute_delay)),
         "time from a failure until the tables avoid it"},
        {"fabric.route.dateline_lanes", Use::always, yes_no(TULLE_AT(fabric.route.dateline_lanes)),
         "a packet that crosses the dateline of a ring moves up one lane"},
    };
}

}  // namespace

std::vector<Setting> fabric_settings() {
    std::vector<Setting> all;
    for (auto part :
         {link_settings(), loss_settings(), switch_settings(), signal_and_route_settings()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace tulle::scenario
