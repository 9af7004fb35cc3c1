// "Which should I choose?": findings of the comparison first, then opinion, labelled as such.
#pragma once

#include <string>
#include <vector>

#include "report/compare/comparison.h"

namespace tulle::report {

enum class Topic : uint8_t { speed, budget, scale, skills, workload };

struct Advice {
    const char* id = "";
    Topic topic = Topic::speed;
    bool is_opinion = false;
    std::string sentence;
    std::vector<std::string> evidence;  // fields of the JSON; empty for opinion
};

// For the runs of one value.
std::vector<Advice> advice_on(const Comparison& comparison, const std::string& value);

const char* topic_name(Topic topic);

}  // namespace tulle::report
