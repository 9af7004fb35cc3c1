#include "cli/subnet/query.h"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/fabric_input.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "cli/subnet/policy_input.h"
#include "control/subnet/sa/paths.h"
#include "control/subnet/world.h"
#include "wire/mad/perf.h"

namespace tulle::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr base::Instant kQueryLimit{3'600'000'000'000'000};  // an hour
// Components of PathRecord.
constexpr uint64_t kDestinationGid = 1u << 2;
constexpr uint64_t kSourceGid = 1u << 3;

std::string gid_text(const wire::Gid& gid) {
    std::string out;
    for (size_t i = 0; i < 16; i += 2)
        out += fmt::format("{}{:x}", i == 0 ? "" : ":", gid.bytes[i] << 8 | gid.bytes[i + 1]);
    return out;
}

uint32_t mtu_bytes(uint8_t code) {
    return 128u << code;
}

// Rows of one kind of record: each is an object, and a line of text.
struct Rows {
    std::string error;  // a sentence; empty: there is an answer
    uint64_t mads = 0;
    std::vector<std::pair<std::string, Json>> rows;
};

class Inquirer {
public:
    Inquirer(const topology::Graph& graph, control::World& world, const QueryOptions& options)
        : graph_(graph), world_(world), options_(options) {}

    Rows ask() {
        const uint32_t asker = node_named(options_.from.empty() ? first_host() : options_.from);
        if (options_.what == "paths") return ask_paths(asker);
        if (options_.what == "counters") return read_counters(asker);
        if (options_.what == "nodes")
            return table<wire::NodeRecord>(asker, wire::kSaNodeRecord, [](const auto& record) {
                const auto& text = record.node_description.text;
                const std::string name(text.begin(), std::find(text.begin(), text.end(), '\0'));
                const bool is_switch = record.node_info.node_type == wire::kNodeSwitch;
                return std::pair(
                    fmt::format("LID {:<6} {:<7} 0x{:016x}  {} port{}  {}", record.lid.value,
                                is_switch ? "switch" : "adapter", record.node_info.port_guid.value,
                                record.node_info.port_count,
                                record.node_info.port_count == 1 ? " " : "s", name),
                    Json{{"lid", record.lid.value},
                         {"is_switch", is_switch},
                         {"port_guid", record.node_info.port_guid.value},
                         {"ports", record.node_info.port_count},
                         {"name", name}});
            });
        if (options_.what == "ports")
            return table<wire::PortInfoRecord>(
                asker, wire::kSaPortInfoRecord, [](const auto& record) {
                    const auto& info = record.port_info;
                    const uint32_t mbps = info.port_state >= wire::kPortInitialize
                                              ? control::rate_mbps(control::rate_code(info))
                                              : 0;
                    return std::pair(
                        fmt::format("LID {:<6} port {:<4} state {}  LMC {}  MTU {:<5} {:>7} Mb/s",
                                    record.lid.value, record.port, info.port_state, info.lmc,
                                    mtu_bytes(info.neighbor_mtu), mbps),
                        Json{{"lid", record.lid.value},
                             {"port", record.port},
                             {"state", info.port_state},
                             {"lmc", info.lmc},
                             {"mtu", mtu_bytes(info.neighbor_mtu)},
                             {"mbps", mbps}});
                });
        if (options_.what == "links")
            return table<wire::LinkRecord>(asker, wire::kSaLinkRecord, [](const auto& record) {
                return std::pair(
                    fmt::format("LID {:<6} port {:<4} -> LID {:<6} port {}", record.from_lid.value,
                                record.from_port, record.to_lid.value, record.to_port),
                    Json{{"from_lid", record.from_lid.value},
                         {"from_port", record.from_port},
                         {"to_lid", record.to_lid.value},
                         {"to_port", record.to_port}});
            });
        return table<wire::McMemberRecord>(asker, wire::kSaMcMemberRecord, [](const auto& record) {
            return std::pair(
                fmt::format("MLID 0x{:x}  {}  P_Key 0x{:04x}  SL {}  MTU {}", record.mlid.value,
                            gid_text(record.mgid), record.pkey.value, record.service_level,
                            mtu_bytes(record.mtu)),
                Json{{"mlid", record.mlid.value},
                     {"mgid", gid_text(record.mgid)},
                     {"pkey", record.pkey.value},
                     {"service_level", record.service_level}});
        });
    }

