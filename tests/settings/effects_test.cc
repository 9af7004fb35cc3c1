// Every setting of the table changes what a run finds, somewhere. A setting that is read and then
// looked at by nobody is a promise that is not kept.
//
// Small runs, each of which lives on other settings, are done with another value for one setting at
// a time until one of them finds something else. The setup does not count: only what was found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "scenario/files_test.h"
#include "scenario/settings.h"
#include "sim/course.h"
#include "sim/run_hash.h"

namespace tulle::scenario {
namespace {

constexpr std::string_view kIncast =
    "topology: leaf-spine:leaves=2,spines=2,hosts=4\n"
    "work:\n"
    "  - incast: {to: 0, senders: 7, bytes: 150KB}\n"
    "  - flows: [{from: 1, to: 5, bytes: 90KB}, {from: 6, to: 2, bytes: 90KB},\n"
    "            {from: 0, to: 6, bytes: 300KB}, {from: 1, to: 6, bytes: 300KB}]\n"
    "stop: 1ms\n";

constexpr std::string_view kLongIncast =
    "topology: star:5\n"
    "work:\n"
    "  - incast: {to: 0, senders: 3, bytes: 20MB}\n"
    "  - flows: [{from: 4, to: 1, bytes: 20MB}, {from: 0, to: 1, bytes: 20MB}]\n"
    "stop: 500us\n";

constexpr std::string_view kLevels =
    "topology: leaf-spine:leaves=2,spines=2,hosts=4\n"
    "work:\n"
    "  - {incast: {to: 0, senders: 4, bytes: 100KB}, level: 1}\n"
    "  - {incast: {to: 0, senders: 4, bytes: 100KB}, level: 2}\n"
    "stop: 1ms\n";

constexpr std::string_view kDscps =
    "topology: star:5\n"
    "work:\n"
    "  - {incast: {to: 0, senders: 4, bytes: 100KB}, dscp: 26}\n"
    "  - {incast: {to: 0, senders: 4, bytes: 100KB}, dscp: 0}\n"
    "  - {flows: [{from: 0, to: 1, bytes: 300KB}, {from: 2, to: 1, bytes: 300KB}], dscp: 0}\n"
    "stop: 1ms\n";

constexpr std::string_view kProgram =
    "topology: star:4\n"
    "work: [{all_reduce: {algorithm: ring, bytes: 100KB}}]\n"
    "stop: 5ms\n";

constexpr std::string_view kStorm =
    "topology: leaf-spine:leaves=2,spines=2,hosts=4\n"
    "work: [{incast: {to: 0, senders: 7, bytes: 3MB}}]\n"
    "faults: [{host: 0, pause_storm: on, at: 10us}]\n"
    "stop: 900us\n";

constexpr std::string_view kBrokenCable =
    "topology: leaf-spine:leaves=2,spines=2,hosts=4\n"
    "work: [{shift: {by: 4, bytes: 1MB}}]\n"
    "faults: [{cable: leaf0-spine0, state: down, at: 5us}]\n"
    "stop: 2ms\n";

constexpr std::string_view kRing =
    "topology: torus:6,hosts=1\n"
    "work: [{shift: {by: 2, bytes: 40KB}}]\n"
    "stop: 1ms\n";

constexpr std::string_view kTwoTenants =
    "topology: star:4\n"
    "work: [{shift: {by: 1, bytes: 10KB}}]\n"
    "tenants: [{name: red, hosts: [0, 1]}, {name: blue, hosts: [2, 3]}]\n"
    "stop: 1ms\n";

constexpr std::string_view kFastUplinks =
    "topology: leaf-spine:leaves=2,spines=2,hosts=4,uplink=800Gbps\n"
    "work: [{incast: {to: 0, senders: 7, bytes: 6MB}}]\n"
    "stop: 500us\n";

constexpr std::string_view kDragonfly =
    "topology: dragonfly:a=2,p=2,h=1\n"
    "work: [{shift: {by: 4, bytes: 200KB}}]\n"
    "stop: 1ms\n";

constexpr std::string_view kSums =
    "topology: leaf-spine:leaves=2,spines=2,hosts=4\n"
    "work:\n"
    "  - all_reduce: {bytes: 100KB, algorithm: in_network, ranks: [0, 1, 4, 5]}\n"
    "  - all_reduce: {bytes: 100KB, algorithm: in_network, ranks: [2, 3, 6, 7]}\n"
    "  - all_reduce: {bytes: 100KB, algorithm: in_network, ranks: [2, 3, 6, 7]}\n"
    "  - all_reduce: {bytes: 10KB, algorithm: in_network, ranks: [2, 3, 6, 7]}\n"
    "stop: 5ms\n";

struct Context {
    std::string_view scenario;
    std::string_view more;  // profile, fabric, hosts
};

constexpr std::string_view kSmallPfc =
    "profile: roce-v2-400g\n"
    "fabric: {switch: {buffer: 500KB}, ecn: {kmin: 20KB, kmax: 80KB}}\n";
constexpr std::string_view kStaticPfc =
    "profile: roce-v2-400g\n"
    "fabric: {switch: {buffer: 2MB}, pfc: {threshold: static, xoff: 30KB, headroom: 80KB}}\n"
    "hosts: {receive_toll: {rate: 90Gbps}, receive_buffer: 60KB}\n";
constexpr std::string_view kLossy =
    "profile: roce-v2-400g\n"
    "fabric: {flow_control: none, switch: {buffer: 200KB}, link: {error_rate: 1e-7}}\n"
    "hosts: {loss: selective_repeat, ack_timeout: 5, congestion: {algorithm: none}}\n";
constexpr std::string_view kRepaired =
    "profile: roce-v2-400g\n"
    "fabric: {link: {error_rate: 5e-6, bit_errors: retransmitted}}\n"
    "hosts: {congestion: {algorithm: none}}\n";
constexpr std::string_view kTimeouts =
    "profile: roce-v2-400g\n"
    "fabric: {flow_control: none, switch: {buffer: 200KB}, link: {error_rate: 1e-7}}\n"
    "hosts: {loss: selective_repeat, timeout: {low: 30us, high: 200us, few: 3},\n"
    "        congestion: {algorithm: none}}\n";
constexpr std::string_view kSharedBuffer =
    "profile: roce-v2-400g\n"
    "fabric: {switch: {buffer: 6MB, alpha: 1/8}, marking: none}\n"
    "hosts: {congestion: {algorithm: none}}\n";
constexpr std::string_view kTrimming =
    "profile: roce-v2-400g\n"
    "fabric: {flow_control: none, overflow: trim, switch: {buffer: 100KB}}\n"
    "hosts: {loss: selective_repeat, ack_timeout: 5, congestion: {algorithm: none}}\n";
constexpr std::string_view kPaper =
    "profile: roce-v2-400g\n"
    "fabric: {ecn: {kmin: 100KB, kmax: 400KB, pmax: 0.02}}\n"
    "hosts:\n"
    "  congestion:\n"
    "    notifications: {interval: 10us}\n"
    "    dcqcn: {alpha_interval: 5us, decrease_interval: 10us, increase_interval: 12us,\n"
    "            increase_bytes: 60KB, min_rate: 1Gbps, additive: 5Gbps, hyper: 20Gbps,\n"
    "            gain: 1/16, clamp_target: yes}\n";
constexpr std::string_view kAdapters =
    "profile: roce-v2-400g\n"
    "fabric: {ecn: {kmin: 100KB, kmax: 400KB, pmax: 0.02}}\n"
    "hosts:\n"
    "  congestion:\n"
    "    notifications: {interval: 50us}\n"
    "    dcqcn: {alpha_interval: 5us, decrease_interval: 50us, increase_interval: 12us,\n"
    "            increase_bytes: 0B, min_rate: 1Gbps, additive: 5Gbps, hyper: 20Gbps,\n"
    "            gain: 1/16, clamp_target: no}\n";
constexpr std::string_view kTrustDscp =
    "profile: roce-v2-400g\n"
    "fabric: {qos: {trust: dscp, lane_of_dscp: {26: 3, 48: 6}}, ecn: {kmin: 5KB, kmax: 60KB}}\n"
    "hosts: {congestion: {notifications: {interval: 3us}}}\n";
constexpr std::string_view kCredits =
    "profile: ib-ndr\n"
    "fabric: {marking: fecn, fecn: {threshold: 9KB}, credits: {lane_buffer: 12KiB},\n"
    "         vl_arbitration: {high: [1:9], low: [0:4, 1:4, 2:3]}}\n"
    "hosts: {congestion: {algorithm: ib_cc, ib_cc: {table: {entries: 64, step: 4}, timer: 3}}}\n";
constexpr std::string_view kTables =
    "profile: ib-ndr\n"
    "fabric: {vl_arbitration: {high: [1:200], low: [0:4, 1:4, 2:200], high_limit: 2}}\n";
constexpr std::string_view kTimely =
    "profile: roce-v2-400g\n"
    "hosts: {congestion: {algorithm: timely, timely: {low: 7us, high: 60us, smallest: 6us,\n"
    "        step: 1Gbps}}}\n";
constexpr std::string_view kLateTimely =
    "profile: roce-v2-400g\n"
    "hosts: {congestion: {algorithm: timely, timely: {low: 4us, high: 9us, smallest: 3us,\n"
    "        step: 1Gbps}}}\n";
constexpr std::string_view kSwift =
    "profile: roce-v2-400g\n"
    "hosts: {congestion: {algorithm: swift, swift: {target: 7us, scaling_range: 30us}}}\n";
constexpr std::string_view kLeastSwift =
    "profile: roce-v2-400g\n"
    "hosts: {congestion: {algorithm: swift, swift: {target: 1us, scaling_range: 0us,\n"
    "        least_window: 0.4}}}\n";
constexpr std::string_view kLosingSwift =
    "profile: roce-v2-400g\n"
    "fabric: {flow_control: none, link: {error_rate: 5e-6}}\n"
    "hosts: {loss: selective_repeat, timeout: {low: 15us, high: 15us, few: 3},\n"
    "        congestion: {algorithm: swift, swift: {target: 100us, timeouts_before_least: 1}}}\n";
constexpr std::string_view kNscc =
    "profile: roce-v2-400g\n"
    "fabric: {flow_control: none, overflow: trim, switch: {port_buffer: 200KB},\n"
    "         ecn: {kmin: 40KB, kmax: 160KB}}\n"
    "hosts: {loss: selective_repeat, delivery: unordered, reorder_tolerance: 200,\n"
    "        paths: {policy: reps, count: 16},\n"
    "        congestion: {algorithm: nscc, notifications: {way: answer}}}\n";
constexpr std::string_view kRccc =
    "profile: roce-v2-400g\n"
    "fabric: {flow_control: none, overflow: trim, switch: {port_buffer: 200KB},\n"
    "         ecn: {kmin: 40KB, kmax: 160KB}}\n"
    "hosts: {loss: selective_repeat, delivery: unordered, reorder_tolerance: 200,\n"
    "        paths: {policy: reps, count: 16},\n"
    "        congestion: {algorithm: rccc, notifications: {way: answer},\n"
    "                     rccc: {base_rtt: 6us, request_after: 20us}}}\n";
constexpr std::string_view kPccRtt =
    "profile: roce-v2-400g\n"
    "hosts: {congestion: {algorithm: pcc_rtt, pcc_rtt: {base_rtt: 8us, most_delay: 20us}}}\n";
constexpr std::string_view kSlowPccRtt =
    "profile: roce-v2-400g\n"
    "hosts: {congestion: {algorithm: pcc_rtt, pcc_rtt: {base_rtt: 1us, floor: 0.4}}}\n";
constexpr std::string_view kHpcc =
    "profile: roce-v2-400g\n"
    "hosts: {ack_every: 1, congestion: {algorithm: hpcc, hpcc: {base_rtt: 6us, additive: 1KB}}}\n";
constexpr std::string_view kLeastHpcc =
    "profile: roce-v2-400g\n"
    "hosts: {ack_every: 1, congestion: {algorithm: hpcc, hpcc: {base_rtt: 3us,\n"
    "        min_rate: 90Gbps}}}\n";
constexpr std::string_view kFixedRate =
    "profile: roce-v2-400g\n"
    "hosts: {congestion: {algorithm: fixed_rate, fixed_rate: {rate: 40Gbps}}}\n";
constexpr std::string_view kFlowlets =
    "profile: roce-v2-400g\n"
    "fabric: {route: {choice: flowlet, flowlet_gap: 100ns}}\n";
constexpr std::string_view kLoads =
    "profile: roce-v2-400g\n"
    "fabric: {route: {choice: adaptive, load_step: 9KB, load_period: 100ns, warn_above: 20KB}}\n"
    "hosts: {loss: selective_repeat, delivery: placed, reorder_tolerance: 500}\n";
constexpr std::string_view kBackPressure =
    "profile: roce-v2-400g\n"
    "fabric: {marking: none, back_pressure: {above: 20KB}}\n"
    "hosts: {congestion: {algorithm: back_pressure,\n"
    "                     back_pressure: {hold: 2us, recovery: 20us}}}\n";
constexpr std::string_view kSharp =
    "profile: ib-ndr-sharp\n"
    "fabric: {switch: {reduction_trees: 0, reduction_streams: 0}}\n";
constexpr std::string_view kDetours =
    "profile: roce-v2-400g\n"
    "fabric: {pfc: {priorities: [3, 4, 5, 6]}, switch: {buffer: 500KB},\n"
    "         route: {choice: ugal, group_lanes: yes}}\n"
    "hosts: {loss: selective_repeat, delivery: placed, reorder_tolerance: 500}\n";
constexpr std::string_view kStaged = "profile: roce-v2-400g\nhosts: {staging: {on: yes}}\n";
constexpr std::string_view kTorus = "profile: ib-ndr\nfabric: {credits: {lane_buffer: 12KiB}}\n";
constexpr std::string_view kWatched =
    "profile: roce-v2-400g\n"
    "fabric: {switch: {buffer: 500KB}, pfc: {watchdog: 50us, watchdog_restore: 90us}}\n";

const std::vector<Context>& contexts() {
    static const std::vector<Context> all = {
        {kIncast, kSmallPfc},
        {kIncast, kStaticPfc},
        {kIncast, kLossy},
        {kIncast, kRepaired},
        {kIncast, kTrimming},
        {kIncast, kTimeouts},
        {kLongIncast, kTimeouts},
        {kLongIncast, kSharedBuffer},
        {kFastUplinks, kSharedBuffer},
        {kIncast, kCredits},
        {kLongIncast, kCredits},
        {kLongIncast, kPaper},
        {kLongIncast, kAdapters},
        {kLongIncast, kLateTimely},
        {kDscps, kTrustDscp},
        {kLevels, kCredits},
        {kLevels, kSmallPfc},
        {kIncast, "profile: tcp-ethernet\n"},
        {kLongIncast, kTimely},
        {kLongIncast, kSwift},
        {kLongIncast, kLeastSwift},
        {kLongIncast, kLosingSwift},
        {kIncast, kNscc},
        {kLongIncast, kNscc},
        {kIncast, kRccc},
        {kLongIncast, kPccRtt},
        {kLongIncast, kSlowPccRtt},
        {kLongIncast, kHpcc},
        {kLongIncast, kLeastHpcc},
        {kIncast, kFixedRate},
        {kIncast, kFlowlets},
        {kIncast, kLoads},
        {kIncast, kBackPressure},
        {kLongIncast, kBackPressure},
        {kSums, kSharp},
        {kDragonfly, kDetours},
        {kProgram, kStaged},
        {kStorm, kWatched},
        {kBrokenCable, kSmallPfc},
        {kRing, kTorus},
        {kLevels, kTables},
        {kIncast, kPaper},
        {kTwoTenants, "profile: ib-ndr\n"},
    };
    return all;
}

// What may be written for a type of the reference.
std::vector<std::string> values_of(const std::string& type) {
    const auto begins = [&](std::string_view with) { return type.substr(0, with.size()) == with; };
    if (begins("duration, of a KiB")) return {"70ns"};
    if (begins("duration")) return {"0ns", "70ns", "3us", "40us", "off", "700us"};
    if (begins("rate")) return {"60Gbps", "350Gbps", "3Gbps", "500Mbps", "off"};
    if (begins("size"))
        return {"0B", "37B", "300B", "512B", "700B", "9KB", "70KB", "16KiB", "33KiB"};
    if (begins("part of one")) return {"0", "1e-7", "0.01", "0.4", "1"};
    if (begins("ratio")) return {"1/64", "1/2", "1"};
    if (begins("list of lanes")) return {"[0]", "[1]", "[6]", "[0, 3]"};
    if (begins("list of lane:weight")) return {"[0:4, 1:1, 2:200]", "[2:9]"};
    if (begins("list, or map")) return {"{0: 9}", "{1: 2, 2: 1, 3: 5}", "{26: 2, 0: 6}", "{48: 0}"};
    if (begins("power of two")) return {"2", "64"};
    if (begins("whole number")) return {"0", "1", "2", "3", "5", "9", "40", "255", "1024"};
    std::vector<std::string> words;
    if (begins("one of "))
        for (size_t at = 7; at < type.size();) {
            const size_t comma = std::min(type.find(", ", at), type.size());
            words.push_back(type.substr(at, comma - at));
            at = comma + 2;
        }
    if (words.empty()) words = {"{entries: 16, step: 90}"};
    return words;
}

// What a run found; nothing where the scenario is refused.
std::optional<uint64_t> found(const Context& context, const std::string& path,
                              const std::string& value) {
    Overrides overrides;
    if (!path.empty()) overrides.set = {{path, value}};
    const std::string text = std::string(context.more) + std::string(context.scenario);
    const auto setup = read_scenario(text, "s.yaml", files_in_memory({}), overrides);
    if (!setup) {
        EXPECT_FALSE(path.empty()) << setup.error().message;
        return std::nullopt;
    }
    auto built = sim::Simulation::build(*setup, 1);
    if (!built) return std::nullopt;
    sim::Course course(*setup, **built);
    for (; !course.is_over(); course.choose()) (*built)->advance(0, course.window());
    return sim::run_hash({}, (*built)->finish(course.end()));
}

bool changes_something(const Setting& setting) {
    static std::map<const Context*, std::optional<uint64_t>> usual;
    for (const Context& context : contexts()) {
        if (!usual.contains(&context)) usual[&context] = found(context, "", "");
        for (const std::string& value : values_of(setting.field.type)) {
            const auto other = found(context, setting.path, value);
            if (other && other != usual[&context]) return true;
        }
    }
    return false;
}

// Without it the scenario that has sums is refused.
bool is_needed(const Setting& setting) {
    return setting.path == "fabric.switch.reduction";
}

// Of captures, which a run does not depend on.
bool is_of_captures(const Setting& setting) {
    return setting.path == "fabric.framing.capture";
}

TEST(effects, every_setting_changes_what_some_run_finds) {
    for (const Setting& setting : all_settings())
        EXPECT_TRUE(is_needed(setting) || is_of_captures(setting) || changes_something(setting))
            << setting.path << ": " << setting.field.type;
}

}  // namespace
}  // namespace tulle::scenario
