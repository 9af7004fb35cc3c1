#include "report/page/sim_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/units.h"
#include "report/findings/findings.h"
#include "report/page/drawing.h"
#include "report/page/link_series.h"
#include "report/time_shares.h"
#include "workload/collectives/collective.h"

namespace tulle::report {
namespace {

using sim::LinkResult;

// Limits that keep a page readable and below two megabytes.
constexpr size_t kMostLinks = 24;
constexpr size_t kMostSenders = 16;
constexpr size_t kMostFlows = 10;

struct ShownLink {
    const LinkResult* link = nullptr;
    bool is_chosen = false;
};

// Requested links first, then those that held up others, marked, queued or were busy most.
std::vector<ShownLink> links_to_show(const Facts& facts, std::span<const uint32_t> cables) {
    std::vector<ShownLink> links;
    for (const LinkResult& link : facts.result.links) {
        const bool is_chosen = std::find(cables.begin(), cables.end(), link.cable) != cables.end();
        if (link.wire_bytes != 0 || is_chosen) links.push_back({&link, is_chosen});
    }
    std::stable_sort(links.begin(), links.end(), [](const ShownLink& a, const ShownLink& b) {
        const auto key = [](const ShownLink& one) {
            return std::tuple(one.is_chosen, one.link->peak_queue_bytes, one.link->marked,
                              one.link->busy);
        };
        return key(a) > key(b);
    });
    return links;
}

Json link_json(const Facts& facts, const ShownLink& shown, const LinkSeries* series) {
    const LinkResult& link = *shown.link;
    Json json = {{"name", facts.names.link(link)},
                 {"chosen", shown.is_chosen},
                 {"busy", facts.busy_permille(link)},
                 {"flows", link.flows},
                 {"peak", link.peak_queue_bytes},
                 {"paused_us", microseconds(link.paused)},
                 {"marks", link.marked},
                 {"lost", dropped_by(link)},
                 {"queue", nullptr}};
    if (series == nullptr) return json;
    json["queue"] = series->queue_bytes;
    json["held"] = series->held_permille;
    json["marked"] = series->marks;
    return json;
}

void add_links(const Facts& facts, std::span<const uint32_t> cables, Json& json) {
    std::vector<ShownLink> links = links_to_show(facts, cables);
    const size_t all = links.size();
    if (links.size() > kMostLinks) links.resize(kMostLinks);
    std::vector<LinkSeries> series;
    for (const ShownLink& one : links)
        series.emplace_back(LinkSeries{one.link->node, one.link->port});
    const Duration bin = fill(facts.result, series);
    json["bin_us"] = microseconds(bin);
    json["length_us"] = microseconds(facts.result.time - Instant{});
    json["links_left_out"] = all - links.size();
    Json& list = json["links"] = Json::array();
    const bool has_trace = !facts.result.trace.empty();
    for (size_t i = 0; i < links.size(); ++i)
        list.push_back(link_json(facts, links[i], has_trace ? &series[i] : nullptr));
}

void add_rates(const Facts& facts, Json& json) {
    std::vector<SenderRate> rates = sender_rates(facts.result);
    json["rates_left_out"] = rates.size() > kMostSenders ? rates.size() - kMostSenders : 0;
    if (rates.size() > kMostSenders) rates.resize(kMostSenders);
    Json& list = json["rates"] = Json::array();
    for (const SenderRate& rate : rates) {
        Json points = Json::array();
        for (const auto& [at, bps] : rate.points)
            points.push_back({static_cast<double>(at.ps) / 1e6, static_cast<double>(bps) / 1e9});
        list.push_back({{"name", fmt::format("{} QP {} to {}", facts.names.node(rate.node),
                                             rate.queue_pair, facts.names.endpoint(rate.peer))},
                        {"points", std::move(points)}});
    }
    json["rates_note"] =
        facts.setup.host.congestion == transport::Algorithm::none
            ? "The hosts of this fabric have no congestion control."
            : "No rate is known: no answer came, or the congestion control has a window instead.";
}

Json table_json(const char* id, const char* title, std::vector<std::string> head, Json rows) {
    return {{"id", id}, {"title", title}, {"head", std::move(head)}, {"rows", std::move(rows)}};
}

Json phase_table(const Facts& facts) {
    Json rows = Json::array();
    for (const CollectiveFacts& phase : facts.collectives) {
        if (phase.purpose != workload::Purpose::general) continue;
        const bool has_rate = phase.finished && has_bandwidth(phase.collective);
        rows.push_back(
            {phase.name, base::bytes_to_string(phase.bytes), phase.ranks,
             phase.finished ? base::to_string(phase.time) : "did not end",
             has_rate ? fmt::format("{:.2f} GB/s", static_cast<double>(phase.bus_bandwidth) / 1e9)
                      : "-",
             phase.finished ? percent_text(phase.limit_permille) : "-"});
    }
    return table_json("phases", "Collectives",
                      {"phase", "size", "ranks", "time", "busbw", "of the limit"}, std::move(rows));
}

// A bar of the time of a rank, and a table of the slowest collectives.
void add_trainings(const Facts& facts, Json& json) {
    Json rows = Json::array();
    for (const TrainingFacts& one : facts.trainings) {
        if (!one.finished) continue;
        Json parts = Json::array();
        const auto part = [&](const std::string& name, Duration time) {
            if (time.ps > 0) parts.push_back({{"name", name}, {"ps", time.ps}});
        };
        part("computing", one.computing);
        part("bubble", one.bubble);
        for (size_t i = 0; i < one.exposed.size(); ++i)
            part("exposed: " + purpose_text(static_cast<workload::Purpose>(i)), one.exposed[i]);
        json["training"].push_back(
            {{"name", one.name},
             {"text", fmt::format("{}: {} a step, MFU {}, {} tokens/s", one.job->options.model.name,
                                  base::to_string(one.step), percent_text(one.mfu_permille),
                                  one.tokens_per_second)},
             {"parts", std::move(parts)}});
        for (const SlowestCollective& slow : one.slowest)
            rows.push_back(
                {fmt::format("{}: {}", purpose_text(slow.purpose),
                             workload::name_of(slow.collective)),
                 base::bytes_to_string(slow.bytes), slow.ranks, base::to_string(slow.time),
                 fmt::format("{:.2f} GB/s", static_cast<double>(slow.bus_bandwidth) / 1e9),
                 slow.way});
    }
    if (!rows.empty())
        json["tables"].push_back(table_json("slowest", "The slowest collective of each kind",
                                            {"kind", "size", "ranks", "time", "busbw", "by"},
                                            std::move(rows)));
}

// One table per serving job.
void add_servings(const Facts& facts, Json& json) {
    for (const ServingFacts& one : facts.servings) {
        Json rows = Json::array();
        const auto row = [&](const std::string& what, auto text) {
            rows.push_back({what, text(one.found), text(one.ideal)});
        };
        const auto time = [&](const std::string& what, Duration ServingFigures::*which) {
            row(what, [which](const auto& figures) { return base::to_string(figures.*which); });
        };
        time("time to first token, p50", &ServingFigures::first_token_p50);
        time("time to first token, p99", &ServingFigures::first_token_p99);
        time("time between tokens, p50", &ServingFigures::between_p50);
        time("time between tokens, p99", &ServingFigures::between_p99);
        row("tokens/s", [](const auto& figures) { return figures.tokens_per_second; });
        row("goodput, requests/s",
            [](const auto& figures) { return thousandths_text(figures.goodput_per_1000s); });
        json["tables"].push_back(table_json(
            "serving", "Serving",
            {serving_shape_text(*one.job), "found", "infinitely fast network"}, std::move(rows)));
    }
}

Json flow_table(const Facts& facts) {
    std::vector<size_t> order(facts.flows());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return facts.slowdown_permille(a) > facts.slowdown_permille(b);
    });
    if (order.size() > kMostFlows) order.resize(kMostFlows);
    Json rows = Json::array();
    for (const size_t i : order) {
        const sim::FlowResult& found = facts.result.flows[i];
        rows.push_back({facts.names.flow(i), facts.names.group(facts.setup.flows[i]),
                        base::bytes_to_string(facts.setup.flows[i].bytes),
                        found.finished ? base::to_string(found.completion) : "-",
                        base::to_string(facts.ideal_of(i)), ratio_text(facts.slowdown_permille(i)),
                        outcome_name(found)});
    }
    return table_json("flows", "The slowest flows",
                      {"flow", "work", "size", "completion", "alone", "slowdown", "status"},
                      std::move(rows));
}

