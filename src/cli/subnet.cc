#include "cli/subnet.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/subnet/check.h"
#include "cli/subnet/query.h"
#include "cli/subnet/route.h"
#include "cli/subnet/sweep.h"
#include "control/subnet/routing/engines.h"

namespace tulle::cli {
namespace {

constexpr const char* kSubnetExamples = R"(Examples:
  tulle subnet route fat-tree:k=36                  routes of the usual engine
  tulle subnet route fabric.txt --engine dfsssp --dump lfts.txt
  ibnetdiscover > fabric.txt && tulle subnet check fabric.txt
  tulle subnet check fabric.txt --tables opensm-lfts.dump
  tulle subnet sweep fat-tree:k=8                   SMPs and time of bring-up
  tulle subnet query fat-tree:k=8 paths --from h0 --to h9

`man tulle-subnet` explains the engines and what is checked.)";

constexpr const char* kRouteExamples = R"(Examples:
  tulle subnet route fat-tree:k=36                  routes of the usual engine
  tulle subnet route torus:6x6,hosts=2 --engine dimension-order
  tulle subnet route fabric.txt --engine dfsssp --dump lfts.txt
  tulle subnet route dragonfly:a=8,p=4,h=4 --json -
)";

constexpr const char* kCheckExamples = R"(Examples:
  ibnetdiscover > fabric.txt && tulle subnet check fabric.txt
  tulle subnet check fabric.txt --tables opensm-lfts.dump
  tulle subnet check fabric.txt --tables opensm-lfts.dump \
      --path-sls opensm.log --sl2vl opensm-sl2vl.dump
  tulle subnet check ring:5 --engine min-hop        a loop, link by link
  tulle subnet check fat-tree:k=36 --shifts 100 --flows 1
  tulle subnet check fabric.txt --partitions partitions.conf

Exit code 1: something is wrong with the fabric or its tables.)";

constexpr const char* kSweepExamples = R"(Examples:
  tulle subnet sweep fat-tree:k=8                   SMPs and time of bring-up
  tulle subnet sweep fat-tree:k=8 --window 4        as few SMPs as OpenSM
  tulle subnet sweep torus:4x4 --loss 10000 --seed 7
  tulle subnet sweep fat-tree:k=8 --faults 3        what each broken cable costs
  tulle subnet sweep fat-tree:k=4 --options opensm.conf
  tulle subnet sweep fat-tree:k=4 --partitions partitions.conf

`man tulle-subnet` lists the constants behind the time.)";

constexpr const char* kQueryExamples = R"(What can be asked for:
  paths     from a host to one other, or to all: LIDs, SL, P_Key, MTU and rate
  nodes     adapters and switches with their LIDs
  ports     state, LMC, MTU and rate of each
  links     which port is cabled to which
  groups    multicast groups
  counters  what each node sent and received, from its performance agent

Examples:
  tulle subnet query fat-tree:k=8 paths --from h0 --to h9
  tulle subnet query torus:4x4 paths --json -
  tulle subnet query fabric.txt nodes --partitions partitions.conf
)";

std::string engines_text() {
    std::string out = "Engines:\n";
    for (const control::RoutingEngine& engine : control::routing_engines())
        out += fmt::format("  {:<17}{}\n", engine.name, engine.what);
    return out + "\n";
}

void add_route(Command& subnet) {
    const auto options = std::make_shared<RouteOptions>();
    Command command = subnet.add_command("route", "Compute the forwarding tables of a fabric");
    command.add_examples(engines_text() + kRouteExamples);
    command.option("FABRIC", options->fabric, "A topology by name, or a file; - is standard input",
                   {.is_required = true});
    command.option("--engine", options->engine,
                   "The routing engine; by default chosen by the topology", {.shown = "NAME"});
    command.option("--lanes", options->lanes, "Number of data lanes of the switches; 8 by default",
                   {.shown = "N", .from = 1, .to = control::kMostLanes});
    command.option("--lmc", options->lmc, "Number of LIDs of a host port as 2^N; 0 by default",
                   {.shown = "N", .to = 7});
    command.option("--dump", options->dump_file,
                   "Write the tables in the format of OpenSM; - is standard output",
                   {.shown = "FILE"});
    command.option("--path-sls", options->path_levels_file,
                   "Write the service level of each path; - is standard output", {.shown = "FILE"});
    command.option("--sl2vl", options->sl2vl_file,
                   "Write the lanes of each level in the format of OpenSM; - is standard output",
                   {.shown = "FILE"});
    command.option("--json", options->json_file, "Write the summary as JSON; - is standard output",
                   {.shown = "FILE"});
    command.when_chosen([options] { return route_subnet(*options); });
}

