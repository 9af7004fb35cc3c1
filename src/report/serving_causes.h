// What makes users of a model wait, and the proof: the same requests once more, without one
// suspect.
//
// Suspects are other requests, which take places and steps; too few places; collectives of layers;
// and KV caches on their way. What is left is the request's own computing.
#pragma once

#include <string>
#include <vector>

#include "report/facts.h"
#include "report/json_values.h"

namespace tulle::report {

// One sentence: the average wait for tokens, and what it is made of.
std::string serving_sentence(const ServingFacts& facts);
// Whether the run has no other work.
bool only_serves(const Facts& facts);

struct ServingSuspect {
    std::string name;
    std::string without;  // "one request at a time"
    sim::Setup setup;
};
std::vector<ServingSuspect> serving_suspects(const Facts& facts, const ServingFacts& serving);

struct ServingTrial {
    std::string job;
    std::string name;
    std::string without;
    bool ended = false;  // all requests were answered
    ServingFigures before;
    ServingFigures after;
};
ServingTrial serving_trial(const ServingSuspect& suspect, const ServingFacts& before,
                           const sim::Result& result);

std::string serving_trials_text(const std::vector<ServingTrial>& trials);
Json serving_trials_json(const std::vector<ServingTrial>& trials);

}  // namespace tulle::report