std::string cluster_text(const Facts& facts) {
    const topology::Graph& graph = facts.setup.graph;
    return fmt::format("{}, {} switches, {}", counted(graph.host_count(), "host"),
                       graph.switch_count(), counted(graph.cables.size(), "cable"));
}

}  // namespace

std::string sim_page(const Facts& facts, const Verdict& verdict, std::span<const uint32_t> cables,
                     const About& about) {
    Json json = {{"scenario", facts.setup.name},
                 {"fabric", facts.setup.fabric_name},
                 {"sentence", verdict.sentence},
                 {"seed", facts.setup.seed},
                 {"hosts", facts.setup.graph.host_count()},
                 {"work", work_text(facts)},
                 {"cluster", cluster_text(facts)},
                 {"took", fmt::format("{}, {} of the limit", base::to_string(facts.span),
                                      percent_text(verdict.limit_permille))},
                 {"held_up_word", facts.has_credits() ? "no credits" : "paused"},
                 {"hash", fmt::format("{:016x}", facts.result.hash)},
                 {"about", about_json(about)},
                 {"findings", Json::array()},
                 {"tables", Json::array()}};
    json["shares"] = Json::array();
    for (const ShareRow& row : share_rows(facts))
        json["shares"].push_back({{"name", share_text(row)}, {"ps", row.time.ps}});
    for (const Finding& finding : verdict.findings)
        json["findings"].push_back(
            {{"severity", severity_name(finding.severity)}, {"sentence", finding.sentence}});
    if (facts.trainings.empty() && facts.servings.empty() && !facts.collectives.empty())
        json["tables"].push_back(phase_table(facts));
    add_trainings(facts, json);
    add_servings(facts, json);
    if (facts.flows() != 0) json["tables"].push_back(flow_table(facts));
    json["graph"] = drawing_of(facts);
    add_links(facts, cables, json);
    add_rates(facts, json);
    return page_of("sim", facts.setup.name.empty() ? "A run of Tulle" : facts.setup.name, json);
}

}  // namespace tulle::report