    uint32_t node_named(const std::string& name) const {
        for (uint32_t node = 0; node < graph_.nodes.size(); ++node)
            if (graph_.nodes[node].name == name) return node;
        return topology::kNone;
    }

private:
    const std::string& first_host() const { return graph_.nodes[graph_.endpoints().front()].name; }

    template <class Record, class Show>
    Rows table(uint32_t asker, uint16_t attribute, Show&& show) {
        return rows_of<Record>(
            world_.ask(asker, control::question_of(wire::kMethodGetTable, attribute, 0, Record{})),
            show);
    }

    template <class Record, class Show>
    static Rows rows_of(const control::SaAnswer& answer, Show&& show) {
        Rows rows;
        rows.mads = answer.mads;
        if (!answer.has_come)
            rows.error = "subnet administration does not answer";
        else if (answer.status != wire::kStatusOk)
            rows.error = fmt::format("subnet administration answers with the status 0x{:04x}",
                                     answer.status);
        for (size_t i = 0; i < answer.count(); ++i)
            rows.rows.push_back(show(answer.record<Record>(i)));
        return rows;
    }

    std::string name_of(const wire::Gid& gid) {
        const uint64_t guid = control::guid_in(gid);
        const uint32_t node = world_.manager(0).fabric().node_of(guid);
        return node == topology::kNone ? gid_text(gid)
                                       : world_.manager(0).fabric()[node].description;
    }

    Rows ask_paths(uint32_t asker) {
        wire::PathRecord wanted;
        wanted.sgid = control::port_gid(world_.agent(asker).node().guid + 1);
        uint64_t mask = kSourceGid;
        if (!options_.to.empty()) {
            const control::Agent& there = world_.agent(node_named(options_.to));
            wanted.dgid = control::port_gid(there.node().guid + (there.is_switch() ? 0 : 1));
            mask |= kDestinationGid;
        }
        const auto answer = world_.ask(
            asker, control::question_of(wire::kMethodGetTable, wire::kSaPathRecord, mask, wanted));
        return rows_of<wire::PathRecord>(answer, [&](const wire::PathRecord& path) {
            const uint32_t mbps = control::rate_mbps(path.rate);
            return std::pair(
                fmt::format("{} (LID {}) -> {} (LID {})  SL {}  P_Key 0x{:04x}  MTU {}  {} Mb/s",
                            name_of(path.sgid), path.slid.value, name_of(path.dgid),
                            path.dlid.value, path.service_level, path.pkey.value,
                            mtu_bytes(path.mtu), mbps),
                Json{{"from", name_of(path.sgid)},
                     {"to", name_of(path.dgid)},
                     {"slid", path.slid.value},
                     {"dlid", path.dlid.value},
                     {"service_level", path.service_level},
                     {"pkey", path.pkey.value},
                     {"mtu", mtu_bytes(path.mtu)},
                     {"mbps", mbps}});
        });
    }

