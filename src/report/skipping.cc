#include "report/skipping.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/int128.h"
#include "base/units.h"
#include "report/findings/findings.h"

namespace tulle::report {
namespace {

constexpr int64_t kMillion = 1'000'000;

// In millionths.
int64_t millionths(Duration part, Duration whole) {
    if (whole.ps <= 0) return 0;
    const auto size = static_cast<uint64_t>(part.ps < 0 ? -part.ps : part.ps);
    const auto found =
        static_cast<int64_t>(base::uint128_t{size} * kMillion / static_cast<uint64_t>(whole.ps));
    return part.ps < 0 ? -found : found;
}

std::string fine_percent_text(int64_t millionths) {
    const int64_t size = millionths < 0 ? -millionths : millionths;
    return fmt::format("{}{}.{:03} %", millionths < 0 ? "-" : "", size / 10'000,
                       size % 10'000 / 10);
}

// Of which exchanges and messages are simulated once.
bool repeats_training(const Facts& facts) {
    return std::ranges::any_of(facts.setup.program.jobs,
                               [](const workload::Job& job) { return job.training != nullptr; });
}

std::string stand_ins_text(const sim::StandIns& found, const std::string& doubt) {
    std::string text;
    if (found.rails > 1) text = fmt::format("one rail stands for {}", found.rails);
    if (found.packets > 1)
        text += fmt::format("{}inside servers {} packets are one", text.empty() ? "" : ", ",
                            found.packets);
    return text.empty() ? "" : fmt::format("          {}, estimated error {}\n", text, doubt);
}

}  // namespace

uint64_t skipped_permille(const Facts& facts) {
    return static_cast<uint64_t>(millionths(facts.result.skipping.time, facts.span) / 1000);
}

std::string skipping_text(const Facts& facts) {
    if (!facts.setup.skips) return "";
    const sim::Skipping& skipping = facts.result.skipping;
    const std::string doubt = fine_percent_text(millionths(skipping.doubt, facts.span));
    std::string text;
    if (skipping.jumps != 0)
        text = fmt::format(
            "Skipped   {} of the time in {}, estimated error {}; links and packets are of the "
            "rest\n",
            percent_text(skipped_permille(facts)), counted(skipping.jumps, "jump"), doubt);
    else if (repeats_training(facts))
        text = fmt::format("Skipped   nothing: {}, estimated error {}\n", skipping.why_not, doubt);
    else
        text = fmt::format("Skipped   nothing: {}\n", skipping.why_not);
    text += stand_ins_text(facts.setup.stand_ins, doubt);
    for (const workload::Job& job : facts.setup.program.jobs) {
        if (!job.training) continue;
        const auto in_program = std::ranges::count_if(job.training->stands_for,
                                                      [](uint32_t ranks) { return ranks != 0; });
        const size_t ranks = job.training->ranks.size();
        if (static_cast<size_t>(in_program) < ranks)
            text += fmt::format("          {} of {} GPUs are simulated, the others find the same\n",
                                in_program, ranks);
    }
    if (skipping.expected.ps > 0)
        text += fmt::format(
            "          checked: {} in full took {} longer than estimated\n",
            base::to_string(skipping.taken),
            fine_percent_text(millionths(skipping.taken - skipping.expected, skipping.expected)));
    return text;
}

void add_skipping(const Facts& facts, Json& json) {
    if (!facts.setup.skips) return;
    const sim::Skipping& skipping = facts.result.skipping;
    const auto ratio_of = [](int64_t millionths) {
        return static_cast<double>(millionths) / static_cast<double>(kMillion);
    };
    Json& out = json["skipping"];
    out = {{"jumps", skipping.jumps},
           {"messages", skipping.messages},
           {"time_us", microseconds(skipping.time)},
           {"time_ratio", ratio_of(millionths(skipping.time, facts.span))},
           {"error_ratio", ratio_of(millionths(skipping.doubt, facts.span))},
           {"why_not", skipping.why_not}};
    const sim::StandIns& stand_ins = facts.setup.stand_ins;
    if (stand_ins.packets > 1) out["packets_joined"] = stand_ins.packets;
    if (stand_ins.rails > 1) out["rails_joined"] = stand_ins.rails;
    if (!facts.setup.checks_skipping) return;
    out["check"] = nullptr;
    if (skipping.expected.ps > 0)
        out["check"] = {{"expected_us", microseconds(skipping.expected)},
                        {"taken_us", microseconds(skipping.taken)},
                        {"difference_ratio", ratio_of(millionths(skipping.taken - skipping.expected,
                                                                 skipping.expected))}};
}

}  // namespace tulle::report
