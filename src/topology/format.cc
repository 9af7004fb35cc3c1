#include "topology/format.h"

#include <array>
#include <utility>

#include "topology/exports.h"
#include "topology/hpcc.h"
#include "topology/ibnetdiscover.h"
#include "topology/text.h"
#include "topology/yaml.h"

namespace tulle::topology {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 5> kNames{{
    {"yaml", Format::yaml},
    {"hpcc", Format::hpcc},
    {"ibnetdiscover", Format::ibnetdiscover},
    {"dot", Format::dot},
    {"slurm", Format::slurm},
}};

}  // namespace

std::optional<Format> format_named(std::string_view name) {
    for (const auto& [known, format] : kNames)
        if (known == name) return format;
    return std::nullopt;
}

// The first line with content decides: numbers, a record of ibnetdiscover, or else YAML.
Format guess_format(std::string_view content) {
    for (const std::string_view line : split(content, '\n')) {
        const auto words = words_of(line);
        if (words.empty() || words[0].starts_with('#')) continue;
        if (parse_number<uint64_t>(words[0])) return Format::hpcc;
        for (const std::string_view begin : {"Switch", "Ca", "Hca", "Rt", "Chassis"})
            if (words[0] == begin) return Format::ibnetdiscover;
        return words[0].find('=') != std::string_view::npos ? Format::ibnetdiscover : Format::yaml;
    }
    return Format::yaml;
}

base::Result<Graph> read_unchecked(Format format, std::string_view content, std::string_view name) {
    switch (format) {
        case Format::yaml: return read_yaml(content, name);
        case Format::hpcc: return read_hpcc(content, name);
        case Format::ibnetdiscover: return read_ibnetdiscover(content, name);
        case Format::dot:
        case Format::slurm: break;
    }
    return base::Error{
        "dot and slurm can be written, not read; what can be read is yaml, hpcc and "
        "ibnetdiscover"};
}

base::Result<Graph> read(Format format, std::string_view content, std::string_view name) {
    auto graph = read_unchecked(format, content, name);
    if (!graph) return graph;
    if (const auto error = graph->check()) return base::Error{text(name, ": ", error->message)};
    return graph;
}

base::Result<std::string> write(Format format, const Graph& graph) {
    switch (format) {
        case Format::yaml: return write_yaml(graph);
        case Format::hpcc: return write_hpcc(graph);
        case Format::ibnetdiscover: return write_ibnetdiscover(graph);
        case Format::dot: return write_dot(graph);
        case Format::slurm: break;
    }
    return write_slurm(graph);
}

}  // namespace tulle::topology
