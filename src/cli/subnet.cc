#include "cli/subnet.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/subnet/check.h"
#include "cli/subnet/route.h"
#include "cli/subnet/sweep.h"
#include "control/subnet/routing/engines.h"

namespace tulle::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  tulle subnet route fat-tree:k=36                  what an engine makes of it
  tulle subnet route fabric.txt --engine dfsssp --dump lfts.txt
  ibnetdiscover > fabric.txt && tulle subnet check fabric.txt
  tulle subnet check fabric.txt --tables opensm-lfts.dump
  tulle subnet sweep fat-tree:k=8                   SMPs and time of bring-up

`man tulle-subnet` explains the engines and what is checked.)";

constexpr const char* kRouteExamples = R"(Examples:
  tulle subnet route fat-tree:k=36                  what an engine makes of it
  tulle subnet route torus:6x6,hosts=2 --engine dimension-order
  tulle subnet route fabric.txt --engine dfsssp --dump lfts.txt
  tulle subnet route dragonfly:a=8,p=4,h=4 --json -
)";

constexpr const char* kCheckExamples = R"(Examples:
  ibnetdiscover > fabric.txt && tulle subnet check fabric.txt
  tulle subnet check fabric.txt --tables opensm-lfts.dump
  tulle subnet check ring:5 --engine min-hop        a loop, link by link
  tulle subnet check fat-tree:k=36 --shifts 100 --flows 1

Exit code 1: something is wrong with the fabric or its tables.)";

constexpr const char* kSweepExamples = R"(Examples:
  tulle subnet sweep fat-tree:k=8                   SMPs and time of bring-up
  tulle subnet sweep fat-tree:k=8 --window 4        as few at a time as OpenSM
  tulle subnet sweep torus:4x4 --loss 10000 --seed 7

`man tulle-subnet` names the constants that the time rests on.)";

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
                   "How to route; without it, by the shape of the fabric", {.shown = "NAME"});
    command.option("--lanes", options->lanes, "Data lanes that switches have; 8 unless told",
                   {.shown = "N", .from = 1, .to = 8});
    command.option("--dump", options->dump_file,
                   "Write the tables as OpenSM does; - is standard output, then without text",
                   {.shown = "FILE"});
    command.option("--json", options->json_file,
                   "Write the summary as JSON to FILE; - is standard output, then without text",
                   {.shown = "FILE"});
    command.when_chosen([options] { return route_subnet(*options); });
}

void add_check(Command& subnet) {
    const auto options = std::make_shared<CheckOptions>();
    Command command =
        subnet.add_command("check", "Look for what is wrong with a fabric and its tables");
    command.add_examples(engines_text() + kCheckExamples);
    command.option("FABRIC", options->fabric, "A topology by name, or a file; - is standard input",
                   {.is_required = true});
    command.option("--tables", options->tables_file,
                   "Tables to check: a dump of OpenSM, dump_lfts.sh or ibroute", {.shown = "FILE"});
    command.option("--engine", options->engine,
                   "Without --tables, how to route; by the shape of the fabric unless told",
                   {.shown = "NAME"});
    command.exclude("--tables", "--engine");
    command.option("--shifts", options->shifts,
                   "Shift permutations to look at; as many as take a second unless told",
                   {.shown = "N", .from = 1});
    command.option("--flows", options->flows,
                   "Flows of a shift that a link may carry; more is wrong",
                   {.shown = "N", .from = 1});
    command.option("--json", options->json_file,
                   "Write the findings as JSON to FILE; - is standard output, then without text",
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
                   "How to route; without it, by the shape of the fabric", {.shown = "NAME"});
    command.option("--window", options->window, "SMPs under way at a time; 64 unless told",
                   {.shown = "N", .from = 1, .to = 65'536});
    command.option("--loss", options->loss_per_million, "SMPs of a million lost on each cable",
                   {.shown = "N", .to = 500'000});
    command.option("--seed", options->seed, "Which of them; 1 unless told", {.shown = "N"});
    command.option("--json", options->json_file,
                   "Write the result as JSON to FILE; - is standard output, then without text",
                   {.shown = "FILE"});
    command.when_chosen([options] { return sweep_subnet(*options); });
}

}  // namespace

void add_subnet(Command& program) {
    Command command =
        program.add_command("subnet", "Route a subnet of InfiniBand, check one, bring one up");
    command.add_examples(kExamples);
    add_route(command);
    add_check(command);
    add_sweep(command);
}

}  // namespace tulle::cli
