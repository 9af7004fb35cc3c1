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
         "of data, line code and FEC taken off, where the topology gives no other"},
        {"fabric.link.delay", Use::always, duration(TULLE_AT(fabric.link.delay)),
         "of a cable, where the topology gives no other"},
        {"fabric.link.fec_delay", Use::always, duration(TULLE_AT(fabric.link.fec_delay)),
         "of coding and decoding, once a cable"},
        {"fabric.link.gap", Use::always, size32(TULLE_AT(fabric.link.gap_bytes)),
         "between packets: preamble and inter-frame gap"},
        {"fabric.link.error_rate", Use::always,
         part64(TULLE_AT(fabric.link.error_rate_e18), 1'000'000'000'000'000'000),
         "bit errors that FEC leaves, as a part of all bits"},
        {"fabric.link.bit_errors", Use::always,
         choice<BitErrors>(TULLE_AT(fabric.link.bit_errors),
                           {{"corrected", BitErrors::corrected},
                            {"retransmitted", BitErrors::retransmitted},
                            {"dropped", BitErrors::dropped}}),
         "what becomes of a packet with one: FEC corrects it; or the link sends it again, and all "
         "that followed it (link-level retry); or it is thrown away"},
        {"fabric.link.retry.response", Use::link_retry,
         duration(TULLE_AT(fabric.link.retry.response)),
         "what both ends take to ask for a packet again, besides the cable"},
        {"fabric.link.retry.replays", Use::link_retry,
         number<uint8_t>(TULLE_AT(fabric.link.retry.replays), 1, 255),
         "of one packet, before it is given up and dropped"},
        {"fabric.link.whole_nanoseconds", Use::always,
         yes_no(TULLE_AT(fabric.link.whole_nanoseconds)),
         "cut the time of a packet on the line to whole nanoseconds, as ns-3 does"},
        {"fabric.framing.encapsulation", Use::always,
         choice<Encapsulation>(TULLE_AT(fabric.framing.encapsulation),
                               {{"infiniband", Encapsulation::infiniband_local},
                                {"infiniband_global", Encapsulation::infiniband_global},
                                {"roce_v1", Encapsulation::roce_v1},
                                {"roce_v2", Encapsulation::roce_v2_ipv4},
                                {"roce_v2_ipv6", Encapsulation::roce_v2_ipv6}},
                               set_envelope),
         "what is around a packet; sets envelope and minimum"},
        {"fabric.framing.envelope", Use::always, size32(TULLE_AT(fabric.framing.envelope_bytes)),
         "all bytes of a packet but BTH, extended headers and payload"},
        {"fabric.framing.minimum", Use::always, size32(TULLE_AT(fabric.framing.minimum_bytes)),
         "no packet is shorter"},
        {"fabric.framing.fixed_header", Use::always,
         size32(TULLE_AT(fabric.framing.fixed_header_bytes)),
         "headers of every data packet, as simulators without extended headers have them; 0: as "
         "the wire has it"},
        {"fabric.framing.fixed_ack", Use::always, size32(TULLE_AT(fabric.framing.fixed_ack_bytes)),
         "every acknowledgement in all, as simulators have it; 0: as the wire has it"},
        {"fabric.framing.telemetry", Use::telemetry,
         size32(TULLE_AT(fabric.framing.telemetry_bytes)),
         "bytes more of each data packet and answer: what switches write into packets, and "
         "receivers return"},
    };
}

