#include "scenario/hpcc.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/units.h"
#include "scenario/names.h"
#include "scenario/notes.h"
#include "scenario/profile.h"
#include "scenario/scenario.h"
#include "scenario/work.h"
#include "topology/format.h"
#include "workload/flow_files.h"
#include "workload/lines.h"

namespace tulle::scenario {
namespace {

constexpr std::string_view kOutput = "it names a file of results that is not written";
constexpr std::string_view kOnlyHpcc = "it is of HPCC's own congestion control (CC_MODE 3 or 10)";
constexpr std::string_view kOnlyPint = "it is of HPCC with PINT (CC_MODE 10)";
constexpr uint64_t kHpccMode = 3;
constexpr uint32_t kAckHeaderBytes = 14 + 20 + 12;  // qbb-header.cc: an ACK without INT
constexpr std::string_view kOnlyWindow = "there is no window (HAS_WIN 0)";

constexpr HpccKey kHpccKeys[] = {
    {"ENABLE_QCN", ""},
    {"USE_DYNAMIC_PFC_THRESHOLD", ""},
    {"PACKET_PAYLOAD_SIZE", ""},
    {"TOPOLOGY_FILE", ""},
    {"FLOW_FILE", ""},
    {"FCT_OUTPUT_FILE", ""},
    {"SIMULATOR_STOP_TIME", ""},
    {"CC_MODE", ""},
    {"ALPHA_RESUME_INTERVAL", ""},
    {"RATE_DECREASE_INTERVAL", ""},
    {"CLAMP_TARGET_RATE", ""},
    {"RP_TIMER", ""},
    {"EWMA_GAIN", ""},
    {"FAST_RECOVERY_TIMES", ""},
    {"RATE_AI", ""},
    {"RATE_HAI", ""},
    {"MIN_RATE", ""},
    {"ERROR_RATE_PER_LINK", ""},
    {"L2_ACK_INTERVAL", ""},
    {"L2_BACK_TO_ZERO", ""},
    {"HAS_WIN", ""},
    {"RATE_BOUND", ""},
    {"LINK_DOWN", ""},
    {"KMAX_MAP", ""},
    {"KMIN_MAP", ""},
    {"PMAX_MAP", ""},
    {"BUFFER_SIZE", ""},
    {"ACK_HIGH_PRIO", ""},
    {"TRACE_FILE", "traces are asked for in a scenario"},
    {"ENABLE_TRACE", "traces are asked for in a scenario"},
    {"TRACE_OUTPUT_FILE", kOutput},
    {"PFC_OUTPUT_FILE", kOutput},
    {"QLEN_MON_FILE", kOutput},
    {"QLEN_MON_START", kOutput},
    {"QLEN_MON_END", kOutput},
    {"L2_CHUNK_SIZE", "it is of going back to the beginning of a chunk (L2_BACK_TO_ZERO 1)"},
    {"PAUSE_TIME", "a pause lasts until its end is sent, in that program too"},
    {"DATA_RATE", "rates are in the topology, in that program too"},
    {"LINK_DELAY", "delays are in the topology, in that program too"},
    {"DCTCP_RATE_AI", "it is of DCTCP (CC_MODE 8)"},
    {"GLOBAL_T", kOnlyWindow, true},
    {"VAR_WIN", kOnlyWindow, true},
    {"FAST_REACT", kOnlyHpcc, true},
    {"U_TARGET", kOnlyHpcc, true},
    {"MI_THRESH", kOnlyHpcc, true},
    {"INT_MULTI", kOnlyHpcc},
    {"MULTI_RATE", kOnlyHpcc, true},
    {"SAMPLE_FEEDBACK", kOnlyHpcc, true},
    {"PINT_LOG_BASE", kOnlyPint},
    {"PINT_PROB", kOnlyPint},
};

const HpccKey* find_key(std::string_view name) {
    for (const HpccKey& key : kHpccKeys)
        if (key.name == name) return &key;
    return nullptr;
}

struct Entry {
    uint32_t line = 0;
    std::vector<std::string_view> words;  // after the key
};

class HpccReader {
public:
    HpccReader(std::string_view file, const FileReader& files)
        : notes_(std::string(file)), files_(files) {}

    base::Result<HpccRun> read(std::string_view config, const std::string& paths_file) {
        read_keys(config);
        if (!notes_.failed()) start_from_profile();
        if (!notes_.failed()) refuse();
        if (!notes_.failed()) read_topology();
        if (!notes_.failed()) read_switches();
        if (!notes_.failed()) read_congestion();
        if (!notes_.failed()) read_hosts();
        if (!notes_.failed()) read_flows(paths_file);
        if (!notes_.failed())
            if (const auto wrong = set_line_rates(setup())) notes_.fail(1, *wrong);
        if (notes_.failed()) return notes_.error();
        return std::move(run_);
    }

private:
    sim::Setup& setup() { return run_.setup; }

