#include "cli/fabric_input.h"

#include <fmt/format.h>

#include <unordered_map>

#include "cli/input.h"
#include "topology/spec.h"
#include "topology/structure.h"

namespace tulle::cli {
namespace {

using topology::Graph;

struct FabricFile {
    std::string content;
    std::string name;  // for messages
    topology::Format format{};
};

base::Result<FabricFile> open_file(const std::string& fabric, const std::string& from) {
    auto content = read_file(fabric);
    if (!content && from.empty())  // perhaps a misspelt topology name
        return base::Error{fmt::format("{}; if it is no file: {}", content.error().message,
                                       topology::build_spec(fabric).error().message)};
    if (!content) return content.error();
    const std::string name = fabric == "-" ? "standard input" : fabric;
    if (content->find('\0') != std::string::npos)
        return base::Error{fmt::format("{}:1: this is no text: it has bytes of zero", name)};
    if (from.empty()) return FabricFile{*content, name, topology::guess_format(*content)};
    const auto format = fabric_format(from);
    if (!format) return format.error();
    return FabricFile{*content, name, *format};
}

void drop_shared_guids(Graph& graph) {
    std::unordered_map<uint64_t, uint32_t> count;
    for (const topology::Node& node : graph.nodes) ++count[node.guid];
    for (topology::Node& node : graph.nodes)
        if (count[node.guid] > 1) node.guid = 0;
}

}  // namespace

base::Result<topology::Format> fabric_format(const std::string& name) {
    if (const auto format = topology::format_named(name)) return *format;
    return base::Error{fmt::format(
        "there is no format '{}'; there are yaml, hpcc, ibnetdiscover, dot and slurm", name)};
}

base::Result<Graph> read_fabric(const std::string& fabric, const std::string& from) {
    if (from.empty() && topology::is_spec(fabric)) {
        auto graph = topology::build_spec(fabric);
        if (!graph) return graph;
        if (auto error = graph->check()) return *error;
        return graph;
    }
    const auto file = open_file(fabric, from);
    if (!file) return file.error();
    return topology::read(file->format, file->content, file->name);
}

base::Result<FabricWithFaults> read_fabric_with_faults(const std::string& fabric,
                                                       SharedGuids shared) {
    if (topology::is_spec(fabric)) {
        auto graph = read_fabric(fabric, "");
        if (!graph) return graph.error();
        return FabricWithFaults{*graph, *graph, {}};
    }
    const auto file = open_file(fabric, "");
    if (!file) return file.error();
    FabricWithFaults found;
    if (file->format == topology::Format::ibnetdiscover) {
        auto discovered = topology::read_discovered(file->content, file->name);
        if (!discovered) return discovered.error();
        found.as_written = std::move(discovered->graph);
        found.lids = std::move(discovered->lids);
    } else {
        auto graph = topology::read_unchecked(file->format, file->content, file->name);
        if (!graph) return graph.error();
        found.as_written = std::move(*graph);
    }
    found.graph = found.as_written;
    if (shared == SharedGuids::allowed) drop_shared_guids(found.graph);
    if (const auto error = topology::check_structure(found.graph))
        return base::Error{fmt::format("{}: {}", file->name, error->message)};
    return found;
}

}  // namespace tulle::cli
