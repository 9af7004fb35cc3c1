#include "report/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tulle::report {
namespace {

uint64_t thousandths(int64_t part, int64_t whole) {
    if (whole <= 0 || part <= 0) return 0;
    return static_cast<uint64_t>(
        (base::uint128_t{static_cast<uint64_t>(part)} * 1000 + static_cast<uint64_t>(whole) / 2) /
        static_cast<uint64_t>(whole));
}

// All that one host sends or receives.
struct Load {
    uint64_t bytes = 0;
    Instant first = Instant::never();
    Duration beyond{std::numeric_limits<int64_t>::max()};  // least that is not time on this link

    void add(const sim::Flow& flow, uint64_t wire_bytes, Duration rest) {
        bytes += wire_bytes;
        first = std::min(first, flow.start);
        beyond = std::min(beyond, rest);
    }
};

}  // namespace

Facts::Facts(const sim::Setup& setup_of_run, const sim::Result& result_of_run)
    : setup(setup_of_run),
      result(result_of_run),
      names(setup_of_run),
      routes(setup_of_run.graph),
      ideal(setup_of_run, routes),
      collectives(collective_facts(setup_of_run, result_of_run)),
      trainings(training_facts(setup_of_run, result_of_run, collectives)),
      servings(serving_facts(setup_of_run, result_of_run)),
      traces(trace_facts(setup_of_run, result_of_run, collectives)) {
    for (const sim::Flow& flow : setup.flows) ideals_.push_back(ideal.of(flow));
    reckon_span();
    reckon_limit();
    reckon_program_limit();
}

void Facts::reckon_span() {
    if (!has_work()) {
        span = result.time - Instant{};
        return;
    }
    begin = Instant::never();
    Instant end{};
    bool all_ended = true;
    for (size_t i = 0; i < flows(); ++i) {
        begin = std::min(begin, setup.flows[i].start);
        if (result.flows[i].finished)
            end = std::max(end, end_of(i));
        else
            all_ended = false;
    }
    for (const CollectiveFacts& phase : collectives) {
        begin = std::min(begin, phase.begin);
        if (phase.finished)
            end = std::max(end, phase.begin + phase.time);
        else
            all_ended = false;
    }
    span = std::max(Duration{}, (all_ended ? end : std::max(end, result.time)) - begin);
}

void Facts::reckon_limit() {
    std::vector<Load> sent(names.hosts().size());
    std::vector<Load> taken(names.hosts().size());
    for (size_t i = 0; i < flows(); ++i) {
        const sim::Flow& flow = setup.flows[i];
        limit = std::max(limit, flow.start + ideals_[i] - begin);
        const auto path = ideal.path(flow);
        if (path.empty()) continue;
        const bool is_read = flow.operation == sim::Verb::read;
        const uint64_t bytes = flow_wire_bytes(setup, flow);
        const auto rest = [&](topology::CableEnd end) {
            return ideals_[i] - cable_rate(setup, names.ports().at(end).cable).time_for(bytes);
        };
        Load& out = sent[is_read ? flow.destination : flow.source];
        Load& in = taken[is_read ? flow.source : flow.destination];
        out.add(flow, bytes, rest(is_read ? path.back() : path.front()));
        in.add(flow, bytes, rest(is_read ? path.front() : path.back()));
    }
    for (size_t host = 0; host < names.hosts().size(); ++host) {
        uint64_t cables = 0;
        std::optional<base::Rate> rate;
        for (const auto& link : names.ports().of(names.hosts()[host]))
            if (link.is_cabled()) {
                ++cables;
                const base::Rate own = cable_rate(setup, link.cable);
                rate = rate ? std::max(*rate, own) : own;
            }
        for (const Load* load : {&sent[host], &taken[host]})
            if (load->bytes != 0 && rate)
                limit = std::max(limit, load->first - begin + rate->time_for(load->bytes / cables) +
                                            load->beyond);
    }
}