    void read_keys(std::string_view config) {
        std::vector<std::string_view> known;
        for (const HpccKey& key : kHpccKeys) known.push_back(key.name);
        std::vector<const HpccKey*> keys;
        workload::Lines lines(config);
        workload::Line line;
        while (lines.next(line)) {
            const std::string_view name = line.words[0];
            const HpccKey* key = find_key(name);
            if (key == nullptr)
                return notes_.fail(line.number, unknown_key(name, "an HPCC configuration", known));
            if (line.words.size() == 1)
                return notes_.fail(line.number, fmt::format("{} has no value", name));
            const Entry entry{line.number, {line.words.begin() + 1, line.words.end()}};
            if (!entries_.emplace(name, entry).second)
                return notes_.fail(line.number, fmt::format("{} is written twice", name));
            keys.push_back(key);
        }
        for (const HpccKey* key : keys)
            if (!key->why_ignored.empty() && !(key->is_of_hpcc && runs_hpcc()))
                run_.notes.push_back(
                    fmt::format("{} has no effect here: {}", key->name, key->why_ignored));
    }

    bool runs_hpcc() { return number("CC_MODE", 1, 255) == kHpccMode; }

    const Entry* find(std::string_view key) const {
        const auto found = entries_.find(key);
        return found == entries_.end() ? nullptr : &found->second;
    }

    void wrong(std::string_view key, std::string_view sentence) {
        const Entry* entry = find(key);
        notes_.fail(entry ? entry->line : 1, fmt::format("{}: {}", key, sentence));
    }

    uint64_t number(std::string_view key, uint64_t otherwise, uint64_t most) {
        const Entry* entry = find(key);
        if (entry == nullptr) return otherwise;
        const auto value = workload::parse_number(entry->words[0], "the value", most);
        if (value) return *value;
        wrong(key, value.error().message);
        return otherwise;
    }

    // A decimal number in `unit`.
    base::Duration duration(std::string_view key, std::string_view unit, base::Duration otherwise) {
        const Entry* entry = find(key);
        if (entry == nullptr) return otherwise;
        const auto value = base::parse_duration(std::string(entry->words[0]).append(unit));
        if (value && *value <= workload::kLatestStart) return *value;
        wrong(key, value ? "it is more than a day" : value.error().message);
        return otherwise;
    }

    uint64_t rate(std::string_view key, uint64_t otherwise) {
        const Entry* entry = find(key);
        if (entry == nullptr) return otherwise;
        const auto value = base::parse_rate(entry->words[0]);
        if (value) return value->whole_bits_per_second();
        wrong(key, value.error().message);
        return otherwise;
    }

    uint64_t part(std::string_view key, uint64_t one, uint64_t otherwise) {
        const Entry* entry = find(key);
        if (entry == nullptr) return otherwise;
        const auto value = parse_part(entry->words[0], one);
        if (value) return *value;
        wrong(key, value.error().message);
        return otherwise;
    }

    // The text of the file that a key names, and its path.
    std::optional<std::pair<std::string, std::string>> file(std::string_view key) {
        const Entry* entry = find(key);
        if (entry == nullptr) {
            wrong(key, "the key is missing");
            return std::nullopt;
        }
        std::string path = resolve(notes_.file(), entry->words[0]);
        auto text = files_(path);
        if (text) return std::pair(std::move(path), std::move(*text));
        wrong(key, text.error().message);
        return std::nullopt;
    }

    void start_from_profile() {
        const auto profile = read_profile("peer-ns3-hpcc", files_);
        if (!profile) return notes_.adopt(profile.error());
        setup().name = notes_.file();
        setup().fabric_name = profile->name;
        setup().fabric = profile->target.fabric;
        setup().host = profile->target.host;
        if (const Entry* entry = find("FCT_OUTPUT_FILE")) run_.fct_file = entry->words[0];
    }

    // Refuses keys that would give other results than a user of that program expects.
    void refuse() {
        if (runs_hpcc())
            refuse_of_hpcc();
        else if (number("HAS_WIN", 1, 1) == 1)
            wrong("HAS_WIN", "windows are not supported; write HAS_WIN 0");
        if (number("L2_BACK_TO_ZERO", 0, 1) == 1)
            wrong("L2_BACK_TO_ZERO", "hosts go back to the packet that was lost; write 0");
        if (number("RATE_BOUND", 1, 1) == 0)
            wrong("RATE_BOUND", "queue pairs are always paced; write 1");
        if (number("USE_DYNAMIC_PFC_THRESHOLD", 1, 1) == 0)
            wrong("USE_DYNAMIC_PFC_THRESHOLD",
                  "that program's switches have no other threshold; write 1");
    }

