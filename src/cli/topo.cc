#include "cli/topo.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/words.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/fabric_input.h"
#include "cli/output.h"
#include "cli/result_files.h"
#include "topology/format.h"
#include "topology/quantities.h"
#include "topology/spec.h"
#include "topology/summary.h"

namespace tulle::cli {
namespace {

using topology::Graph;
using topology::Summary;

constexpr const char* kTopoExamples = R"(
Formats: yaml, hpcc and ibnetdiscover, to read and write; dot and slurm, only
to write.

Examples:
  tulle topo fat-tree:k=8                         hosts, switches and cables
  tulle topo fat-tree:k=8 --to dot | dot -Tsvg    a picture of it
  tulle topo torus:4x4,hosts=2 --to yaml -o torus.yaml
  ibnetdiscover | tulle topo -                    a summary of a real fabric
  tulle topo fabric.txt --to slurm -o topology.conf
  tulle topo star:17 --rate 100Gbps --delay 1us --to hpcc

`man tulle-topo` explains the formats.)";

struct TopoOptions {
    std::string fabric;
    std::string from;
    std::string to;
    std::string output_file;
    std::string json_file;
    std::string rate;
    std::string delay;
};

// Sets the rate and delay of the command line on cables that have none.
std::optional<base::Error> fill_in(const TopoOptions& options, Graph& graph) {
    uint64_t rate_bps = 0;
    base::Duration delay{};
    if (!options.rate.empty()) {
        const auto rate = topology::parse_rate_bps(options.rate);
        if (!rate) return base::Error{"--rate: " + rate.error().message};
        rate_bps = *rate;
    }
    if (!options.delay.empty()) {
        const auto written = topology::parse_delay(options.delay);
        if (!written) return base::Error{"--delay: " + written.error().message};
        delay = *written;
    }
    for (topology::Cable& cable : graph.cables) {
        if (cable.rate_bps == 0) cable.rate_bps = rate_bps;
        if (cable.delay == base::Duration{}) cable.delay = delay;
    }
    return std::nullopt;
}

base::Result<Graph> load(const TopoOptions& options) {
    auto graph = read_fabric(options.fabric, options.from);
    if (!graph) return graph;
    if (auto error = fill_in(options, *graph)) return *error;
    return graph;
}

std::string tiers_text(const Summary& summary) {
    static constexpr std::string_view kOne[] = {"leaf", "spine", "core"};
    static constexpr std::string_view kMany[] = {"leaves", "spines", "cores"};
    const auto& tiers = summary.switches_of_tier;
    if (tiers.size() < 2) return {};
    std::string text;
    for (size_t i = 0; i < tiers.size(); ++i) {
        if (tiers[i] == 0) continue;
        if (!text.empty()) text += ", ";
        text += i < 3 ? fmt::format("{} {}", tiers[i], tiers[i] == 1 ? kOne[i] : kMany[i])
                      : fmt::format("{} of tier {}", tiers[i], i + 1);
    }
    return text;
}

// "2 : 1", "1.33 : 1": hundredths, rounded.
std::string ratio_text(const Summary& summary) {
    const uint64_t numerator = summary.oversubscription_numerator;
    const uint64_t denominator = summary.oversubscription_denominator;
    const uint64_t whole = numerator / denominator;
    const uint64_t hundredths = (numerator % denominator * 100 + denominator / 2) / denominator;
    if (hundredths == 0) return fmt::format("{} : 1", whole);
    return fmt::format("{}.{:02} : 1", whole + hundredths / 100, hundredths % 100);
}

std::string summary_text(const Summary& summary) {
    std::string out;
    const auto line = [&](std::string_view label, std::string_view value, std::string_view more) {
        out += more.empty() ? fmt::format("{:<18}{:>8}\n", label, value)
                            : fmt::format("{:<18}{:>8}   {}\n", label, value, more);
    };
    const auto number = [](uint64_t value) { return fmt::format("{}", value); };
    line("Hosts", number(summary.hosts),
         summary.servers == summary.hosts
             ? ""
             : fmt::format("adapters of {}", base::counted(summary.servers, "server")));
    line("Switches", number(summary.switches), tiers_text(summary));
    line("Cables", number(summary.cables),
         fmt::format("{} to hosts, {} between switches", summary.host_cables,
                     summary.cables - summary.host_cables));
    line("Diameter", summary.diameter ? number(*summary.diameter) : "-",
         summary.diameter ? "hops (cables) between the hosts that are farthest apart"
                          : "not computed: too many pairs of hosts");
    const std::string rate = summary.bisection_bps
                                 ? fmt::format(", {}", topology::rate_text(*summary.bisection_bps))
                                 : "";
    line("Bisection", number(summary.bisection_cables),
         fmt::format("cables between the first and the second half of the hosts{}", rate));
    line("Oversubscription", ratio_text(summary), "what half of the hosts sends : what crosses");
    return out;
}

std::string summary_json(const Summary& summary) {
    nlohmann::ordered_json json;
    json["hosts"] = summary.hosts;
    json["servers"] = summary.servers;
    json["switches"] = summary.switches;
    json["switches_of_tier"] = summary.switches_of_tier;
    json["cables"] = summary.cables;
    json["host_cables"] = summary.host_cables;
    json["diameter_hops"] = nullptr;
    if (summary.diameter) json["diameter_hops"] = *summary.diameter;
    json["bisection_cables"] = summary.bisection_cables;
    json["bisection_bps"] = nullptr;
    if (summary.bisection_bps) json["bisection_bps"] = *summary.bisection_bps;
    json["oversubscription"] = static_cast<double>(summary.oversubscription_numerator) /
                               static_cast<double>(summary.oversubscription_denominator);
    return json.dump(2) + "\n";
}

// Writes to a file, or to standard output if the path is empty or -.
int write_out(const std::string& path, std::string_view content) {
    if (path.empty() || path == "-") {
        Output standard = Output::standard();
        standard.write(content);
        if (const auto error = standard.finish()) return fail("topo", *error, kRunFailed);
        return kDone;
    }
    auto file = FileToBe::create(path);
    if (!file) return fail("topo", file.error(), kInputWrong);
    file->output().write(content);
    if (const auto error = file->commit()) return fail("topo", *error, kRunFailed);
    return kDone;
}

int convert(const TopoOptions& options, const Graph& graph) {
    const auto format = fabric_format(options.to);
    if (!format) return fail("topo", format.error(), kInputWrong);
    const auto written = topology::write(*format, graph);
    if (!written) return fail("topo", written.error(), kInputWrong);
    return write_out(options.output_file, *written);
}

int topo(const TopoOptions& options) {
    const auto graph = load(options);
    if (!graph) return fail("topo", graph.error(), kInputWrong);
    if (!options.to.empty()) return convert(options, *graph);
    if (const auto error = find_twice({options.json_file, options.output_file}))
        return fail("topo", *error, kInputWrong);
    const Summary summary = topology::summarise(*graph);
    if (!options.json_file.empty()) {
        const int exit_code = write_out(options.json_file, summary_json(summary));
        if (exit_code != kDone || options.json_file == "-") return exit_code;
    }
    return write_out(options.output_file, summary_text(summary));
}

}  // namespace

void add_topo(Command& program) {
    const auto options = std::make_shared<TopoOptions>();
    Command command =
        program.add_command("topo", "Build, check and convert descriptions of fabrics");
    command.add_examples("Topologies by name:\n" + std::string(topology::spec_help()) +
                         kTopoExamples);
    command.option("FABRIC", options->fabric, "A topology by name, or a file; - is standard input",
                   {.is_required = true});
    command.option("--from", options->from, "The format of the file; by default recognised",
                   {.shown = "FORMAT"});
    command.option("--to", options->to, "Write the fabric in this format", {.shown = "FORMAT"});
    command.option("-o,--output", options->output_file, "Write to FILE instead of standard output",
                   {.shown = "FILE"});
    command.option("--json", options->json_file, "Write the summary as JSON; - is standard output",
                   {.shown = "FILE"});
    command.exclude("--json", "--to");
    command.option("--rate", options->rate, "Rate of cables that have none, for example 100Gbps",
                   {.shown = "RATE"});
    command.option("--delay", options->delay, "Delay of cables that have none, for example 1us",
                   {.shown = "TIME"});
    command.when_chosen([options] { return topo(*options); });
}

}  // namespace tulle::cli