// Phases of a job run one after another, jobs in parallel.
void Facts::reckon_program_limit() {
    std::vector<Duration> by_job(setup.program.jobs.size());
    for (size_t i = 0; i < by_job.size(); ++i) by_job[i] = setup.program.jobs[i].start - begin;
    for (const CollectiveFacts& phase : collectives) {
        by_job.resize(std::max<size_t>(by_job.size(), phase.job + 1));
        // Most of a training step overlaps; its limit is computed below.
        if (phase.purpose == workload::Purpose::general) by_job[phase.job] += phase.limit;
    }
    for (size_t i = 0; i < by_job.size(); ++i)
        for (const TrainingFacts& training : trainings)
            if (training.job == setup.program.jobs[i].training.get()) by_job[i] += training.ideal;
    for (const ServingFacts& serving : servings) by_job[serving.number] += serving.ideal.time;
    for (size_t i = 0; i < by_job.size(); ++i)
        for (const TraceFacts& trace : traces)
            if (trace.job == setup.program.jobs[i].trace.get()) by_job[i] += trace.ideal;
    for (const Duration of_job : by_job) limit = std::max(limit, of_job);
}

size_t Facts::phases_finished() const {
    return static_cast<size_t>(
        std::count_if(collectives.begin(), collectives.end(),
                      [](const CollectiveFacts& phase) { return phase.finished; }));
}

bool Facts::is_complete() const {
    return succeeded_count() == flows() && phases_finished() == collectives.size();
}

bool Facts::succeeded(size_t flow) const {
    return result.flows[flow].finished && result.flows[flow].status == transport::Status::success;
}

size_t Facts::succeeded_count() const {
    size_t count = 0;
    for (size_t i = 0; i < flows(); ++i) count += succeeded(i) ? 1 : 0;
    return count;
}

uint64_t Facts::succeeded_bytes() const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < flows(); ++i) bytes += succeeded(i) ? setup.flows[i].bytes : 0;
    return bytes;
}

Instant Facts::end_of(size_t flow) const {
    return setup.flows[flow].start + result.flows[flow].completion;
}

uint64_t Facts::slowdown_permille(size_t flow) const {
    const Duration took = result.flows[flow].finished ? result.flows[flow].completion
                                                      : result.time - setup.flows[flow].start;
    return thousandths(took.ps, ideals_[flow].ps);
}

bool Facts::is_refused(size_t flow) const {
    const std::pair ends{setup.flows[flow].source, setup.flows[flow].destination};
    return std::ranges::binary_search(result.violations, ends, {}, [](const sim::Violation& one) {
        return std::pair{one.source, one.destination};
    });
}

uint64_t Facts::goodput_bps(size_t flow) const {
    const int64_t ps = result.flows[flow].completion.ps;
    if (!succeeded(flow) || ps <= 0) return 0;
    return static_cast<uint64_t>(base::uint128_t{setup.flows[flow].bytes} * 8 * 1'000'000'000'000u /
                                 static_cast<uint64_t>(ps));
}

uint64_t Facts::permille(Duration part) const {
    return std::min<uint64_t>(1000, thousandths(part.ps, (span - result.skipping.time).ps));
}

const sim::LinkResult* Facts::link_at(uint32_t node, uint16_t port) const {
    const auto place = std::lower_bound(
        result.links.begin(), result.links.end(), std::pair(node, port),
        [](const sim::LinkResult& link, const std::pair<uint32_t, uint16_t>& wanted) {
            return std::pair(link.node, link.port) < wanted;
        });
    if (place == result.links.end() || place->node != node || place->port != port) return nullptr;
    return &*place;
}

uint64_t Facts::drops() const {
    const auto& dropped = result.totals.dropped;
    return std::accumulate(dropped.begin(), dropped.end(), uint64_t{0});
}

base::Histogram Facts::message_latency() const {
    if (!result.message_latency.empty()) return result.message_latency;
    base::Histogram histogram;
    for (size_t i = 0; i < flows(); ++i)
        if (succeeded(i)) histogram.record(static_cast<uint64_t>(result.flows[i].completion.ps));
    return histogram;
}

