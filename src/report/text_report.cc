#include "report/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <ranges>
#include <vector>

#include "base/units.h"
#include "report/control.h"
#include "report/findings/findings.h"
#include "report/skipping.h"
#include "report/table.h"
#include "report/tenants.h"
#include "report/time_shares.h"

namespace tulle::report {
namespace {

using sim::LinkResult;

constexpr size_t kMostLinks = 10;
constexpr size_t kMostFlows = 5;
constexpr size_t kMostBlames = 10;
constexpr size_t kMostCauses = 4;
constexpr size_t kMostDisagreements = 10;

std::string time_text(Duration duration) {
    return base::to_string(duration);
}

std::string rate_text(uint64_t bits_per_second) {
    return bits_per_second == 0 ? "0"
                                : base::to_string(base::Rate::bits_per_second(bits_per_second));
}

std::string header(const Facts& facts) {
    const topology::Graph& graph = facts.setup.graph;
    std::string text;
    if (!facts.setup.name.empty()) text += fmt::format("Scenario  {}\n", facts.setup.name);
    text += fmt::format("Fabric    {}\n", facts.setup.fabric_name);
    text += fmt::format(
        "Topology  {}, {}, {}\n", counted(graph.host_count(), "host"),
        graph.switch_count() == 1 ? "1 switch" : fmt::format("{} switches", graph.switch_count()),
        counted(graph.cables.size(), "cable"));
    text += fmt::format("Seed      {}\n", facts.setup.seed);
    text += fmt::format("Time      {} simulated, {}", time_text(facts.result.time - Instant{}),
                        end_name(facts.result.end));
    if (!facts.result.stuck_reason.empty()) text += ": " + facts.result.stuck_reason;
    return text + "\n" + skipping_text(facts);
}

std::vector<size_t> by_slowdown(const Facts& facts) {
    std::vector<size_t> order(facts.flows());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return facts.slowdown_permille(a) > facts.slowdown_permille(b);
    });
    return order;
}

std::string aggregate_goodput(const Facts& facts) {
    if (facts.span.ps <= 0) return "0";
    const auto bits = base::uint128_t{facts.succeeded_bytes()} * 8 * 1'000'000'000'000u;
    return rate_text(static_cast<uint64_t>(bits / static_cast<uint64_t>(facts.span.ps)));
}

// Least, median and most time of flows.
void distribution(const Facts& facts, Table& table) {
    std::vector<Duration> times;
    std::vector<uint64_t> slowdowns;
    std::vector<uint64_t> rates;
    for (size_t i = 0; i < facts.flows(); ++i) {
        if (!facts.succeeded(i)) continue;
        times.push_back(facts.result.flows[i].completion);
        slowdowns.push_back(facts.slowdown_permille(i));
        rates.push_back(facts.goodput_bps(i));
    }
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    std::sort(slowdowns.begin(), slowdowns.end());
    std::sort(rates.begin(), rates.end());
    table.row({"", "min", "median", "p99", "max"});
    const auto row = [&](const char* name, const auto& values, auto&& text) {
        table.row({name, text(values.front()), text(percentile(values, 50)),
                   text(percentile(values, 99)), text(values.back())});
    };
    row("completion", times, time_text);
    row("slowdown", slowdowns, ratio_text);
    row("goodput", rates, rate_text);
}

std::string gigabytes_per_second(uint64_t bytes_per_second) {
    return fmt::format("{}.{:02} GB/s", bytes_per_second / 1'000'000'000,
                       bytes_per_second / 10'000'000 % 100);
}

std::string estimate_text(const workload::Estimate& estimate) {
    if (estimate.name.empty()) return "-";
    return fmt::format("{} {}", estimate.name, time_text(estimate.time));
}

// Training steps and serving have too many for one row each.
std::string phase_table(const Facts& facts) {
    const auto is_shown = [](const CollectiveFacts& phase) {
        return phase.purpose == workload::Purpose::general;
    };
    if (std::ranges::none_of(facts.collectives, is_shown)) return "";
    Table table;
    table.row({"phase", "size", "ranks", "time", "algbw", "busbw", "of the limit", "by",
               "next best, reckoned"});
    for (const CollectiveFacts& phase : facts.collectives) {
        if (!is_shown(phase)) continue;
        const bool has_rate = phase.finished && has_bandwidth(phase.collective);
        table.row({phase.name, base::bytes_to_string(phase.bytes), std::to_string(phase.ranks),
                   phase.finished ? time_text(phase.time) : "did not end",
                   has_rate ? gigabytes_per_second(phase.algorithm_bandwidth) : "-",
                   has_rate ? gigabytes_per_second(phase.bus_bandwidth) : "-",
                   phase.finished ? percent_text(phase.limit_permille) : "-", way_text(phase),
                   estimate_text(phase.next_best)});
    }
    return "\nCollectives\n" + table.text();
}

