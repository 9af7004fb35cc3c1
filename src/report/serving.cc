#include "report/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/int128.h"
#include "base/units.h"
#include "report/compare/rows.h"
#include "report/facts.h"
#include "report/table.h"

namespace tulle::report {
namespace {

using base::Duration;
using base::Instant;
using base::uint128_t;
using workload::Program;

uint64_t over(uint64_t count, Duration time, uint64_t times) {
    if (time.ps <= 0) return 0;
    return static_cast<uint64_t>(uint128_t{count} * times * 1'000'000'000'000u /
                                 static_cast<uint64_t>(time.ps));
}

bool keeps_limits(const workload::ServingOptions& options, const workload::Request& request,
                  const workload::RequestOutcome& outcome) {
    if (!outcome.finished) return false;
    const Duration first = outcome.first_token - outcome.arrival;
    if (options.first_token_limit && first > *options.first_token_limit) return false;
    if (!options.token_limit || request.output < 2) return true;
    const Duration answer = outcome.last_token - outcome.first_token;
    return answer <= *options.token_limit * (int64_t{request.output} - 1);
}

ServingFigures figures_of(const workload::ServingJob& job, Instant start,
                          const workload::ServingOutcome& outcome) {
    ServingFigures figures;
    std::vector<Duration> first;
    uint64_t tokens = 0;
    for (size_t i = 0; i < outcome.requests.size(); ++i) {
        const workload::RequestOutcome& one = outcome.requests[i];
        if (!one.finished) continue;
        ++figures.requests;
        tokens += job.requests[i].output;
        first.push_back(one.first_token - one.arrival);
        figures.time = std::max(figures.time, one.last_token - start);
        figures.good_requests += keeps_limits(job.options, job.requests[i], one) ? 1 : 0;
    }
    if (first.empty()) return figures;
    std::ranges::sort(first);
    figures.first_token_p50 = percentile(first, 50);
    figures.first_token_p99 = percentile(first, 99);
    figures.first_token_mean = std::accumulate(first.begin(), first.end(), Duration{}) /
                               static_cast<int64_t>(first.size());
    if (!outcome.gaps.empty()) {
        figures.between_p50 = {static_cast<int64_t>(percentile(outcome.gaps, 50))};
        figures.between_p99 = {static_cast<int64_t>(percentile(outcome.gaps, 99))};
        figures.between_mean = {static_cast<int64_t>(
            std::accumulate(outcome.gaps.begin(), outcome.gaps.end(), uint64_t{}) /
            outcome.gaps.size())};
    }
    figures.tokens_per_second = over(tokens, figures.time, 1);
    figures.requests_per_1000s = over(figures.requests, figures.time, 1000);
    figures.goodput_per_1000s = over(figures.good_requests, figures.time, 1000);
    figures.steps = outcome.steps;
    if (outcome.steps != 0) figures.batch_permille = outcome.sequences * 1000 / outcome.steps;
    return figures;
}

std::string limits_text(const workload::ServingOptions& options) {
    std::string text;
    if (options.first_token_limit)
        text += fmt::format("first token within {}", base::to_string(*options.first_token_limit));
    if (options.token_limit)
        text += fmt::format("{}{} between tokens", text.empty() ? "" : ", ",
                            base::to_string(*options.token_limit));
    return text.empty() ? "no limits" : text;
}

std::string served_text(const ServingFacts& facts) {
    std::string text = fmt::format("\nServing: {}\n", serving_shape_text(*facts.job));
    if (!facts.finished)
        text += fmt::format("  {} of {} requests were answered\n", facts.found.requests,
                            facts.job->requests.size());
    if (facts.found.requests == 0) return text;
    Table table;
    table.row({"", "found", "infinitely fast network"});
    const auto row = [&](const std::string& what, auto value) {
        table.row({what, value(facts.found), value(facts.ideal)});
    };
    const auto time = [](Duration ServingFigures::*which) {
        return [which](const ServingFigures& figures) { return short_time(figures.*which); };
    };
    row("time to first token, p50", time(&ServingFigures::first_token_p50));
    row("time to first token, p99", time(&ServingFigures::first_token_p99));
    row("time between tokens, p50", time(&ServingFigures::between_p50));
    row("time between tokens, p99", time(&ServingFigures::between_p99));
    row("tokens/s", [](const auto& one) { return std::to_string(one.tokens_per_second); });
    row("requests/s", [](const auto& one) { return thousandths_text(one.requests_per_1000s); });
    row("goodput, requests/s",
        [](const auto& one) { return thousandths_text(one.goodput_per_1000s); });
    row("answers in a step", [](const auto& one) { return ratio_text(one.batch_permille); });
    return text + table.text() +
           fmt::format("  goodput: {} of {} requests ({})\n", facts.found.good_requests,
                       facts.job->requests.size(), limits_text(facts.job->options));
}

}  // namespace

std::string thousandths_text(uint64_t thousandths) {
    return fmt::format("{}.{:02}", thousandths / 1000, thousandths / 10 % 100);
}

std::string serving_shape_text(const workload::ServingJob& job) {
    const auto instances = [&](const std::vector<uint32_t>& which) {
        const workload::ServingInstance& one = job.instances[which.front()];
        std::string text =
            fmt::format("{} x {} GPUs, tp {}", which.size(), one.size(), one.costs.tensor);
        if (one.costs.expert > 1) text += fmt::format(", ep {}", one.costs.expert);
        return text;
    };
    std::string text = fmt::format("{} on {}, {} requests; ", job.options.model.name,
                                   job.options.engine.gpu.name, job.requests.size());
    if (!job.is_separate()) return text + instances(job.of_answers);
    return text + fmt::format("prefill {}; decode {}; KV cache {}", instances(job.of_prompts),
                              instances(job.of_answers),
                              job.options.kv_by_layer ? "layer by layer" : "whole");
}

Program requests_apart(const Program& program, uint32_t number, Duration apart) {
    auto job = std::make_shared<workload::ServingJob>(*program.jobs[number].serving);
    for (size_t i = 0; i < job->requests.size(); ++i)
        job->requests[i].arrival = apart * static_cast<int64_t>(i);
    Program other;
    other.phases = program.phases;
    other.jobs = program.jobs;
    other.generated = program.generated;
    for (uint32_t i = 0; i < program.size(); ++i) {
        workload::Task task = program[i];
        const uint32_t request = i - job->first_arrival;
        if (i >= job->first_arrival && request < job->requests.size())
            task.duration = job->requests[request].arrival;
        other.add(task, program.needs(i));
    }
    other.jobs[number].serving = std::move(job);
    return other;
}

std::vector<ServingFacts> serving_facts(const sim::Setup& setup, const sim::Result& result) {
    std::vector<ServingFacts> all;
    for (uint32_t number = 0; number < setup.program.jobs.size(); ++number) {
        const workload::Job& job = setup.program.jobs[number];
        if (!job.serving || all.size() >= result.serving.size()) continue;
        ServingFacts facts;
        facts.name = job.name;
        facts.number = number;
        facts.job = job.serving.get();
        facts.found = figures_of(*facts.job, job.start, result.serving[all.size()]);
        facts.ideal =
            figures_of(*facts.job, job.start, workload::serve_alone(setup.program, number));
        const Program one_by_one = requests_apart(setup.program, number, facts.found.time);
        facts.apart = figures_of(*one_by_one.jobs[number].serving, job.start,
                                 workload::serve_alone(one_by_one, number));
        facts.finished = facts.found.requests == facts.job->requests.size();
        all.push_back(std::move(facts));
    }
    return all;
}

std::string serving_text(const std::vector<ServingFacts>& facts) {
    std::string text;
    for (const ServingFacts& one : facts) text += served_text(one);
    return text;
}

}  // namespace tulle::report