uint64_t Facts::header_permille() const {
    sim::Flow message;
    base::uint128_t payload = 0;
    base::uint128_t wire = 0;
    const auto add = [&](const sim::Flow& flow, uint64_t times) {
        payload += base::uint128_t{flow.bytes} * times;
        wire += base::uint128_t{flow_wire_bytes(setup, flow)} * times;
    };
    for (const sim::Flow& flow : setup.flows) add(flow, 1);
    workload::visit_traffic(setup.program, [&](const workload::Traffic& traffic) {
        if (traffic.tier != workload::Tier::scale_out || traffic.bytes == 0) return;
        const bool is_read = traffic.kind == workload::Task::Kind::read;
        if (!is_read && traffic.kind != workload::Task::Kind::send) return;
        message.bytes = traffic.bytes / traffic.messages;
        message.operation = is_read ? sim::Verb::read : sim::Verb::write;
        add(message, traffic.messages);
    });
    if (payload == 0) return 0;
    return static_cast<uint64_t>(((wire - payload) * 1000 + payload / 2) / payload);
}

uint64_t Facts::payload_bytes() const {
    return result.payload_bytes != 0 ? result.payload_bytes : succeeded_bytes();
}

uint64_t Facts::wire_overhead_permille() const {
    uint64_t wire = 0;
    for (const sim::LinkResult& link : result.links)
        if (is_host(link.node)) wire += link.wire_bytes;
    const uint64_t payload = payload_bytes();
    if (payload == 0 || wire < payload) return 0;
    return thousandths(static_cast<int64_t>(wire - payload), static_cast<int64_t>(payload));
}

size_t Facts::servers() const {
    std::vector<uint32_t> servers;
    for (const uint32_t host : names.hosts()) servers.push_back(setup.graph.nodes[host].server);
    std::sort(servers.begin(), servers.end());
    const auto end = std::unique(servers.begin(), servers.end());
    return static_cast<size_t>(end - servers.begin());
}

uint64_t Facts::busy_cores_permille() const {
    const auto count = static_cast<int64_t>(std::max<size_t>(servers(), 1));
    return thousandths(result.cpu.ps / count, span.ps);
}

uint8_t Facts::lane_of(const sim::Flow& flow) const {
    const fabric::QosSettings& qos = setup.fabric.qos;
    switch (qos.trust) {
        case fabric::Trust::dscp: return qos.lane_of_dscp[flow.traffic_class >> 2];
        case fabric::Trust::service_level: return qos.lane_of_level[flow.service_level & 15];
    }
    return 0;
}

bool Facts::may_cross(const sim::Flow& flow, uint32_t node, uint16_t port) const {
    const bool is_read = flow.operation == sim::Verb::read;
    const uint32_t from = names.hosts()[is_read ? flow.destination : flow.source];
    const uint32_t to = names.hosts()[is_read ? flow.source : flow.destination];
    const uint32_t peer = names.ports().at({node, port}).peer.node;
    if (is_host(node)) return node == from;
    if (is_host(peer)) return peer == to;
    if (flow.path >= 0) {
        const auto& nodes = setup.paths[static_cast<size_t>(flow.path)].data;
        for (size_t i = 0; i + 1 < nodes.size(); ++i)
            if (nodes[i] == node && nodes[i + 1] == peer) return true;
        return false;
    }
    // Trees that are not shortest paths may use any link between switches.
    if (setup.fabric.route.kind != fabric::RouteKind::shortest) return true;
    return routes.may_cross(from, to, {node, port});
}

uint64_t dropped_by(const sim::LinkResult& link) {
    return std::accumulate(link.dropped.begin(), link.dropped.end(), uint64_t{0});
}

std::string ratio_text(uint64_t permille) {
    if (permille >= 10'000) return fmt::format("{}.{}", permille / 1000, permille % 1000 / 100);
    return fmt::format("{}.{:02}", permille / 1000, permille % 1000 / 10);
}

std::string percent_text(uint64_t permille) {
    return fmt::format("{}.{} %", permille / 10, permille % 10);
}

}  // namespace tulle::report