std::string collectives(const Facts& facts) {
    if (facts.collectives.empty()) return "";
    std::string text = phase_table(facts) + training_text(facts.trainings) +
                       serving_text(facts.servings) + traces_text(facts.traces);
    const base::Histogram latency = facts.message_latency();
    const auto at = [&](uint64_t parts, uint64_t out_of) {
        return time_text({static_cast<int64_t>(latency.percentile(parts, out_of))});
    };
    if (!latency.empty())
        text += fmt::format("  {} messages between servers: {} p50, {} p99, {} p99.9\n",
                            latency.count(), at(1, 2), at(99, 100), at(999, 1000));
    if (facts.result.cpu.ps > 0)
        text += fmt::format("  {} of processors, {} cores in each of {}\n",
                            time_text(facts.result.cpu), ratio_text(facts.busy_cores_permille()),
                            counted(facts.servers(), "server"));
    return text;
}

std::string flows(const Facts& facts) {
    if (facts.flows() == 0 && !facts.collectives.empty()) return "";
    uint64_t bytes = 0;
    for (const sim::Flow& flow : facts.setup.flows) bytes += flow.bytes;
    std::string text =
        fmt::format("\nFlows: {}, {}; {} ended well in {}, {} together\n", facts.flows(),
                    base::bytes_to_string(bytes), facts.succeeded_count(), time_text(facts.span),
                    aggregate_goodput(facts));
    Table table;
    distribution(facts, table);
    text += table.text();
    const std::vector<size_t> order = by_slowdown(facts);
    if (order.empty()) return text;
    Table slowest;
    slowest.row({"slowest", "work", "size", "completion", "alone", "slowdown", "status"});
    for (size_t i = 0; i < std::min(order.size(), kMostFlows); ++i) {
        const size_t flow = order[i];
        const sim::FlowResult& found = facts.result.flows[flow];
        slowest.row({facts.names.flow(flow), facts.names.group(facts.setup.flows[flow]),
                     base::bytes_to_string(facts.setup.flows[flow].bytes),
                     found.finished ? time_text(found.completion) : "-",
                     time_text(facts.ideal_of(flow)), ratio_text(facts.slowdown_permille(flow)),
                     outcome_name(found)});
    }
    return text + slowest.text();
}

// Each named piece of work separately.
struct Group {
    uint64_t bytes = 0;
    uint64_t flows = 0;
    std::vector<Duration> times;  // of those that ended well
    std::vector<uint64_t> slowdowns;
};

std::vector<Group> groups_of(const Facts& facts) {
    std::vector<Group> all(facts.setup.groups.size());
    for (size_t i = 0; i < facts.flows(); ++i) {
        if (facts.setup.flows[i].group >= all.size()) continue;  // it belongs to none
        Group& group = all[facts.setup.flows[i].group];
        group.bytes += facts.setup.flows[i].bytes;
        ++group.flows;
        if (!facts.succeeded(i)) continue;
        group.times.push_back(facts.result.flows[i].completion);
        group.slowdowns.push_back(facts.slowdown_permille(i));
    }
    for (Group& group : all) {
        std::sort(group.times.begin(), group.times.end());
        std::sort(group.slowdowns.begin(), group.slowdowns.end());
    }
    return all;
}

std::string groups(const Facts& facts) {
    const std::vector<Group> all = groups_of(facts);
    if (all.size() < 2) return "";
    Table table;
    table.row({"work", "flows", "ended well", "size", "median", "p99", "max", "slowdown p99"});
    for (size_t i = 0; i < all.size(); ++i) {
        const Group& group = all[i];
        const auto time = [&](size_t percent) {
            return group.times.empty() ? "-" : time_text(percentile(group.times, percent));
        };
        table.row({facts.setup.groups[i], std::to_string(group.flows),
                   std::to_string(group.times.size()), base::bytes_to_string(group.bytes), time(50),
                   time(99), time(100),
                   group.slowdowns.empty() ? "-" : ratio_text(percentile(group.slowdowns, 99))});
    }
    return "\nBy piece of work\n" + table.text();
}

std::vector<const LinkResult*> by_load(const Facts& facts) {
    std::vector<const LinkResult*> links;
    for (const LinkResult& link : facts.result.links)
        if (link.wire_bytes != 0 || link.paused.ps != 0 || dropped_by(link) != 0)
            links.push_back(&link);
    std::stable_sort(links.begin(), links.end(), [](const LinkResult* a, const LinkResult* b) {
        return std::tie(a->busy, a->paused) > std::tie(b->busy, b->paused);
    });
    return links;
}

std::string links(const Facts& facts) {
    const std::vector<const LinkResult*> order = by_load(facts);
    if (order.empty()) return "";
    Table table;
    table.row({"link", "busy", "flows", "peak queue", facts.has_credits() ? "no credits" : "paused",
               "marked", "lost"});
    for (size_t i = 0; i < std::min(order.size(), kMostLinks); ++i) {
        const LinkResult& link = *order[i];
        table.row({facts.names.link(link), percent_text(facts.busy_permille(link)),
                   std::to_string(link.flows), base::bytes_to_string(link.peak_queue_bytes),
                   time_text(link.paused), std::to_string(link.marked),
                   std::to_string(dropped_by(link))});
    }
    return fmt::format("\nLinks by load: {} of {} in use\n", order.size(),
                       facts.result.links.size()) +
           table.text();
}

