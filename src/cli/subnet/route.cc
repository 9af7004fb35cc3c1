#include "cli/subnet/route.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/fabric_input.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "cli/subnet/routed.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/dump.h"
#include "control/subnet/lane_dump.h"

namespace tulle::cli {
namespace {

struct Summary {
    uint64_t lids = 0;
    uint64_t hosts = 0;
    uint64_t entries = 0;
    uint32_t longest = 0;  // longest path, in links between switches
    uint32_t pieces = 0;   // with hosts
};

uint32_t longest_to(const control::Subnet& subnet, const control::ForwardingTables& tables,
                    uint32_t lid) {
    std::vector<uint32_t> hops(subnet.switch_count(), control::kNone);
    hops[subnet.place(lid).home] = 0;
    uint32_t longest = 0;
    std::vector<uint32_t> path;
    for (uint32_t s = 0; s < subnet.switch_count(); ++s) {
        path.clear();
        uint32_t at = s;
        while (hops[at] == control::kNone) {
            const uint32_t link = subnet.link_at(at, tables.port(at, lid));
            if (link == control::kNone) break;
            path.push_back(at);
            at = subnet.link(link).to;
        }
        uint32_t known = hops[at] == control::kNone ? 0 : hops[at];
        while (!path.empty()) {
            hops[path.back()] = ++known;
            path.pop_back();
        }
        if (subnet.hosts_at(s) > 0) longest = std::max(longest, known);
    }
    return longest;
}

Summary summarise(const Routed& routed) {
    Summary summary;
    const control::Subnet& subnet = routed.subnet;
    summary.pieces = control::count_pieces(subnet);
    for (uint32_t lid = 0; lid < subnet.lid_end(); ++lid) {
        if (subnet.place(lid).owner.node == control::kNone) continue;
        ++summary.lids;
        if (!subnet.is_host(lid)) continue;
        ++summary.hosts;
        summary.longest = std::max(summary.longest, longest_to(subnet, routed.routing.tables, lid));
    }
    for (uint32_t lid = 0; lid < subnet.lid_end(); ++lid)
        for (const uint8_t port : routed.routing.tables.row(lid))
            summary.entries += port != control::kNoPort;
    return summary;
}

std::string text_of_routes(const Routed& routed) {
    const Summary summary = summarise(routed);
    const control::Routing& routing = routed.routing;
    std::string out = fmt::format("{:<14}{}, {}\n", "Engine", routed.engine->name,
                                  routing.note.empty() ? routed.engine->what : routing.note);
    const auto line = [&](std::string_view label, uint64_t value, std::string_view more) {
        out += more.empty() ? fmt::format("{:<14}{:>10}\n", label, value)
                            : fmt::format("{:<14}{:>10}   {}\n", label, value, more);
    };
    line("LIDs", summary.lids,
         fmt::format("{} of hosts, {} of switches{}", summary.hosts, routed.subnet.switch_count(),
                     routed.has_given_lids ? ", as the file gives them" : ""));
    if (summary.pieces > 1)
        line("Pieces", summary.pieces, "with hosts, which no cables join to one another");
    line("Entries", summary.entries, "in all forwarding tables");
    line("Longest path", summary.longest, "links between switches");
    line("Lanes", routing.lanes.count,
         routing.is_deadlock_free ? "free of deadlock" : "deadlock is possible");
    out += fmt::format("{:<14}{:>10.3f}   seconds of CPU time for routing\n", "Time",
                       routed.cpu_seconds);
    return out;
}

std::string json_of_routes(const Routed& routed) {
    const Summary summary = summarise(routed);
    const control::Routing& routing = routed.routing;
    nlohmann::ordered_json json;
    json["engine"] = routed.engine->name;
    json["note"] = routing.note;
    json["hosts"] = summary.hosts;
    json["switches"] = routed.subnet.switch_count();
    json["lids"] = summary.lids;
    json["are_lids_of_the_file"] = routed.has_given_lids;
    json["pieces"] = summary.pieces;
    json["entries"] = summary.entries;
    json["longest_path_links"] = summary.longest;
    json["lanes"] = routing.lanes.count;
    json["is_deadlock_free"] = routing.is_deadlock_free;
    json["cpu_seconds"] = routed.cpu_seconds;
    // By the sender's switch, then by LID; empty if the routing assigns no levels.
    json["service_levels"] = nlohmann::ordered_json::object();
    if (routing.lanes.service_levels.empty()) return json.dump(2) + "\n";
    for (uint32_t s = 0; s < routed.subnet.switch_count(); ++s) {
        auto& levels = json["service_levels"][routed.subnet.name(s)];
        levels = nlohmann::ordered_json::array();
        for (uint32_t lid = 0; lid < routed.subnet.lid_end(); ++lid)
            levels.push_back(routing.lanes.service_level(s, lid, routed.subnet.switch_count()));
    }
    return json.dump() + "\n";
}

}  // namespace

int route_subnet(const RouteOptions& options) {
    const auto fabric = read_fabric_with_faults(options.fabric, SharedGuids::refused);
    if (!fabric) return fail("subnet route", fabric.error(), kInputWrong);
    std::optional<Routed> routed;
    auto files = ResultFiles::open(
        {{options.json_file, [&] { return json_of_routes(*routed); }},
         {options.dump_file,
          [&] {
              return control::write_lfts(fabric->graph, routed->subnet, routed->routing.tables);
          }},
         {options.path_levels_file,
          [&] {
              return control::write_path_levels(fabric->graph, routed->subnet,
                                                routed->routing.lanes);
          }},
         {options.sl2vl_file, [&] {
              return control::write_sl2vl(fabric->graph, routed->subnet, routed->routing.lanes);
          }}});
    if (!files) return fail("subnet route", files.error(), kInputWrong);
    auto found = route_by_engine(*fabric, options.engine, static_cast<uint8_t>(options.lanes),
                                 static_cast<uint8_t>(options.lmc));
    if (!found) return fail("subnet route", found.error(), kInputWrong);
    routed.emplace(std::move(*found));
    if (const auto error = files->write()) return fail("subnet route", *error, kRunFailed);
    if (files->takes_standard_output()) return kDone;
    Output standard = Output::standard();
    standard.write(text_of_routes(*routed));
    if (const auto error = standard.finish()) return fail("subnet route", *error, kRunFailed);
    return kDone;
}

}  // namespace tulle::cli