std::vector<Setting> loss_settings() {
    return {
        {"fabric.framing.capture", Use::always,
         choice<bool>(TULLE_AT(fabric.framing.is_captured_as_uet),
                      {{"roce", false}, {"uet", true}}),
         "whose headers a capture of the run shows, where encapsulation is roce_v2: RoCE's or "
         "Ultra "
         "Ethernet's. How long packets are on the line is said above"},
        {"fabric.flow_control", Use::always,
         choice<FlowControl>(TULLE_AT(fabric.flow_control), {{"none", FlowControl::none},
                                                             {"pfc", FlowControl::pfc},
                                                             {"credits", FlowControl::credits}}),
         "how a full buffer holds up the sender before it"},
        {"fabric.overflow", Use::always,
         choice<Overflow>(TULLE_AT(fabric.overflow),
                          {{"drop", Overflow::drop}, {"trim", Overflow::trim}}),
         "what a full buffer does to a packet: lose it, or cut off its payload"},
        {"fabric.pfc.priorities", Use::pfc, lane_set(TULLE_AT(fabric.pfc.priorities)),
         "that are lossless"},
        {"fabric.pfc.threshold", Use::pfc,
         choice<bool>(TULLE_AT(fabric.pfc.dynamic_threshold),
                      {{"dynamic", true}, {"static", false}}),
         "pause at free shared buffer times switch.alpha, or at xoff"},
        {"fabric.pfc.xoff", Use::static_threshold, size64(TULLE_AT(fabric.pfc.xoff_bytes)),
         "bytes of an ingress port and priority at which it pauses its sender"},
        {"fabric.pfc.xon_offset", Use::pfc, size64(TULLE_AT(fabric.pfc.xon_offset_bytes)),
         "so far below the threshold the pause ends"},
        {"fabric.pfc.reserve", Use::pfc, size64(TULLE_AT(fabric.pfc.reserve_bytes)),
         "of each ingress port and priority, before the shared buffer"},
        {"fabric.pfc.headroom", Use::pfc, size64(TULLE_AT(fabric.pfc.headroom_bytes)),
         "of each ingress port and priority for what arrives after a pause; 0: computed"},
        {"fabric.pfc.headroom_delays", Use::pfc,
         number<uint32_t>(TULLE_AT(fabric.pfc.headroom_delays), 0, 1000),
         "where headroom is 0: so many times what fits on the cable; 0: what a pause takes to act"},
        {"fabric.pfc.quanta", Use::pfc, number<uint16_t>(TULLE_AT(fabric.pfc.quanta), 1, 0xffff),
         "of a pause frame, 512 bit times each"},
        {"fabric.pfc.response_time", Use::pfc, duration(TULLE_AT(fabric.pfc.response_time)),
         "from the frame's arrival to the last packet that still starts"},
        {"fabric.pfc.watchdog", Use::pfc, duration_or_off(TULLE_AT(fabric.pfc.watchdog)),
         "a queue that is paused for longer is set free, its packets dropped"},
        {"fabric.pfc.watchdog_restore", Use::watchdog,
         duration(TULLE_AT(fabric.pfc.watchdog_restore)), "so long pauses are ignored then"},
        {"fabric.credits.lane_buffer", Use::credits,
         size32(TULLE_AT(fabric.credits.lane_buffer_bytes)),
         "input buffer of each virtual lane of a port"},
        {"fabric.credits.update", Use::credits, size32(TULLE_AT(fabric.credits.update_bytes)),
         "room that must have come free before a flow-control packet goes"},
        {"fabric.credits.packet", Use::credits, size32(TULLE_AT(fabric.credits.packet_bytes)),
         "a flow-control packet on the wire"},
        {"fabric.credits.counter_bits", Use::credits,
         number<uint32_t>(TULLE_AT(fabric.credits.counter_bits), 9, fabric::kMostCreditBits),
         "of the counters of credits, which wrap; half of what they count may be given at a time"},
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
         "what a credit is: 64B of InfiniBand, 128B of Ultra Ethernet's CBFC"},
        {"fabric.credits.head_of_queue_lifetime", Use::credits,
         duration_or_off(TULLE_AT(fabric.credits.head_of_queue_lifetime)),
         "a packet that is longer at the head of its queue is dropped"},
    };
}

