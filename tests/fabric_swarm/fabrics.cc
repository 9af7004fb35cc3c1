// Settings of links, loss, switches and marks: any of them with any other.
#include "world.h"

namespace tulle::fabric_swarm {
namespace {

using fabric::Settings;

void draw_link(uint64_t seed, Settings& f) {
    Draw draw(seed, Drawer::links, 0);
    using base::Rate;
    f.link.rate =
        draw.pick({Rate::bits_per_second(100'000'000'000), Rate::bits_per_second(400'000'000'000),
                   Rate::bits_per_second(800'000'000'000), Rate::bits_per_second(25'000'000'000),
                   Rate::bits_per_second(600'000'000'000, 11)});
    f.link.delay = {draw.between(5, 2'000) * int64_t{1'000} + draw.between(0, 999)};
    if (draw.percent(30)) f.link.fec_delay = {draw.between(1, 200) * int64_t{1'000}};
    f.link.gap_bytes = draw.pick<uint32_t>({20, 20, 0, 12});
    if (draw.percent(15)) {
        f.link.error_rate_e18 = draw.between(1, 1'000) * uint64_t{1'000'000'000};
        f.link.bit_errors =
            draw.pick({fabric::BitErrors::corrected, fabric::BitErrors::retransmitted,
                       fabric::BitErrors::dropped});
        f.link.retry.response = {draw.pick<int64_t>({0, 1'000, 200'000})};
        f.link.retry.replays = draw.pick<uint8_t>({1, 3, 3, 9});
    }
    f.link.whole_nanoseconds = draw.percent(8);
    switch (draw.between(0, 4)) {
        case 0: f.framing.envelope_bytes = 14, f.framing.minimum_bytes = 0; break;
        case 1: f.framing.envelope_bytes = 54, f.framing.minimum_bytes = 0; break;
        case 2: f.framing.envelope_bytes = draw.between(14, 70); break;
        default: break;
    }
    if (draw.percent(15)) {
        f.framing.fixed_header_bytes = draw.between(40, 90);
        if (draw.percent(50)) f.framing.fixed_ack_bytes = draw.between(40, 90);
    }
}

void draw_pfc(Draw& draw, fabric::PfcSettings& pfc) {
    pfc.priorities = draw.percent(60) ? 0xff : static_cast<uint16_t>(draw.between(1, 0xff));
    pfc.dynamic_threshold = draw.percent(60);
    pfc.xoff_bytes = draw.between(1, 200) * uint64_t{1'000};
    pfc.xon_offset_bytes = draw.pick<uint64_t>({3 << 10, 0, 1, 20'000, 500'000});
    pfc.alpha_numerator = draw.between(1, 4);
    pfc.alpha_denominator = draw.pick<uint32_t>({1, 8, 16});
    pfc.reserve_bytes = draw.pick<uint64_t>({4 << 10, 0, 100, 9'000});
    if (draw.percent(10)) pfc.headroom_bytes = draw.between(1, 40'000);
    pfc.quanta = draw.pick<uint16_t>({0xffff, 0xffff, 0xffff, 4'096, 4'096, 128, 5});
    if (draw.percent(30)) pfc.response_time = {draw.between(1, 2'000) * int64_t{1'000}};
    if (draw.percent(30)) {
        pfc.watchdog = {draw.between(1, 200) * int64_t{1'000'000}};
        pfc.watchdog_restore = {draw.between(0, 200) * int64_t{1'000'000}};
    }
}

void draw_loss(uint64_t seed, Settings& f) {
    Draw draw(seed, Drawer::loss, 0);
    f.flow_control =
        draw.pick({fabric::FlowControl::none, fabric::FlowControl::pfc, fabric::FlowControl::pfc,
                   fabric::FlowControl::credits, fabric::FlowControl::credits});
    f.overflow = draw.percent(10) ? fabric::Overflow::trim : fabric::Overflow::drop;
    draw_pfc(draw, f.pfc);
    f.credits.update_bytes = draw.pick<uint32_t>({4 << 10, 64, 1, 1'000, 20'000, 200'000});
    f.credits.unit_bytes = draw.pick<uint32_t>({64, 64, 64, 128, 512});
    f.credits.packet_bytes = draw.pick<uint32_t>({6, 6, 64});
    if (draw.percent(25))
        f.credits.head_of_queue_lifetime = {draw.between(1, 400) * int64_t{1'000'000}};
}

void draw_vl_table(Draw& draw, std::array<fabric::VlArbitration::Entry, 64>& table,
                   uint8_t& count) {
    count = static_cast<uint8_t>(draw.between(0, 6));
    for (uint8_t i = 0; i < count; ++i)
        table[i] = {static_cast<uint8_t>(draw.between(0, 9)),
                    static_cast<uint8_t>(draw.pick<uint32_t>({0, 1, 4, 64, 255}))};
}

void draw_arbitration(Draw& draw, Settings& f) {
    f.arbitration = draw.percent(50) ? fabric::Arbitration::ets : fabric::Arbitration::vl_tables;
    if (draw.percent(40)) f.ets.strict = static_cast<uint16_t>(draw.between(0, 0xffff));
    for (uint8_t& weight : f.ets.weight) weight = static_cast<uint8_t>(draw.between(1, 255));
    draw_vl_table(draw, f.vl_arbitration.high, f.vl_arbitration.high_count);
    draw_vl_table(draw, f.vl_arbitration.low, f.vl_arbitration.low_count);
    f.vl_arbitration.high_limit = draw.pick<uint8_t>({0, 1, 10, 255});
    f.qos.trust = draw.pick({fabric::Trust::service_level, fabric::Trust::service_level,
                             fabric::Trust::service_level, fabric::Trust::dscp});
    const bool any_lane = draw.percent(10);  // the management lane too
    if (draw.percent(50))
        for (uint8_t& lane : f.qos.lane_of_level)
            lane = static_cast<uint8_t>(draw.between(0, any_lane ? 15 : 7));
    for (uint8_t& lane : f.qos.lane_of_dscp) lane = static_cast<uint8_t>(draw.between(0, 7));
    f.qos.trimmed_lane = static_cast<uint8_t>(draw.between(0, 7));
}

void draw_nodes(uint64_t seed, Settings& f) {
    Draw draw(seed, Drawer::nodes, 0);
    f.node.forwarding =
        draw.percent(40) ? fabric::Forwarding::cut_through : fabric::Forwarding::store_and_forward;
    if (draw.percent(60)) f.node.latency = {draw.between(1, 1'000) * int64_t{1'000}};
    f.node.buffer_bytes = draw.pick<uint64_t>({32 << 20, 1 << 20, 200'000, 50'000, 20'000});
    if (draw.percent(20)) f.node.port_buffer_bytes = draw.between(5'000, 200'000);
    f.node.lossy_dynamic_threshold = draw.percent(50);
    draw_arbitration(draw, f);
    f.route.kind = draw.pick({fabric::RouteKind::shortest, fabric::RouteKind::shortest,
                              fabric::RouteKind::up_down, fabric::RouteKind::up_down,
                              fabric::RouteKind::spanning_tree});
    f.route.choice = draw.pick({fabric::PathChoice::ecmp, fabric::PathChoice::destination,
                                fabric::PathChoice::adaptive, fabric::PathChoice::flowlet,
                                fabric::PathChoice::spray});
    f.route.flowlet_gap = {draw.between(0, 20'000) * int64_t{1'000} + 1};
    if (draw.percent(70)) f.route.reroute_delay = {draw.between(0, 200) * int64_t{1'000'000}};
    f.route.dateline_lanes = draw.percent(10);
}

void draw_marking(uint64_t seed, Settings& f) {
    Draw draw(seed, Drawer::marks, 0);
    f.marking = draw.pick(
        {fabric::Marking::none, fabric::Marking::ecn, fabric::Marking::ecn, fabric::Marking::fecn});
    f.ecn.kmin_bytes = draw.pick<uint64_t>({100'000, 5'000, 0});
    f.ecn.kmax_bytes = f.ecn.kmin_bytes + draw.pick<uint64_t>({0, 1, 10'000, 300'000});
    f.ecn.pmax_millionths = draw.between(0, 1'000'000);
    f.ecn.at_dequeue = draw.percent(30);
    f.fecn.threshold_bytes = draw.pick<uint64_t>({0, 5'000, 50'000});
    f.fecn.marking_rate = draw.pick<uint32_t>({0, 1, 10});
    f.fecn.minimum_bytes = draw.pick<uint32_t>({0, 500});
    f.fecn.victims = draw.percent(50);
}

}  // namespace

void draw_fabric(uint64_t seed, sim::Setup& setup) {
    draw_link(seed, setup.fabric);
    draw_loss(seed, setup.fabric);
    draw_nodes(seed, setup.fabric);
    draw_marking(seed, setup.fabric);
}

}  // namespace tulle::fabric_swarm