    void refuse_of_hpcc() {
        if (number("HAS_WIN", 1, 1) == 0) wrong("HAS_WIN", "HPCC has a window; write HAS_WIN 1");
        if (number("VAR_WIN", 0, 1) == 0)
            wrong("VAR_WIN", "HPCC's window follows its rate; write VAR_WIN 1");
        if (number("GLOBAL_T", 1, 1) == 0)
            wrong("GLOBAL_T", "all flows have the longest round trip; write GLOBAL_T 1");
        if (number("MULTI_RATE", 1, 1) == 1)
            wrong("MULTI_RATE", "a flow has one rate, not one a hop; write MULTI_RATE 0");
        if (number("SAMPLE_FEEDBACK", 0, 1) == 1)
            wrong("SAMPLE_FEEDBACK", "hops without a queue count too; write SAMPLE_FEEDBACK 0");
    }

    void read_topology() {
        const auto source = file("TOPOLOGY_FILE");
        if (!source) return;
        auto graph = topology::read(topology::Format::hpcc, source->second, source->first);
        if (!graph) return notes_.adopt(graph.error());
        setup().graph = std::move(*graph);
        const uint64_t loss = part("ERROR_RATE_PER_LINK", 1'000'000'000'000, 0);
        for (topology::Cable& cable : setup().graph.cables)
            if (cable.loss_per_trillion == 0) cable.loss_per_trillion = loss;
    }