    // The counters of every node, all ports together, read by MADs as perfquery does.
    Rows read_counters(uint32_t asker) {
        Rows rows;
        for (uint32_t node = 0; node < graph_.nodes.size(); ++node) {
            wire::PerfMad mad;
            mad.header.base_version = mad.header.class_version = 1;
            mad.header.management_class.value = wire::kClassPerformance;
            mad.header.method.value = wire::kMethodGet;
            mad.header.attribute_id.value = wire::kPerfPortCountersExtended;
            wire::PortCountersExtended wanted;
            wanted.port_select = wire::kAllPorts;
            wire::put_attribute(wanted, mad.data);
            control::MadBytes bytes;
            wire::write(mad, bytes.bytes());
            const auto answer = world_.ask_agent(asker, world_.agent(node).lid(), bytes);
            rows.mads += 1 + answer.has_value();
            if (!answer) {
                rows.error = fmt::format("{} does not answer", graph_.nodes[node].name);
                return rows;
            }
            const auto counters = *wire::parse<wire::PortCountersExtended>(
                answer->bytes().subspan(wire::kPerfDataOffset));
            rows.rows.emplace_back(
                fmt::format("{:<16} sent {:>9} packets {:>11} bytes  received {:>9} packets  "
                            "errors {}  discards {}",
                            graph_.nodes[node].name, counters.xmit_packets, 4 * counters.xmit_data,
                            counters.rcv_packets, counters.rcv_errors, counters.xmit_discards),
                Json{{"name", graph_.nodes[node].name},
                     {"xmit_packets", counters.xmit_packets},
                     {"xmit_bytes", 4 * counters.xmit_data},
                     {"rcv_packets", counters.rcv_packets},
                     {"rcv_errors", counters.rcv_errors},
                     {"xmit_discards", counters.xmit_discards}});
        }
        return rows;
    }

    const topology::Graph& graph_;
    control::World& world_;
    const QueryOptions& options_;
};

std::optional<base::Error> wrong_names(const topology::Graph& graph, const QueryOptions& options) {
    const auto is_known = [&](const std::string& name, bool is_host) {
        for (const topology::Node& node : graph.nodes)
            if (node.name == name && (node.is_host() || !is_host)) return true;
        return name.empty();
    };
    if (!is_known(options.from, true))
        return base::Error{fmt::format("the fabric has no host '{}' to ask from", options.from)};
    if (!is_known(options.to, false))
        return base::Error{fmt::format("the fabric has no node '{}'", options.to)};
    if (!options.to.empty() && options.what != "paths")
        return base::Error{"--to is for paths; leave it out"};
    return std::nullopt;
}

}  // namespace

int query_subnet(const QueryOptions& options) {
    const auto graph = read_fabric(options.fabric, "");
    if (!graph) return fail("subnet query", graph.error(), kInputWrong);
    auto policies = read_policies(options.options_file, options.partitions_file, options.engine);
    if (!policies) return fail("subnet query", policies.error(), kInputWrong);
    if (const auto error = wrong_names(*graph, options))
        return fail("subnet query", *error, kInputWrong);
    const auto owners = control::assign_lids(*graph, policies->settings.lmc);
    if (!owners) return fail("subnet query", owners.error(), kInputWrong);
    if (const auto subnet = control::Subnet::make(*graph, *owners); !subnet)
        return fail("subnet query", subnet.error(), kInputWrong);
    Rows rows;
    auto files = ResultFiles::open({{options.json_file, [&] {
                                         Json json;
                                         json["mads"] = rows.mads;
                                         json[options.what] = Json::array();
                                         for (auto& [line, row] : rows.rows)
                                             json[options.what].push_back(std::move(row));
                                         return json.dump(2) + "\n";
                                     }}});
    if (!files) return fail("subnet query", files.error(), kInputWrong);
    control::World world(*graph, {});
    world.start_manager(world.add_manager(graph->endpoints().front(), policies->settings));
    if (!world.run_until_settled(kQueryLimit))
        return fail("subnet query", {"the manager does not bring the fabric up"}, kRunFailed);
    rows = Inquirer(*graph, world, options).ask();
    if (!rows.error.empty()) return fail("subnet query", {rows.error}, kRunFailed);
    if (const auto error = files->write()) return fail("subnet query", *error, kRunFailed);
    if (files->takes_standard_output()) return kDone;
    Output standard = Output::standard();
    for (const auto& [line, row] : rows.rows) standard.write(line + "\n");
    standard.write(fmt::format("{} {} by {} MADs\n", rows.rows.size(), options.what, rows.mads));
    if (const auto error = standard.finish()) return fail("subnet query", *error, kRunFailed);
    return kDone;
}

}  // namespace tulle::cli
