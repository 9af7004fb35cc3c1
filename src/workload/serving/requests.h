// Requests to a model that is served: their arrival times, and the lengths of prompts and answers.
//
// Random requests arrive as a Poisson process: the times between them are exponentially distributed
// and independent. The logarithm is computed in integers, so that every compiler gives the same
// times.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"

namespace tulle::workload {

struct Request {
    base::Duration arrival{};  // after the start of the job
    uint32_t prompt = 1;       // tokens
    uint32_t output = 1;       // tokens, including the first
};

struct TokenRange {
    uint32_t least = 1;
    uint32_t most = 1;
};

struct RequestPattern {
    uint64_t count = 0;
    base::Duration between{};  // on average
    TokenRange prompt;
    TokenRange output;
};

std::vector<Request> draw_requests(const RequestPattern& pattern, base::RandomStream& random);

// Each line has three words: arrival time (such as 1.5s), tokens of the prompt, tokens of the
// answer. Lines are in order of time.
base::Result<std::vector<Request>> read_requests(std::string_view text, std::string_view file);

// -ln(x / 2^64) in units of 2^-32; x is not 0.
uint64_t negative_logarithm(uint64_t x);

}  // namespace tulle::workload