std::vector<Setting> switch_settings() {
    return {
        {"fabric.switch.forwarding", Use::always,
         choice<Forwarding>(TULLE_AT(fabric.node.forwarding),
                            {{"store_and_forward", Forwarding::store_and_forward},
                             {"cut_through", Forwarding::cut_through}}),
         "whether a packet must be whole before it goes on"},
        {"fabric.switch.latency", Use::always, duration(TULLE_AT(fabric.node.latency)),
         "from a packet's arrival to its output queue"},
        {"fabric.switch.buffer", Use::shared_buffer, size64(TULLE_AT(fabric.node.buffer_bytes)),
         "shared by all ports, beyond reserves and headroom"},
        {"fabric.switch.buffer_holds", Use::pfc,
         choice<bool>(TULLE_AT(fabric.node.buffer_holds_all), {{"shared", false}, {"all", true}}),
         "whether buffer is the shared part alone, or also a reserve and a headroom for each port"},
        {"fabric.switch.port_buffer", Use::shared_buffer,
         size64(TULLE_AT(fabric.node.port_buffer_bytes)),
         "most that one output queue takes; 0: as the shared buffer allows"},
        {"fabric.switch.lossy_threshold", Use::shared_buffer,
         choice<bool>(TULLE_AT(fabric.node.lossy_dynamic_threshold),
                      {{"dynamic", true}, {"none", false}}),
         "whether a lossy queue may take only free shared buffer times alpha"},
        {"fabric.switch.alpha", Use::alpha,
         ratio(TULLE_AT(fabric.pfc.alpha_numerator), TULLE_AT(fabric.pfc.alpha_denominator)),
         "part of the free shared buffer that one queue may take"},
        {"fabric.switch.alpha_by_rate", Use::alpha, yes_no(TULLE_AT(fabric.node.alpha_by_rate)),
         "double alpha of pauses for each doubling of an input's rate above the hosts', up to 1"},
        {"fabric.switch.reduction", Use::always, yes_no(TULLE_AT(fabric.node.reduction)),
         "whether it adds up what several hosts send, and copies a packet to several"},
        {"fabric.switch.reduction_efficiency", Use::reduction,
         ratio(TULLE_AT(fabric.node.reduction_numerator),
               TULLE_AT(fabric.node.reduction_denominator)),
         "part of the line's rate at which that traffic moves, from 1/4 to 1"},
        {"fabric.switch.reduction_trees", Use::reduction,
         number<uint32_t>(TULLE_AT(fabric.node.reduction_trees), 0, 1 << 20),
         "between servers: most trees that a switch takes part in; 0: any number"},
        {"fabric.switch.reduction_streams", Use::reduction,
         number<uint32_t>(TULLE_AT(fabric.node.reduction_streams), 0, 1 << 20),
         "between servers: most trees for long messages that pass one port; 0: any number"},
        {"fabric.switch.reduction_stream_above", Use::reduction,
         size64(TULLE_AT(fabric.node.reduction_stream_above)),
         "between servers: longer messages take a tree that streams"},
        {"fabric.switch.reduction_piece", Use::reduction,
         size64(TULLE_AT(fabric.node.reduction_piece)),
         "between servers: what a tree for shorter messages adds up at a time"},
        {"fabric.switch.reduction_pieces", Use::reduction,
         number<uint32_t>(TULLE_AT(fabric.node.reduction_pieces), 1, 1 << 16),
         "between servers: pieces of a message that are under way at once"},
        {"fabric.switch.partition_enforcement", Use::credits,
         yes_no(TULLE_AT(fabric.node.enforces_partitions)),
         "with tenants on InfiniBand: whether switches check P_Keys at the ports of hosts, as "
         "OpenSM sets them up; adapters check them in any case"},
        {"fabric.arbitration", Use::always,
         choice<Arbitration>(TULLE_AT(fabric.arbitration),
                             {{"ets", Arbitration::ets}, {"vl_tables", Arbitration::vl_tables}}),
         "which lane sends next"},
        {"fabric.ets.strict", Use::ets, lane_set(TULLE_AT(fabric.ets.strict)),
         "lanes that go first, the highest number before all"},
        {"fabric.ets.weights", Use::ets, array<fabric::kLanes>(TULLE_AT(fabric.ets.weight), 1, 255),
         "of the other lanes"},
        {"fabric.vl_arbitration.high", Use::vl_tables, vl_table([](Target& target) {
             auto& tables = target.fabric.vl_arbitration;
             return std::pair(tables.high.data(), &tables.high_count);
         }),
         "the table that goes first, weights in blocks of 64 bytes"},
        {"fabric.vl_arbitration.low", Use::vl_tables, vl_table([](Target& target) {
             auto& tables = target.fabric.vl_arbitration;
             return std::pair(tables.low.data(), &tables.low_count);
         }),
         "the table that goes next"},
        {"fabric.vl_arbitration.high_limit", Use::vl_tables,
         number<uint8_t>(TULLE_AT(fabric.vl_arbitration.high_limit), 0, 255),
         "4,096-byte blocks of the high table before one of the low; 255: no limit; 0: one packet"},
        {"fabric.qos.trust", Use::always,
         choice<Trust>(TULLE_AT(fabric.qos.trust),
                       {{"service_level", Trust::service_level}, {"dscp", Trust::dscp}}),
         "what decides on a packet's lane"},
        {"fabric.qos.lane_of_level", Use::always,
         array<16>(TULLE_AT(fabric.qos.lane_of_level), 0, 15), "the lane of each service level"},
        {"fabric.qos.lane_of_dscp", Use::dscp, array<64>(TULLE_AT(fabric.qos.lane_of_dscp), 0, 7),
         "the lane of each DSCP"},
        {"fabric.qos.trimmed_lane", Use::trimming,
         number<uint8_t>(TULLE_AT(fabric.qos.trimmed_lane), 0, 15), "of packets that were cut"},
    };
}

