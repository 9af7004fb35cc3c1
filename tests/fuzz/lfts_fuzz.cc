// Any text, as a dump of forwarding tables: it is read, or refused with one sentence that names
// file and line. What is read can be checked and written again.
#include <string_view>

#include "base/check.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/dump.h"
#include "topology/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace tulle;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static const topology::Graph graph = *topology::build_spec("fat-tree:k=4");
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