std::string culprit_text(const Facts& facts, const sim::Blame& blame) {
    return facts.is_host(blame.culprit_node)
               ? facts.names.node(blame.culprit_node)
               : facts.names.link(blame.culprit_node, blame.culprit_port);
}

std::string pauses(const Facts& facts) {
    std::vector<const sim::Blame*> order;
    for (const sim::Blame& blame : facts.result.blames) order.push_back(&blame);
    if (order.empty()) return "";
    std::stable_sort(order.begin(), order.end(), [](const sim::Blame* a, const sim::Blame* b) {
        return a->paused > b->paused;
    });
    std::string text =
        fmt::format("\nHeld up{}: {} in all\n", facts.has_credits() ? " for lack of credits" : "",
                    time_text(facts.result.totals.paused));
    for (size_t i = 0; i < std::min(order.size(), kMostBlames); ++i)
        text += fmt::format("  {} held up {} for {} ({})\n", culprit_text(facts, *order[i]),
                            facts.names.port(order[i]->node, order[i]->port),
                            time_text(order[i]->paused), facts.names.lane(order[i]->lane));
    if (order.size() > kMostBlames)
        text += fmt::format("  and {} more\n", order.size() - kMostBlames);
    return text;
}

std::string packets(const Facts& facts) {
    const sim::Totals& totals = facts.result.totals;
    Table table;
    const auto row = [&](const char* name, uint64_t value, bool always = false) {
        if (value != 0 || always) table.row({name, std::to_string(value)});
    };
    row("data", totals.data_packets, true);
    row("control", totals.control_packets, true);
    row("delivered", totals.delivered, true);
    row("in flight at the end", totals.in_flight);
    for (size_t i = 0; i < sim::kDropCauses; ++i)
        row(fmt::format("lost: {}", drop_name(static_cast<sim::Drop>(i))).c_str(),
            totals.dropped[i]);
    row("trimmed", totals.trimmed);
    row("sent again", totals.retransmitted);
    row("marked", totals.ecn_marked);
    row("CNPs", totals.cnps);
    row("pause frames", totals.pause_frames);
    row("credit packets", totals.credit_packets);
    row("watchdog fired", totals.watchdog_fired);
    return "\nPackets\n" + table.text();
}

std::string disagreements(const Facts& facts) {
    if (facts.result.disagreements.empty()) return "";
    std::string text = "\nDCBX\n";
    const auto& all = facts.result.disagreements;
    for (size_t i = 0; i < std::min(all.size(), kMostDisagreements); ++i)
        text += fmt::format("  {}: {}\n", facts.names.cable(all[i].cable), all[i].what);
    if (all.size() > kMostDisagreements)
        text += fmt::format("  and {} more\n", all.size() - kMostDisagreements);
    return text;
}

std::string engine(const Facts& facts) {
    const sim::EngineFigures& engine = facts.result.engine;
    // The clock of CPU time may not have moved in a short run.
    const std::string rate =
        engine.cpu_s > 0 ? fmt::format(" ({:.2f} million a CPU second)",
                                       static_cast<double>(engine.hops) / engine.cpu_s / 1e6)
                         : "";
    return fmt::format(
        "\nEngine    {} hops{}, {} events, {} at most, {}, {:.2f} s; "
        "hash {:016x}\n",
        engine.hops, rate, engine.events, base::bytes_to_string(engine.peak_rss_bytes),
        counted(engine.threads, "thread"), engine.wall_s, facts.result.hash);
}

// Of the time of a run, which its causes add up to: what is above the limit.
Duration lost_of(const Verdict& verdict) {
    Duration whole{};
    for (const Cause& cause : verdict.causes) whole += cause.time;
    const auto permille = static_cast<int64_t>(verdict.limit_permille);
    return whole * std::max(int64_t{0}, 1000 - permille) / 1000;
}

}  // namespace

std::string text_report(const Facts& facts, const Verdict& verdict) {
    return header(facts) + collectives(facts) + flows(facts) + groups(facts) + tenants_text(facts) +
           links(facts) + pauses(facts) + packets(facts) + control_text(facts) +
           disagreements(facts) + time_shares_text(facts) + engine(facts) + "\n" +
           verdict_text(verdict);
}

std::string verdict_text(const Verdict& verdict) {
    std::string text = fmt::format("Verdict: {}\n", verdict.sentence);
    std::vector<const Cause*> others;
    for (const Cause& cause : verdict.causes)
        if (&cause != &verdict.causes.front()) others.push_back(&cause);
    const Duration lost = lost_of(verdict);
    const auto is_note = [&](const Cause* cause) { return cause->time * 10 < lost; };
    std::ranges::stable_partition(others, std::not_fn(is_note));
    for (const Cause* cause : others | std::views::take(kMostCauses - 1))
        text += fmt::format("  {}{}: {}\n", is_note(cause) ? "note: " : "",
                            base::to_string(cause->time), cause->sentence);
    for (const Finding& finding : verdict.findings)
        if (verdict.sentence.find(finding.sentence) == std::string::npos)
            text += fmt::format("  {}: {}\n", severity_name(finding.severity), finding.sentence);
    return text;
}

}  // namespace tulle::report