std::vector<Setting> signal_and_route_settings() {
    return {
        {"fabric.marking", Use::always,
         choice<Marking>(TULLE_AT(fabric.marking),
                         {{"none", Marking::none}, {"ecn", Marking::ecn}, {"fecn", Marking::fecn}}),
         "how a switch tells of its queues"},
        {"fabric.ecn.kmin", Use::ecn, size64(TULLE_AT(fabric.ecn.kmin_bytes)),
         "shorter queues mark nothing"},
        {"fabric.ecn.kmax", Use::ecn, size64(TULLE_AT(fabric.ecn.kmax_bytes)),
         "longer queues mark everything"},
        {"fabric.ecn.pmax", Use::ecn, part32(TULLE_AT(fabric.ecn.pmax_millionths), 1'000'000),
         "the part that is marked just below kmax"},
        {"fabric.ecn.at", Use::ecn,
         choice<bool>(TULLE_AT(fabric.ecn.at_dequeue), {{"enqueue", false}, {"dequeue", true}}),
         "whether a packet is marked as it comes or as it goes"},
        {"fabric.ecn.at_hosts", Use::ecn, yes_no(TULLE_AT(fabric.ecn.at_hosts)),
         "whether ports that lead to a host mark too; where receivers grant credit they need not"},
        {"fabric.fecn.threshold", Use::fecn, size64(TULLE_AT(fabric.fecn.threshold_bytes)),
         "an output queue that is longer marks"},
        {"fabric.fecn.marking_rate", Use::fecn,
         number<uint32_t>(TULLE_AT(fabric.fecn.marking_rate), 0, 0xffff),
         "so many packets go by between two that are marked"},
        {"fabric.fecn.minimum", Use::fecn, size32(TULLE_AT(fabric.fecn.minimum_bytes)),
         "smaller packets are not marked"},
        {"fabric.fecn.victims", Use::fecn, yes_no(TULLE_AT(fabric.fecn.victims)),
         "mark also where the queue waits for credits itself"},
        {"fabric.back_pressure.above", Use::always,
         size64(TULLE_AT(fabric.back_pressure.above_bytes)),
         "a switch with a longer queue for a host tells those who fill it how many they are, "
         "for congestion.algorithm: back_pressure; 0: it says nothing"},
        {"fabric.back_pressure.forget_after", Use::back_pressure,
         duration(TULLE_AT(fabric.back_pressure.forget_after)),
         "who has sent nothing for so long does not count any more"},
        {"fabric.back_pressure.interval", Use::back_pressure,
         duration(TULLE_AT(fabric.back_pressure.interval)), "between two words to one source"},
        {"fabric.back_pressure.lane", Use::back_pressure,
         number<uint8_t>(TULLE_AT(fabric.back_pressure.lane), 0, 14),
         "of the words, which must not be one that is paused"},
        {"fabric.back_pressure.frame", Use::back_pressure,
         size32(TULLE_AT(fabric.back_pressure.frame_bytes)), "a word on the wire"},
        {"fabric.route.kind", Use::always,
         choice<RouteKind>(TULLE_AT(fabric.route.kind),
                           {{"shortest", RouteKind::shortest},
                            {"up_down", RouteKind::up_down},
                            {"spanning_tree", RouteKind::spanning_tree}}),
         "which paths the tables have"},
        {"fabric.route.choice", Use::always,
         choice<PathChoice>(TULLE_AT(fabric.route.choice),
                            {{"ecmp", PathChoice::ecmp},
                             {"destination", PathChoice::destination},
                             {"adaptive", PathChoice::adaptive},
                             {"flowlet", PathChoice::flowlet},
                             {"spray", PathChoice::spray},
                             {"ugal", PathChoice::ugal}}),
         "which of them a packet takes: by a hash of its flow, by a table with one port for each "
         "destination, the shortest queue packet by packet or flowlet by flowlet, all evenly "
         "packet by packet, or on a dragonfly the shortest queue or a detour through another "
         "group, elsewhere as adaptive"},
        {"fabric.route.flowlet_gap", Use::flowlets, duration(TULLE_AT(fabric.route.flowlet_gap)),
         "a rest of a flow after which it may change its path; 0: each packet may"},
        {"fabric.route.load_step", Use::loads, size64(TULLE_AT(fabric.route.load_step_bytes)),
         "queues that differ by less look alike to a switch that chooses by them; 0: it sees each "
         "byte"},
        {"fabric.route.load_period", Use::loads, duration(TULLE_AT(fabric.route.load_period)),
         "a switch reads the load of a port once in this time; 0: for each packet"},
        {"fabric.route.warn_above", Use::loads, size64(TULLE_AT(fabric.route.warn_above_bytes)),
         "a switch with a longer queue says so to its neighbours, which avoid what leads there; 0: "
         "it says nothing"},
        {"fabric.route.detour_bias", Use::ugal, duration(TULLE_AT(fabric.route.detour_bias)),
         "a packet takes a detour if it would wait more than twice as long without one, plus this "
         "time"},
        {"fabric.route.group_lanes", Use::always, yes_no(TULLE_AT(fabric.route.group_lanes)),
         "a packet that comes from another group of a dragonfly goes one lane up, so that no "
         "circle of full buffers forms"},
        {"fabric.route.reroute_delay", Use::always, duration(TULLE_AT(fabric.route.reroute_delay)),
         "from a failure to tables that avoid it"},
        {"fabric.route.dateline_lanes", Use::always, yes_no(TULLE_AT(fabric.route.dateline_lanes)),
         "a packet that crosses a ring's dateline goes one lane up"},
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