    // The value in a map (`N rate value rate value ...`) for a rate of the topology.
    std::string_view at_rate(std::string_view key, uint64_t rate) {
        const Entry* entry = find(key);
        if (entry == nullptr) {
            wrong(key, "the key is missing");
            return "0";
        }
        const auto count = workload::parse_number(entry->words[0], "the number of pairs", 1'000);
        if (!count || entry->words.size() != 1 + 2 * *count) {
            wrong(key, "write how many pairs follow, then the pairs of a rate and a value");
            return "0";
        }
        for (size_t i = 1; i + 1 < entry->words.size(); i += 2) {
            const auto of = workload::parse_number(entry->words[i], "a rate", UINT64_MAX);
            if (of && *of == rate) return entry->words[i + 1];
        }
        wrong(key, fmt::format("it has no value for {}, a rate of the links", rate));
        return "0";
    }

    uint64_t kilobytes_at(std::string_view key, uint64_t rate) {
        const auto value = workload::parse_number(at_rate(key, rate), "the size", 1'000'000'000);
        if (value) return *value * 1'000;
        wrong(key, value.error().message);
        return 0;
    }

    void read_switches() {
        fabric::Settings& fabric = setup().fabric;
        fabric.node.buffer_bytes = number("BUFFER_SIZE", 16, 1 << 20) << 20;
        if (!hosts_have_one_rate())
            return wrong("TOPOLOGY_FILE",
                         "its hosts have links of different rates; give all of them one rate");
        if (number("ENABLE_QCN", 1, 1) == 0) {
            fabric.marking = fabric::Marking::none;
            return;
        }
        std::set<uint64_t> rates;
        for (const topology::Cable& cable : setup().graph.cables) rates.insert(cable.rate_bps);
        for (const uint64_t rate : rates) setup().marking_of_rate.push_back({rate, ecn_at(rate)});
        fabric.ecn = setup().marking_of_rate.front().ecn;
        if (rates.size() == 1) setup().marking_of_rate.clear();
    }

    bool hosts_have_one_rate() {
        const topology::Graph& graph = setup().graph;
        std::set<uint64_t> rates;
        for (const topology::Cable& cable : graph.cables)
            if (graph.nodes[cable.a.node].is_host() || graph.nodes[cable.b.node].is_host())
                rates.insert(cable.rate_bps);
        return rates.size() < 2;
    }

    fabric::EcnSettings ecn_at(uint64_t rate) {
        fabric::EcnSettings ecn = setup().fabric.ecn;
        ecn.kmin_bytes = kilobytes_at("KMIN_MAP", rate);
        ecn.kmax_bytes = kilobytes_at("KMAX_MAP", rate);
        const auto most = parse_part(at_rate("PMAX_MAP", rate), 1'000'000);
        if (!most) wrong("PMAX_MAP", most.error().message);
        ecn.pmax_millionths = most ? static_cast<uint32_t>(*most) : 0;
        if (ecn.kmin_bytes > ecn.kmax_bytes) wrong("KMIN_MAP", "kmin is above kmax");
        return ecn;
    }

    void read_congestion() {
        sim::HostSettings& host = setup().host;
        const uint64_t mode = number("CC_MODE", 1, 255);
        switch (mode) {
            case 1: host.congestion = transport::Algorithm::dcqcn; return read_dcqcn();
            case 7:
                host.congestion = transport::Algorithm::timely;
                host.algorithms.timely.step_bps = rate("RATE_AI", host.algorithms.timely.step_bps);
                host.algorithms.timely.min_rate_bps = rate("MIN_RATE", 100'000'000);
                return;
            case kHpccMode: host.congestion = transport::Algorithm::hpcc; return read_hpcc();
            default:
                wrong("CC_MODE",
                      fmt::format("mode {} is not supported; 1 is DCQCN, 3 is HPCC, 7 is TIMELY",
                                  mode));
        }
    }

    void read_hpcc() {
        transport::HpccSettings& hpcc = setup().host.algorithms.hpcc;
        fabric::FramingSettings& framing = setup().fabric.framing;
        hpcc.base_rtt = longest_round_trip();
        hpcc.utilisation =
            static_cast<uint32_t>(part("U_TARGET", transport::kHpccOne, hpcc.utilisation));
        hpcc.max_stage = static_cast<uint8_t>(number("MI_THRESH", 5, 255));
        hpcc.each_answer = number("FAST_REACT", 1, 1) == 1;
        hpcc.min_rate_bps = rate("MIN_RATE", 100'000'000);
        const uint64_t step = rate("RATE_AI", 5'000'000);
        hpcc.additive_bytes = static_cast<uint32_t>((hpcc.window_of(step) + 128) / 256);
        // The window counts payload. An ACK of 46 bytes is padded to 60, but not if it has INT.
        hpcc.uncounted_bytes = framing.fixed_header_bytes + framing.telemetry_bytes;
        framing.fixed_ack_bytes = kAckHeaderBytes;
        if (hpcc.base_rtt.ps == 0) wrong("TOPOLOGY_FILE", "no two hosts can reach each other");
    }

    // The longest round trip of all pairs of hosts, as that program computes it: the delay of the
    // cables in both directions, and a payload's time on each link one way.
    base::Duration longest_round_trip() {
        const topology::Graph& graph = setup().graph;
        const topology::Ports ports(graph);
        const uint64_t payload = number("PACKET_PAYLOAD_SIZE", 1'000, 10'240);
        base::Duration longest{};
        for (const uint32_t host : graph.endpoints()) {
            std::vector<base::Duration> far(graph.nodes.size(), base::Duration{-1});
            std::vector<uint32_t> reached{host};
            far[host] = {};
            for (size_t i = 0; i < reached.size(); ++i)
                for (const topology::Ports::Link& link : ports.of(reached[i])) {
                    if (!link.is_cabled() || far[link.peer.node].ps >= 0) continue;
                    const topology::Cable& cable = graph.cables[link.cable];
                    const base::Rate line = base::Rate::bits_per_second(cable.rate_bps);
                    const base::Duration delay = cable.delay;
                    far[link.peer.node] =
                        far[reached[i]] + 2 * delay + whole_nanoseconds(line.time_for(payload));
                    if (graph.nodes[link.peer.node].is_host())
                        longest = std::max(longest, far[link.peer.node]);
                    else
                        reached.push_back(link.peer.node);
                }
        }
        return longest;
    }

    static base::Duration whole_nanoseconds(base::Duration time) { return {time.ps / 1000 * 1000}; }

    void read_dcqcn() {
        transport::DcqcnSettings& dcqcn = setup().host.algorithms.dcqcn;
        dcqcn.alpha_interval = duration("ALPHA_RESUME_INTERVAL", "us", dcqcn.alpha_interval);
        dcqcn.decrease_interval = duration("RATE_DECREASE_INTERVAL", "us", dcqcn.decrease_interval);
        dcqcn.increase_interval = duration("RP_TIMER", "us", dcqcn.increase_interval);
        dcqcn.gain = static_cast<uint32_t>(part("EWMA_GAIN", transport::kGainOne, dcqcn.gain));
        dcqcn.fast_recovery_steps =
            static_cast<uint8_t>(number("FAST_RECOVERY_TIMES", dcqcn.fast_recovery_steps, 255));
        dcqcn.additive_bps = rate("RATE_AI", dcqcn.additive_bps);
        dcqcn.hyper_bps = rate("RATE_HAI", dcqcn.hyper_bps);
        dcqcn.min_rate_bps = rate("MIN_RATE", 100'000'000);
        dcqcn.clamp_target = number("CLAMP_TARGET_RATE", 0, 1) == 1;
        if (dcqcn.alpha_interval.ps == 0) wrong("ALPHA_RESUME_INTERVAL", "it cannot be zero");
        if (dcqcn.decrease_interval.ps == 0) wrong("RATE_DECREASE_INTERVAL", "it cannot be zero");
    }

    void read_hosts() {
        sim::HostSettings& host = setup().host;
        host.mtu = static_cast<uint32_t>(number("PACKET_PAYLOAD_SIZE", 1'000, 10'240));
        if (host.mtu < 256 || host.mtu % 4 != 0)
            wrong("PACKET_PAYLOAD_SIZE", "it is a multiple of 4 from 256 to 10240");
        const uint64_t interval = number("L2_ACK_INTERVAL", 1, 1 << 20);
        host.ack_every = static_cast<uint32_t>(std::max<uint64_t>(interval, 1));
        // Acknowledgements leave a host in queue 0, which is never paused. Switches of that program
        // still put them into the queue of the flow, because the script sets the key only at hosts.
        host.answers_pass_pauses = number("ACK_HIGH_PRIO", 0, 1) == 1;
        const base::Duration stop = duration("SIMULATOR_STOP_TIME", "s", {});
        if (stop.ps > 0) setup().stop = base::Instant{} + stop;
        read_link_down();
    }

    // `LINK_DOWN T A B`: the cable between A and B fails T microseconds after 2 s.
    void read_link_down() {
        const Entry* entry = find("LINK_DOWN");
        if (entry == nullptr) return;
        if (entry->words.size() != 3) return wrong("LINK_DOWN", "write a time and two nodes");
        uint64_t words[3] = {};
        for (size_t i = 0; i < 3; ++i) {
            const auto value = workload::parse_number(entry->words[i], "the value", 1'000'000'000);
            if (!value) return wrong("LINK_DOWN", value.error().message);
            words[i] = *value;
        }
        if (words[0] == 0) return;
        const auto& cables = setup().graph.cables;
        for (uint32_t i = 0; i < cables.size(); ++i) {
            const std::pair<uint64_t, uint64_t> ends{cables[i].a.node, cables[i].b.node};
            if (ends != std::pair(words[1], words[2]) && ends != std::pair(words[2], words[1]))
                continue;
            constexpr int64_t kTwoSeconds = 2'000'000'000'000;
            sim::Fault fault;
            fault.at = base::Instant{kTwoSeconds + static_cast<int64_t>(words[0]) * 1'000'000};
            fault.subject = i;
            setup().faults.push_back(fault);
            return;
        }
        wrong("LINK_DOWN", fmt::format("there is no link between {} and {}", words[1], words[2]));
    }

    void read_flows(const std::string& paths_file) {
        const auto source = file("FLOW_FILE");
        if (!source) return;
        auto messages = workload::read_hpcc_flows(source->second, source->first);
        if (!messages) return notes_.adopt(messages.error());
        const Names names(setup().graph);
        if (const Complaint bad = to_endpoints(names, *messages)) return wrong("FLOW_FILE", *bad);
        if (messages->empty()) return wrong("FLOW_FILE", "no flows are given");
        setup().groups = {"flows"};
        add_messages(*messages, default_flow(setup().fabric), setup());
        // That program numbers the queue pairs between two hosts from 10000.
        std::map<std::pair<uint32_t, uint32_t>, uint16_t> next_port;
        for (sim::Flow& flow : setup().flows)
            flow.port =
                static_cast<uint16_t>(10'000 + next_port[{flow.source, flow.destination}]++);
        if (paths_file.empty()) return;
        const auto paths = files_(paths_file);
        if (!paths) return notes_.adopt(paths.error());
        if (const auto bad = add_paths(*paths, paths_file, names, 0, false, setup()))
            notes_.adopt(*bad);
    }

    Notes notes_;
    const FileReader& files_;
    std::map<std::string_view, Entry> entries_;
    HpccRun run_;
};

}  // namespace

base::Result<HpccRun> read_hpcc(std::string_view config, std::string_view file,
                                const FileReader& files, const std::string& paths_file) {
    return HpccReader(file, files).read(config, paths_file);
}

std::span<const HpccKey> hpcc_keys() {
    return kHpccKeys;
}

}  // namespace tulle::scenario
