#include "scenario/settings.h"

#include <gtest/gtest.h>

#include <set>

#include "base/time.h"

namespace tulle::scenario {
namespace {

using namespace base::literals;

// Applies the text as the section `fabric` or `hosts`, and checks that all of it is used.
std::string apply(std::string_view section, std::string_view text, Target& target) {
    const auto tree = parse_tree(text, "f");
    if (!tree) return tree.error().message;
    Notes notes("f");
    apply_section(section, *tree, target, notes);
    if (!notes.failed()) check_used(section, *tree, target, notes);
    return notes.failed() ? notes.error().message : "read";
}

std::string fabric_answer(std::string_view text) {
    Target target;
    return apply("fabric", text, target);
}

std::string hosts_answer(std::string_view text) {
    Target target;
    return apply("hosts", text, target);
}

TEST(settings, have_names_of_their_own_and_a_meaning) {
    std::set<std::string> paths;
    for (const Setting& setting : all_settings()) {
        EXPECT_TRUE(paths.insert(setting.path).second) << setting.path;
        EXPECT_FALSE(setting.meaning.empty()) << setting.path;
        EXPECT_FALSE(setting.field.type.empty()) << setting.path;
    }
}

TEST(settings, go_where_they_belong) {
    Target target;
    EXPECT_EQ(apply("fabric",
                    "link: {rate: 54.54Gbps, delay: 1.5us, error_rate: 1e-12, gap: 12}\n"
                    "flow_control: pfc\n"
                    "pfc: {priorities: [3, 4], threshold: static, xoff: 64KiB, watchdog: off}\n"
                    "switch: {alpha: 1/16, forwarding: cut_through, lossy_threshold: dynamic}\n"
                    "ets: {strict: [6], weights: {3: 9}}\n"
                    "marking: ecn\n"
                    "ecn: {pmax: 0.25, at: dequeue}\n"
                    "qos: {trust: dscp, lane_of_dscp: {26: 3}}\n"
                    "route: {choice: flowlet, flowlet_gap: 50us}\n",
                    target),
              "read");
    const fabric::Settings& fabric = target.fabric;
    EXPECT_EQ(fabric.link.rate.whole_bits_per_second(), 54'540'000'000u);
    EXPECT_EQ(fabric.link.delay, 1500_ns);
    EXPECT_EQ(fabric.link.error_rate_e18, 1'000'000u);
    EXPECT_EQ(fabric.pfc.priorities, 0b11000u);
    EXPECT_EQ(fabric.pfc.xoff_bytes, 65'536u);
    EXPECT_EQ(fabric.pfc.alpha_denominator, 16u);
    EXPECT_EQ(fabric.ets.strict, 1u << 6);
    EXPECT_EQ(fabric.ets.weight[3], 9u);
    EXPECT_EQ(fabric.ecn.pmax_millionths, 250'000u);
    EXPECT_TRUE(fabric.ecn.at_dequeue);
    EXPECT_EQ(fabric.qos.lane_of_dscp[26], 3u);
    EXPECT_EQ(fabric.route.flowlet_gap, 50_us);
}

TEST(settings, of_congestion_control_go_where_they_belong) {
    Target target;
    EXPECT_EQ(apply("hosts",
                    "congestion:\n"
                    "  algorithm: dcqcn\n"
                    "  notifications: {way: packet, interval: 4us, dscp: 40}\n"
                    "  dcqcn: {gain: 1/256, additive: 40Mbps, decrease: at_once}\n",
                    target),
              "read");
    EXPECT_EQ(target.host.algorithms.dcqcn.gain, transport::kGainOne / 256);
    EXPECT_EQ(target.host.algorithms.dcqcn.additive_bps, 40'000'000u);
    EXPECT_EQ(target.host.notifications.traffic_class, 160u);
    EXPECT_EQ(
        apply("hosts", "congestion: {algorithm: ib_cc, ib_cc: {table: {entries: 3, step: 5}}}",
              target),
        "read");
    EXPECT_EQ(target.host.algorithms.ib_cc.table, (std::vector<uint16_t>{0, 5, 10}));
    EXPECT_EQ(apply("hosts", "congestion: {ib_cc: {table: [0:0, 1:7]}}", target), "read");
    EXPECT_EQ(target.host.algorithms.ib_cc.table,
              (std::vector<uint16_t>{0, transport::cct_entry(1, 7)}));
}

TEST(settings, of_the_machine_around_an_adapter_go_where_they_belong) {
    Target target;
    EXPECT_EQ(apply("hosts",
                    "service: unreliable\n"
                    "reaction: 1us\n"
                    "send_toll: {per_packet: 10ns, rate: 55GB/s}\n"
                    "receive_toll: {rate: off}\n"
                    "cpu: {per_message_sent: 200ns, per_kib_received: 1.024us}\n"
                    "staging: {on: yes, latency: 5us, rate: 27GB/s, cpu_per_copy: 2us}\n",
                    target),
              "read");
    const sim::HostSettings& host = target.host;
    EXPECT_EQ(host.service, sim::Service::unreliable);
    EXPECT_EQ(host.reaction, 1_us);
    EXPECT_EQ(host.send_toll.per_packet, 10_ns);
    EXPECT_EQ(host.send_toll.rate->whole_bits_per_second(), 440'000'000'000u);
    EXPECT_TRUE(host.receive_toll.is_free());
    EXPECT_EQ(host.cpu.per_message_sent, 200_ns);
    EXPECT_EQ(host.cpu.per_byte_received_e18, 1'000'000'000u);
    EXPECT_TRUE(host.staging.is_on);
    EXPECT_EQ(host.staging.rate.whole_bits_per_second(), 216'000'000'000u);
    EXPECT_EQ(host.staging.cpu_per_copy, 2_us);
    EXPECT_EQ(hosts_answer("cpu: {per_kib_sent: 2ms}"),
              "f:1: hosts.cpu.per_kib_sent: a KiB takes at most 1ms");
    EXPECT_EQ(
        hosts_answer("send_toll: {rate: on}"),
        "f:1: hosts.send_toll.rate: 'on' is no number of at most 18 digits with a unit; write "
        "a rate such as 400Gbps");
}

TEST(settings, an_encapsulation_brings_its_sizes_along) {
    Target target;
    EXPECT_EQ(apply("fabric", "framing: {encapsulation: infiniband}", target), "read");
    EXPECT_EQ(target.fabric.framing.envelope_bytes, 14u);
    EXPECT_EQ(target.fabric.framing.minimum_bytes, 0u);
    EXPECT_EQ(apply("fabric", "framing: {envelope: 99, encapsulation: roce_v1}", target), "read");
    EXPECT_EQ(target.fabric.framing.envelope_bytes, 99u);
}

TEST(settings, an_unknown_key_is_answered_with_the_nearest_one) {
    EXPECT_EQ(fabric_answer("a: 1"),
              "f:1: unknown key 'a' in fabric; the keys are link, framing, flow_control, overflow, "
              "pfc, credits, switch, arbitration, ets, vl_arbitration, qos, marking, ecn, fecn, "
              "back_pressure, route");
    EXPECT_EQ(fabric_answer("\nlnik: {}"),
              "f:2: unknown key 'lnik' in fabric; did you mean 'link'?");
    EXPECT_EQ(fabric_answer("pfc:\n  xof: 1KB"),
              "f:2: unknown key 'xof' in fabric.pfc; did you mean 'xoff'?");
    EXPECT_EQ(fabric_answer("pfc: 3"),
              "f:1: fabric.pfc has settings of its own; write some of priorities, threshold, xoff, "
              "xon_offset, reserve, headroom, headroom_delays, quanta, response_time, watchdog, "
              "watchdog_restore");
}

TEST(settings, a_wrong_value_is_answered_with_what_to_write) {
    EXPECT_EQ(fabric_answer("link: {rate: 0Gbps}"),
              "f:1: fabric.link.rate: '0Gbps' would never deliver anything; write a rate such as "
              "400Gbps");
    EXPECT_EQ(
        fabric_answer("link: {rate: -4Gbps}"),
        "f:1: fabric.link.rate: '-4Gbps' is no number of at most 18 digits with a unit; write "
        "a rate such as 400Gbps");
    EXPECT_EQ(fabric_answer("link: {rate: 1kbps}"),
              "f:1: fabric.link.rate: '1kbps' is less than 1Mbps");
    EXPECT_EQ(
        fabric_answer("link: {delay: 2}"),
        "f:1: fabric.link.delay: '2' has no unit; the units are ps ns us ms s; write a duration "
        "such as 1.5us");
    EXPECT_EQ(fabric_answer("link: {delay: 4000s}"),
              "f:1: fabric.link.delay: '4000s' is more than an hour");
    EXPECT_EQ(fabric_answer("link: {delay: [1us]}"),
              "f:1: fabric.link.delay: write one value, such as 1.5us");
    EXPECT_EQ(fabric_answer("switch: {buffer: 2TiB}"),
              "f:1: fabric.switch.buffer: '2TiB' is more than 1TiB");
    EXPECT_EQ(fabric_answer("flow_control: pause"),
              "f:1: fabric.flow_control: 'pause' is unknown here; write one of none, pfc, credits");
    EXPECT_EQ(fabric_answer("flow_control: pfc\npfc: {priorities: 3}"),
              "f:2: fabric.pfc.priorities: write a list of lanes, such as [3, 4]");
    EXPECT_EQ(fabric_answer("marking: ecn\necn: {pmax: 1.5}"),
              "f:2: fabric.ecn.pmax: '1.5' is no number from 0 to 1; write one such as "
              "0.2, 1e-12 or 1/8");
    EXPECT_EQ(
        fabric_answer("switch: {alpha: 0/8}"),
        "f:1: fabric.switch.alpha: write a ratio such as 1/8 or 4, of numbers from 1 to 1024");
    EXPECT_EQ(fabric_answer("ets: {weights: {16: 1}}"),
              "f:1: fabric.ets.weights: '16' is no place from 0 to 15");
    EXPECT_EQ(fabric_answer("arbitration: vl_tables\nvl_arbitration: {low: [15:1]}"),
              "f:2: fabric.vl_arbitration.low: write lane:weight, such as 0:4; lanes go to 14, "
              "weights to 255");
    EXPECT_EQ(hosts_answer("retry_count: 8"),
              "f:1: hosts.retry_count: '8' is no whole number from 0 to 7");
    EXPECT_EQ(hosts_answer("mtu: {}"), "f:1: hosts.mtu: write a whole number from 256 to 10240");
}

TEST(settings, what_nothing_looks_at_is_refused) {
    EXPECT_EQ(
        fabric_answer("flow_control: pfc\ncredits: {update: 4KiB}"),
        "f:2: fabric.credits.update has no effect, because flow_control is not credits; change "
        "that, or remove this");
    EXPECT_EQ(
        fabric_answer("flow_control: pfc\npfc: {xoff: 1KB}"),
        "f:2: fabric.pfc.xoff has no effect, because pfc.threshold is dynamic; change that, or "
        "remove this");
    EXPECT_EQ(fabric_answer("flow_control: credits\nswitch:\n  buffer: 1MB"),
              "f:3: fabric.switch.buffer has no effect, because with flow_control credits the "
              "buffers are credits.lane_buffer; change that, or remove this");
    EXPECT_EQ(hosts_answer("congestion: {dcqcn: {gain: 1/16}}"),
              "f:1: hosts.congestion.dcqcn.gain has no effect, because congestion.algorithm is not "
              "dcqcn; change that, or remove this");
    EXPECT_EQ(hosts_answer("staging: {on: no, rate: 9GB/s}").substr(0, 63),
              "f:1: hosts.staging.rate has no effect, because staging.on is no");
    EXPECT_EQ(fabric_answer("flow_control: pfc\npfc: {watchdog_restore: 1ms}").substr(0, 75),
              "f:2: fabric.pfc.watchdog_restore has no effect, because pfc.watchdog is off");
    EXPECT_EQ(hosts_answer("congestion: {algorithm: ib_cc, ib_cc: {table: [0:1]}, notifications: "
                           "{way: answer, level: 1}}"),
              "f:1: hosts.congestion.notifications.level has no effect, because notifications.way "
              "is answer; change that, or remove this");
}

TEST(settings, what_does_not_go_together_is_refused) {
    const auto together = [](std::string_view section, std::string_view text) {
        Target target;
        const std::string answer = apply(section, text, target);
        return answer != "read" ? answer : check_together(target).value_or("read");
    };
    EXPECT_EQ(together("fabric", "marking: ecn\necn: {kmin: 2KB, kmax: 1KB}"),
              "ecn.kmin is above ecn.kmax");
    EXPECT_EQ(together("fabric", "flow_control: pfc"),
              "flow_control is pfc, but pfc.priorities is empty; write priorities: [3]");
    EXPECT_EQ(together("fabric", "flow_control: credits\ncredits: {lane_buffer: 1KiB}"),
              "credits.lane_buffer is 1024B, which does not hold a packet of 4224B and what comes "
              "free before an update; write at least 8320B");
    EXPECT_EQ(
        together("fabric", "flow_control: credits\ncredits: {update: 33KiB}"),
        "credits.update is above half of credits.lane_buffer, so senders would wait for ever");
    EXPECT_EQ(together("fabric", "arbitration: vl_tables"),
              "arbitration is vl_tables, but both tables are empty; write low: [0:4]");
    EXPECT_EQ(together("hosts", "mtu: 1000"),
              "hosts.mtu is 1000; a path MTU is 256, 512, 1024, 2048 or 4096");
    Target with_fixed_headers;
    with_fixed_headers.fabric.framing.fixed_header_bytes = 48;
    with_fixed_headers.host.mtu = 1001;
    EXPECT_EQ(check_together(with_fixed_headers),
              "hosts.mtu is 1001; payloads are padded, so it is a multiple of 4");
    EXPECT_EQ(together("hosts", "congestion: {algorithm: fixed_rate}"),
              "the fixed rate is missing; write fixed_rate: {rate: 10Gbps}");
    EXPECT_EQ(together("hosts", "congestion: {algorithm: ib_cc}"),
              "ib_cc has no table; write table: {entries: 128, step: 1}");
    EXPECT_EQ(together("hosts", "service: unreliable\ncongestion: {algorithm: timely}"),
              "service is unreliable, so no acknowledgement gives timely a round trip");
    EXPECT_EQ(
        together("hosts", "congestion: {algorithm: dctcp, dctcp: {gain: 1/8, initial_window: 4}}"),
        "dctcp learns of marks from acknowledgements; write notifications: {way: answer}");
    EXPECT_EQ(together("hosts",
                       "service: unreliable\ncongestion: {algorithm: dctcp, "
                       "notifications: {way: answer}}"),
              "service is unreliable, so no acknowledgement moves the window of dctcp");
    EXPECT_EQ(together("hosts",
                       "service: unreliable\ncongestion: {algorithm: dcqcn, "
                       "notifications: {way: answer}}"),
              "service is unreliable, so no answer carries a mark; write notifications: {way: "
              "packet}");
}

}  // namespace
}  // namespace tulle::scenario
