// Figures of serving a model: how long users wait, and how much is served.
//
// Time to the first token counts from the arrival of a request. Time between tokens is every gap in
// every answer, including the one after the first token. Requests within the limits of the job are
// goodput. All figures exist twice: as simulated, and on an infinitely fast network.
#pragma once

#include <string>
#include <vector>

#include "sim/result.h"
#include "sim/setup.h"
#include "workload/serving/run.h"

namespace tulle::report {

struct ServingFigures {
    uint64_t requests = 0;  // answered
    base::Duration first_token_p50{};
    base::Duration first_token_p99{};
    base::Duration between_p50{};
    base::Duration between_p99{};
    base::Duration first_token_mean{};
    base::Duration between_mean{};
    uint64_t tokens_per_second = 0;
    uint64_t requests_per_1000s = 0;
    uint64_t good_requests = 0;      // within the limits
    uint64_t goodput_per_1000s = 0;  // such requests
    uint64_t steps = 0;
    uint64_t batch_permille = 0;  // average number of answers in a step
    base::Duration time{};        // to the last token
};

struct ServingFacts {
    std::string name;  // of the job
    uint32_t number = 0;
    const workload::ServingJob* job = nullptr;
    bool finished = false;
    ServingFigures found;
    ServingFigures ideal;
    ServingFigures apart;  // as ideal, with one request at a time
};

// The same program with requests that arrive one after the other, `apart` from each other.
workload::Program requests_apart(const workload::Program& program, uint32_t job,
                                 base::Duration apart);

std::vector<ServingFacts> serving_facts(const sim::Setup& setup, const sim::Result& result);
std::string serving_shape_text(const workload::ServingJob& job);
std::string serving_text(const std::vector<ServingFacts>& facts);
// 1234 thousandths: "1.23".
std::string thousandths_text(uint64_t thousandths);

}  // namespace tulle::report