void add_check(Command& subnet) {
    const auto options = std::make_shared<CheckOptions>();
    Command command =
        subnet.add_command("check", "Find faults of a fabric and its forwarding tables");
    command.add_examples(engines_text() + kCheckExamples);
    command.option("FABRIC", options->fabric, "A topology by name, or a file; - is standard input",
                   {.is_required = true});
    command.option("--tables", options->tables_file,
                   "Check these tables: a dump of OpenSM, dump_lfts.sh or ibroute",
                   {.shown = "FILE"});
    command.option("--path-sls", options->path_levels_file,
                   "Their service levels: lines of GUID, LID and level, or OpenSM's log",
                   {.shown = "FILE"});
    command.option("--sl2vl", options->sl2vl_file,
                   "Their lanes by service level: a dump of OpenSM, or a file of ibdmchk",
                   {.shown = "FILE"});
    command.need("--path-sls", "--tables");
    command.need("--sl2vl", "--tables");
    command.option("--engine", options->engine,
                   "The routing engine without --tables; by default chosen by the topology",
                   {.shown = "NAME"});
    command.exclude("--tables", "--engine");
    command.option("--shifts", options->shifts,
                   "Number of shift permutations to check; by default as many as take a second",
                   {.shown = "N", .from = 1});
    command.option("--flows", options->flows, "Most flows of a shift that may share a link",
                   {.shown = "N", .from = 1});
    command.option("--partitions", options->partitions_file,
                   "Check these partitions for holes; a file as OpenSM's partitions.conf",
                   {.shown = "FILE"});
    command.option("--json", options->json_file, "Write the findings as JSON; - is standard output",
                   {.shown = "FILE"});
    command.when_chosen([options] { return check_subnet(*options); });
}

void add_sweep(Command& subnet) {
    const auto options = std::make_shared<SweepOptions>();
    Command command = subnet.add_command("sweep", "Bring a fabric up in virtual time");
    command.add_examples(kSweepExamples);
    command.option("FABRIC", options->fabric, "A topology by name, or a file; - is standard input",
                   {.is_required = true});
    command.option("--engine", options->engine,
                   "The routing engine; by default chosen by the topology", {.shown = "NAME"});
    command.option("--options", options->options_file, "Settings of the manager, as in opensm.conf",
                   {.shown = "FILE"});
    command.option("--partitions", options->partitions_file,
                   "Partitions to set up, as in partitions.conf", {.shown = "FILE"});
    command.option("--window", options->window, "Number of SMPs in flight; 64 by default",
                   {.shown = "N", .from = 1, .to = 65'536});
    command.option("--faults", options->faults,
                   "Then break this many cables between switches, one after the other",
                   {.shown = "N", .to = 1'000});
    command.option("--loss", options->loss_per_million, "SMPs lost on each cable, out of a million",
                   {.shown = "N", .to = 500'000});
    command.option("--seed", options->seed, "Seed of the losses; 1 by default", {.shown = "N"});
    command.need("--seed", "--loss");
    command.option("--json", options->json_file, "Write the result as JSON; - is standard output",
                   {.shown = "FILE"});
    command.when_chosen([options] { return sweep_subnet(*options); });
}

void add_query(Command& subnet) {
    const auto options = std::make_shared<QueryOptions>();
    Command command =
        subnet.add_command("query", "Ask subnet administration and agents of a fabric");
    command.add_examples(kQueryExamples);
    command.option("FABRIC", options->fabric, "A topology by name, or a file; - is standard input",
                   {.is_required = true});
    command.option("WHAT", options->what, "paths, nodes, ports, links, groups or counters",
                   {.choices = {"paths", "nodes", "ports", "links", "groups", "counters"},
                    .is_required = true});
    command.option("--from", options->from, "The host that asks; the first one by default",
                   {.shown = "HOST"});
    command.option("--to", options->to, "Destination of paths; all nodes by default",
                   {.shown = "NODE"});
    command.option("--engine", options->engine,
                   "How to route; without it, by the shape of the fabric", {.shown = "NAME"});
    command.option("--options", options->options_file,
                   "Settings of the manager, as opensm.conf has them", {.shown = "FILE"});
    command.option("--partitions", options->partitions_file,
                   "Partitions to set up, as partitions.conf has them", {.shown = "FILE"});
    command.option("--json", options->json_file,
                   "Write the answer as JSON to FILE; - is standard output, then without text",
                   {.shown = "FILE"});
    command.when_chosen([options] { return query_subnet(*options); });
}

}  // namespace

void add_subnet(Command& program) {
    Command command =
        program.add_command("subnet", "Route, check or bring up an InfiniBand subnet");
    command.add_examples(kSubnetExamples);
    add_route(command);
    add_check(command);
    add_sweep(command);
    add_query(command);
}

}  // namespace tulle::cli
