#include "report/json_report.h"

#include <fmt/format.h>

#include "report/control.h"
#include "report/json_values.h"
#include "report/skipping.h"
#include "report/tenants.h"
#include "report/time_shares.h"
#include "workload/collectives/collective.h"

namespace tulle::report {
namespace {

// Whole nanoseconds are integers; others have up to three decimals, without loss.
Json ns(int64_t picoseconds) {
    if (picoseconds % 1000 == 0) return picoseconds / 1000;
    return static_cast<double>(picoseconds) / 1000;
}
Json ns(Duration duration) {
    return ns(duration.ps);
}
Json ns(Instant instant) {
    return ns(instant.ps);
}

Json dropped_json(const std::array<uint64_t, sim::kDropCauses>& dropped) {
    Json json = Json::object();
    for (size_t i = 0; i < dropped.size(); ++i) {
        const auto cause = static_cast<sim::Drop>(i);
        if (cause != sim::Drop::other_tenant || dropped[i] != 0)
            json[drop_name(cause)] = dropped[i];
    }
    return json;
}

Json engine_json(const sim::EngineFigures& engine) {
    const double rate = engine.cpu_s > 0 ? static_cast<double>(engine.hops) / engine.cpu_s : 0;
    return {{"events", engine.events},  {"hops", engine.hops},
            {"cpu_s", engine.cpu_s},    {"wall_s", engine.wall_s},
            {"hops_per_cpu_s", rate},   {"peak_rss_bytes", engine.peak_rss_bytes},
            {"threads", engine.threads}};
}

// What makes a sender of this fabric wait.
const char* brake_name(fabric::FlowControl flow_control) {
    switch (flow_control) {
        case fabric::FlowControl::none: return "nothing";
        case fabric::FlowControl::pfc: return "pauses";
        case fabric::FlowControl::credits: return "credits";
    }
    return "unknown";
}

Json totals_json(const sim::Setup& setup, const sim::Totals& totals) {
    return {{"data_packets", totals.data_packets},
            {"control_packets", totals.control_packets},
            {"delivered", totals.delivered},
            {"in_flight", totals.in_flight},
            {"dropped", dropped_json(totals.dropped)},
            {"retransmitted", totals.retransmitted},
            {"trimmed", totals.trimmed},
            {"ecn_marked", totals.ecn_marked},
            {"cnps", totals.cnps},
            {"pause_frames", totals.pause_frames},
            {"credit_packets", totals.credit_packets},
            {"watchdog_fired", totals.watchdog_fired},
            {"paused_ns", ns(totals.paused)},
            {"held_up_by", brake_name(setup.fabric.flow_control)}};
}

Json flows_json(const Facts& facts) {
    Json flows = Json::array();
    for (size_t i = 0; i < facts.flows(); ++i) {
        const sim::Flow& flow = facts.setup.flows[i];
        const sim::FlowResult& found = facts.result.flows[i];
        flows.push_back({{"src", facts.names.endpoint(flow.source)},
                         {"dst", facts.names.endpoint(flow.destination)},
                         {"bytes", flow.bytes},
                         {"start_ns", ns(flow.start)},
                         {"fct_ns", found.finished ? ns(found.completion) : Json(nullptr)},
                         {"status", outcome_name(found)},
                         {"id", flow.id},
                         {"group", facts.names.group(flow)},
                         {"ideal_ns", ns(facts.ideal_of(i))},
                         {"slowdown", ratio(facts.slowdown_permille(i))}});
    }
    return flows;
}

Json links_json(const Facts& facts) {
    Json links = Json::array();
    for (const sim::LinkResult& link : facts.result.links)
        links.push_back({{"link", facts.names.link(link)},
                         {"from", facts.names.node(link.node)},
                         {"port", link.port},
                         {"to", facts.names.node(link.peer_node)},
                         {"peer_port", link.peer_port},
                         {"data_packets", link.data_packets},
                         {"control_packets", link.control_packets},
                         {"wire_bytes", link.wire_bytes},
                         {"busy_ns", ns(link.busy)},
                         {"busy_ratio", ratio(facts.busy_permille(link))},
                         {"flows", link.flows},
                         {"peak_queue_bytes", link.peak_queue_bytes},
                         {"flow_control_packets", link.flow_control_packets},
                         {"pauses_received", link.pauses_received},
                         {"paused_ns", ns(link.paused)},
                         {"ecn_marked", link.marked},
                         {"dropped", dropped_json(link.dropped)}});
    return links;
}

Json pauses_json(const Facts& facts) {
    Json pauses = Json::array();
    for (const sim::Blame& blame : facts.result.blames)
        pauses.push_back(
            {{"held_up", facts.names.link(blame.node, blame.port)},
             {"lane", blame.lane},
             {"culprit", facts.is_host(blame.culprit_node)
                             ? facts.names.node(blame.culprit_node)
                             : facts.names.link(blame.culprit_node, blame.culprit_port)},
             {"paused_ns", ns(blame.paused)}});
    return pauses;
}

// Ratios are whole thousandths internally, and numbers in the JSON.
void add_field(const Field& field, Json& json) {
    static constexpr std::string_view kPermille = "_permille";
    if (field.name.ends_with(kPermille)) {
        const std::string name = field.name.substr(0, field.name.size() - kPermille.size());
        json[name + "_ratio"] = ratio(std::get<uint64_t>(field.value));
        return;
    }
    std::visit([&](const auto& value) { json[field.name] = value; }, field.value);
}

Json finding_json(const Finding& finding) {
    Json json = {{"kind", kind_name(finding.kind)},
                 {"severity", severity_name(finding.severity)},
                 {"culprit", finding.culprit},
                 {"fields", Json::object()},
                 {"sentence", finding.sentence}};
    for (const Field& field : finding.fields) add_field(field, json["fields"]);
    return json;
}

Json verdict_json(const Facts& facts, const Verdict& verdict) {
    Json json = {{"complete", verdict.complete}, {"span_ns", ns(facts.span)},
                 {"limit_ns", ns(facts.limit)},  {"limit_ratio", ratio(verdict.limit_permille)},
                 {"bottleneck", nullptr},        {"slowest_flow", nullptr},
                 {"findings", Json::array()},    {"sentence", verdict.sentence}};
    if (verdict.bottleneck)
        json["bottleneck"] = {{"link", verdict.bottleneck->link},
                              {"busy_ratio", ratio(verdict.bottleneck->busy_permille)}};
    if (verdict.slowest)
        json["slowest_flow"] = {{"flow", verdict.slowest->flow},
                                {"name", facts.names.flow(verdict.slowest->flow)},
                                {"slowdown", ratio(verdict.slowest->slowdown_permille)}};
    for (const Finding& finding : verdict.findings)
        json["findings"].push_back(finding_json(finding));
    json["causes"] = Json::array();
    for (const Cause& cause : verdict.causes)
        json["causes"].push_back({{"kind", cause_name(cause.kind)},
                                  {"place", cause.place},
                                  {"time_ns", ns(cause.time)},
                                  {"avoidable_ns", ns(cause.avoidable)},
                                  {"sentence", cause.sentence}});
    return json;
}

// In picoseconds, so that they add up exactly.
Json shares_json(const Facts& facts) {
    if (facts.result.account.shares.empty()) return nullptr;
    Json shares = Json::array();
    for (const ShareRow& row : share_rows(facts))
        shares.push_back(
            {{"kind", share_name(row.kind)}, {"place", row.where}, {"ps", row.time.ps}});
    return {{"end_ps", facts.result.account.end.ps}, {"shares", std::move(shares)}};
}

// The prediction of the library's cost model.
Json estimate_json(const workload::Estimate& estimate) {
    if (estimate.name.empty()) return nullptr;
    return {{"name", estimate.name}, {"time_us", microseconds(estimate.time)}};
}

Json collectives_json(const Facts& facts) {
    Json json = Json::array();
    for (const CollectiveFacts& phase : facts.collectives)
        json.push_back({{"name", phase.name},
                        {"kind", workload::name_of(phase.collective)},
                        {"algorithm", phase.algorithm},
                        {"protocol", phase.protocol},
                        {"channels", phase.channels},
                        {"chosen", phase.is_automatic},
                        {"predicted", estimate_json(phase.predicted)},
                        {"next_best", estimate_json(phase.next_best)},
                        {"bytes", phase.bytes},
                        {"ranks", phase.ranks},
                        {"messages", phase.messages},
                        {"start_us", microseconds(phase.begin - Instant{})},
                        {"time_us", phase.finished ? microseconds(phase.time) : Json(nullptr)},
                        {"algbw_GBps", gigabytes(phase.algorithm_bandwidth)},
                        {"busbw_GBps", gigabytes(phase.bus_bandwidth)},
                        {"limit_us", microseconds(phase.limit)},
                        {"limit_ratio", ratio(phase.limit_permille)}});
    return json;
}

Json training_json(const TrainingFacts& facts) {
    const workload::StepOptions& options = facts.job->options;
    Json json = {{"name", facts.name},
                 {"model", options.model.name},
                 {"gpu", options.engine.gpu.name},
                 {"gpus", facts.job->ranks.size()},
                 {"layout", layout_text(options)},
                 {"tokens", facts.job->tokens},
                 {"complete", facts.finished},
                 {"step_us", facts.finished ? microseconds(facts.step) : Json(nullptr)},
                 {"ideal_us", microseconds(facts.ideal)},
                 {"mfu_ratio", ratio(facts.mfu_permille)},
                 {"tokens_per_s", facts.tokens_per_second},
                 {"computing_us", microseconds(facts.computing)},
                 {"bubble_us", microseconds(facts.bubble)},
                 {"exposed", Json::array()},
                 {"slowest", Json::array()}};
    const auto store = [&](const char* name, const StoreFacts& one) {
        if (one.is_there)
            json[name] = {{"bytes", one.bytes},
                          {"complete", one.finished},
                          {"stored_us", microseconds(one.stored)},
                          {"blocks_us", microseconds(one.blocks)}};
    };
    store("checkpoint", facts.checkpoint);
    store("data", facts.data);
    store("states", facts.states);
    if (facts.month.is_there)
        json["month"] = {{"failures", ratio(facts.month.failures_permille)},
                         {"training_ratio", ratio(facts.month.training_ppm / 1000)},
                         {"best_interval_us", microseconds(facts.month.best_interval)},
                         {"best_training_ratio", ratio(facts.month.best_ppm / 1000)}};
    for (size_t i = 0; i < facts.exposed.size(); ++i)
        if (facts.exposed[i].ps > 0)
            json["exposed"].push_back(
                {{"kind", workload::name_of(static_cast<workload::Purpose>(i))},
                 {"network", facts.job->leaves_server[i] ? "between servers" : "inside servers"},
                 {"time_us", microseconds(facts.exposed[i])}});
    for (const SlowestCollective& one : facts.slowest)
        json["slowest"].push_back({{"kind", workload::name_of(one.purpose)},
                                   {"collective", workload::name_of(one.collective)},
                                   {"bytes", one.bytes},
                                   {"ranks", one.ranks},
                                   {"time_us", microseconds(one.time)},
                                   {"busbw_GBps", gigabytes(one.bus_bandwidth)},
                                   {"by", one.way},
                                   {"count", one.count},
                                   {"simulated_once", one.is_repeated}});
    return json;
}

Json repair_json(const Facts& facts, const sim::RepairResult& found) {
    const control::Repair& repair = found.repair;
    Json json = {{"at_ns", ns(repair.cause.at)},
                 {"what", disturbance_text(facts, repair.cause)},
                 {"repaired", repair.is_repaired()},
                 {"no_route_ns",
                  repair.is_repaired() ? ns(repair.repaired - repair.cause.at) : Json(nullptr)},
                 {"pairs", repair.broken_pairs},
                 {"pairs_unserved", repair.unserved_pairs},
                 {"pairs_cut_off", repair.cut_off_pairs},
                 {"cut_off", Json::array()},
                 {"messages", repair.messages},
                 {"bytes_on_cables", repair.bytes},
                 {"entries_written", repair.writes},
                 {"lost", lost_by_fault(found)},
                 {"dropped", dropped_json(found.lost)}};
    for (const uint32_t endpoint : repair.cut_off)
        json["cut_off"].push_back(facts.names.endpoint(endpoint));
    return json;
}

// Left out where there are none.
void add_tenants(const Facts& facts, Json& json) {
    if (facts.setup.tenants.empty()) return;
    json["tenants"] = Json::array();
    const auto hosts = [&](const std::vector<uint32_t>& endpoints) {
        Json names = Json::array();
        for (const uint32_t endpoint : endpoints) names.push_back(facts.names.endpoint(endpoint));
        return names;
    };
    for (const sim::Tenant& tenant : facts.setup.tenants) {
        const TenantFacts found = tenant_facts(facts, tenant);
        const auto time = [&](size_t percent) {
            return found.times.empty() ? Json(nullptr)
                                       : microseconds(percentile(found.times, percent));
        };
        json["tenants"].push_back({{"name", tenant.name},
                                   {has_partition_keys(facts) ? "pkey" : "vlan",
                                    has_partition_keys(facts) ? tenant.pkey : tenant.vlan},
                                   {"hosts", hosts(tenant.full)},
                                   {"limited", hosts(tenant.limited)},
                                   {"flows", found.flows},
                                   {"flows_ended_well", found.times.size()},
                                   {"median_us", time(50)},
                                   {"max_us", time(100)},
                                   {"packets_refused", found.refused}});
    }
    json["violations"] = Json::array();
    for (const sim::Violation& one : facts.result.violations)
        json["violations"].push_back({{"src", facts.names.endpoint(one.source)},
                                      {"src_tenants", tenants_of(facts, one.source)},
                                      {"dst", facts.names.endpoint(one.destination)},
                                      {"dst_tenants", tenants_of(facts, one.destination)},
                                      {"at", violation_place(facts, one)},
                                      {"counter", counter_of(facts, one)},
                                      {"packets", one.packets}});
}

// Left out where tables are given.
void add_control(const Facts& facts, Json& json) {
    const sim::ControlResult& control = facts.result.control;
    if (control.is_given()) return;
    json["control"] = {
        {"kind",
         facts.setup.control.kind == sim::ControlSettings::Kind::sweep ? "sweep" : "distributed"},
        {"way", control.way},
        {"bring_up_ns", ns(control.bring_up)},
        {"bring_up_messages", control.bring_up_messages},
        {"faults", Json::array()}};
    for (const sim::RepairResult& repair : control.repairs)
        json["control"]["faults"].push_back(repair_json(facts, repair));
}

// Left out if there is none, so that other reports do not change.
void add_trainings(const Facts& facts, Json& json) {
    if (facts.trainings.empty()) return;
    json["training"] = Json::array();
    for (const TrainingFacts& one : facts.trainings) json["training"].push_back(training_json(one));
}

Json serving_figures_json(const ServingFigures& figures) {
    return {{"requests", figures.requests},
            {"first_token_p50_us", microseconds(figures.first_token_p50)},
            {"first_token_p99_us", microseconds(figures.first_token_p99)},
            {"between_tokens_p50_us", microseconds(figures.between_p50)},
            {"between_tokens_p99_us", microseconds(figures.between_p99)},
            {"tokens_per_s", figures.tokens_per_second},
            {"requests_per_s", ratio(figures.requests_per_1000s)},
            {"good_requests", figures.good_requests},
            {"goodput_per_s", ratio(figures.goodput_per_1000s)},
            {"steps", figures.steps},
            {"answers_in_step", ratio(figures.batch_permille)},
            {"time_us", microseconds(figures.time)}};
}

void add_servings(const Facts& facts, Json& json) {
    if (facts.servings.empty()) return;
    json["serving"] = Json::array();
    for (const ServingFacts& one : facts.servings)
        json["serving"].push_back({{"name", one.name},
                                   {"model", one.job->options.model.name},
                                   {"gpu", one.job->options.engine.gpu.name},
                                   {"layout", serving_shape_text(*one.job)},
                                   {"requests", one.job->requests.size()},
                                   {"complete", one.finished},
                                   {"found", serving_figures_json(one.found)},
                                   {"ideal", serving_figures_json(one.ideal)}});
}

Json trace_json(const TraceFacts& facts) {
    Json json = {{"name", facts.name},
                 {"format", facts.job->format},
                 {"units", facts.job->units},
                 {"notes", facts.job->notes},
                 {"ranks", facts.job->ranks.size()},
                 {"nodes", facts.job->nodes},
                 {"complete", facts.finished},
                 {"time_us", facts.finished ? microseconds(facts.time) : Json(nullptr)},
                 {"ideal_us", microseconds(facts.ideal)},
                 {"computing_us", microseconds(facts.computing)},
                 {"exposed_us", microseconds(facts.exposed)},
                 {"collectives", Json::array()}};
    for (const TracedCollectives& kind : facts.kinds)
        json["collectives"].push_back({{"kind", workload::name_of(kind.collective)},
                                       {"bytes", kind.bytes},
                                       {"ranks", kind.ranks},
                                       {"count", kind.count},
                                       {"total_us", microseconds(kind.total)},
                                       {"fastest_us", microseconds(kind.fastest)},
                                       {"slowest_us", microseconds(kind.slowest)},
                                       {"busbw_GBps", gigabytes(kind.bus_bandwidth)}});
    return json;
}

void add_traces(const Facts& facts, Json& json) {
    if (facts.traces.empty()) return;
    json["traces"] = Json::array();
    for (const TraceFacts& one : facts.traces) json["traces"].push_back(trace_json(one));
}

Json messages_json(const base::Histogram& latency) {
    const auto at = [&](uint64_t parts, uint64_t out_of) {
        return ns(static_cast<int64_t>(latency.percentile(parts, out_of)));
    };
    return {{"count", latency.count()},
            {"p50_ns", at(1, 2)},
            {"p99_ns", at(99, 100)},
            {"p999_ns", at(999, 1000)},
            {"max_ns", ns(static_cast<int64_t>(latency.max()))}};
}

Json hosts_json(const Facts& facts) {
    return {{"servers", facts.servers()},
            {"payload_bytes", facts.payload_bytes()},
            {"header_ratio", ratio(facts.header_permille())},
            {"wire_overhead_ratio", ratio(facts.wire_overhead_permille())},
            {"cpu_us", microseconds(facts.result.cpu)},
            {"cpu_cores_per_server", ratio(facts.busy_cores_permille())}};
}

Json scale_up_json(const Facts& facts) {
    if (!facts.setup.scale_up || !facts.result.scale_up) return nullptr;
    const sim::Setup& setup = *facts.setup.scale_up;
    const sim::Result& result = *facts.result.scale_up;
    return {{"fabric", setup.fabric_name},
            {"hosts", setup.graph.host_count()},
            {"switches", setup.graph.switch_count()},
            {"totals", totals_json(*facts.setup.scale_up, result.totals)},
            {"messages", messages_json(result.message_latency)}};
}

Json disagreements_json(const Facts& facts) {
    Json json = Json::array();
    for (const sim::Disagreement& at : facts.result.disagreements)
        json.push_back({{"cable", facts.names.cable(at.cable)}, {"what", at.what}});
    return json;
}

}  // namespace

Json run_json(const Facts& facts, const Verdict& verdict) {
    const topology::Graph& graph = facts.setup.graph;
    Json json = {{"scenario", facts.setup.name},
                 {"fabric", facts.setup.fabric_name},
                 {"hosts", graph.host_count()},
                 {"switches", graph.switch_count()},
                 {"seed", facts.setup.seed},
                 {"hash", fmt::format("{:016x}", facts.result.hash)},
                 {"time_ns", ns(facts.result.time)},
                 {"end", end_name(facts.result.end)},
                 {"end_reason", facts.result.stuck_reason},
                 {"engine", engine_json(facts.result.engine)},
                 {"totals", totals_json(facts.setup, facts.result.totals)},
                 {"verdict", verdict_json(facts, verdict)},
                 {"time", shares_json(facts)},
                 {"collectives", collectives_json(facts)},
                 {"messages", messages_json(facts.message_latency())},
                 {"host", hosts_json(facts)},
                 {"scale_up", scale_up_json(facts)},
                 {"flows", flows_json(facts)},
                 {"links", links_json(facts)},
                 {"pauses", pauses_json(facts)},
                 {"disagreements", disagreements_json(facts)}};
    add_tenants(facts, json);
    add_control(facts, json);
    add_trainings(facts, json);
    add_skipping(facts, json);
    add_servings(facts, json);
    add_traces(facts, json);
    return json;
}

std::string json_text(const Json& json) {
    return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string json_report(const Facts& facts, const Verdict& verdict) {
    return json_text(run_json(facts, verdict));
}

}  // namespace tulle::report
