// Any text, as a dump of forwarding tables, of service levels and of lanes: it is read, or refused
// with one sentence that names file and line. What is read can be checked and written again.
#include <string_view>

#include "base/check.h"
#include "control/subnet/check/credit_loops.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/dump.h"
#include "control/subnet/routing/engines.h"
#include "topology/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static const topology::Graph graph = *topology::build_spec("fat-tree:k=4");
    static const control::Subnet whole =
        *control::Subnet::make(graph, *control::assign_lids(graph));
    static const control::ForwardingTables routes = control::route_min_hop(whole, {}).tables;
    control::DumpedLanes lanes(whole);
    const auto wrong_levels = lanes.read_path_levels(text, "x", graph, whole);
    const auto wrong_maps = lanes.read_sl2vl(text, "x", graph, whole);
    TULLE_CHECK(!wrong_levels || wrong_levels->message.starts_with("x:"));
    TULLE_CHECK(!wrong_maps || wrong_maps->message.starts_with("x:"));
    control::find_credit_loop(whole, routes, lanes, control::PathEnds::hosts_and_switches);
    const auto dumped = control::read_lfts(text, "x", graph);
    if (!dumped) {
        TULLE_CHECK(dumped.error().message.starts_with("x:"));
        return 0;
    }
    const auto subnet = control::Subnet::make(graph, dumped->owners);
    const control::ForwardingTables tables = dumped->tables(*subnet);
    control::check_reach(*subnet, tables);
    TULLE_CHECK(control::read_lfts(control::write_lfts(graph, *subnet, tables), "y", graph).ok());
    return 0;
}
