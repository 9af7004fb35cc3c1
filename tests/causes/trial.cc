#include "trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "drive/run.h"
#include "report/time_shares.h"
#include "report/verdict.h"

namespace tulle::causes {
namespace {

enum class Drawer : uint32_t { plant = 0xca00, scenario };

constexpr uint64_t kMostDraws = 200;
constexpr int64_t kLeastPercent = 20;         // that the run is shorter without the cause
constexpr int64_t kUnexplainedPermille = 10;  // at most

bool matters(const Case& drawn) {
    if (drawn.is_void) return false;
    const auto with = time_of(drawn.with);
    const auto without = time_of(drawn.without);
    return with && without && *without * 100 <= *with * (100 - kLeastPercent);
}

// Of the plants in turn, so that each has its share; drawn until it matters.
std::optional<Case> draw_case(uint64_t seed, const Plant& plant) {
    for (uint64_t i = 0; i < kMostDraws; ++i) {
        Draw draw(seed, Drawer::scenario, i);
        Case drawn = plant.draw(draw);
        if (matters(drawn)) return drawn;
    }
    return std::nullopt;
}

bool is_same(const sim::TimeShare& a, const sim::TimeShare& b) {
    return a.kind == b.kind && a.tier == b.tier && a.place == b.place && a.rank == b.rank &&
           a.time == b.time;
}

// What holds of every run that is explained.
std::string check_account(const sim::Setup& setup, const sim::TimeAccount& account) {
    const Duration whole = account.end - Instant{};
    if (account.total() != whole)
        return fmt::format("shares add up to {} ps of {} ps", account.total().ps, whole.ps);
    if (const auto time = time_of(setup); time != whole)
        return fmt::format("the chain ends at {} ps, the run at {} ps", whole.ps, time->ps);
    for (const sim::TimeShare& share : account.shares) {
        if (share.time.ps < 0)
            return fmt::format("a share of {} is {} ps", report::share_name(share.kind),
                               share.time.ps);
        if (share.kind == fabric::ShareKind::unexplained &&
            share.time * 1000 > whole * kUnexplainedPermille)
            return fmt::format("{} of {} ps are unexplained", share.time.ps, whole.ps);
    }
    const auto other = drive::run(setup, {.threads = 2, .explains = true});
    if (!std::ranges::equal(account.shares, other->account.shares, is_same))
        return "two threads give another account";
    return "";
}

std::string text_of(const Case& drawn, const char* name) {
    std::string text = name;
    for (const Answer& answer : drawn.answers)
        text += fmt::format("{} {} {}", &answer == &drawn.answers.front() ? ":" : " or",
                            report::cause_name(answer.kind), answer.place);
    return text;
}

std::string said_by(const report::Verdict& verdict, Duration whole) {
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(verdict.causes.size(), 3); ++i) {
        const report::Cause& cause = verdict.causes[i];
        text += fmt::format("{}{} {} ({} %)", i == 0 ? "" : ", ", report::cause_name(cause.kind),
                            cause.place, cause.time.ps * 100 / whole.ps);
    }
    return text + fmt::format("; {} permille of the limit", verdict.limit_permille);
}

std::string shares_of(const sim::Setup& setup) {
    const auto result = drive::run(setup, {.explains = true});
    return report::time_shares_text(report::Facts(setup, *result));
}

}  // namespace

Trial try_seed(uint64_t seed) {
    const std::vector<Plant> plants = all_plants();
    Trial trial;
    Draw draw(seed, Drawer::plant, 0);
    trial.plant = draw.between(0, static_cast<uint32_t>(plants.size() - 1));
    const auto drawn = draw_case(seed, plants[trial.plant]);
    if (!drawn) {
        trial.failure = fmt::format("no draw of '{}' matters", plants[trial.plant].name);
        return trial;
    }
    trial.planted = text_of(*drawn, plants[trial.plant].name);
    const auto result = drive::run(drawn->with, {.explains = true});
    trial.failure = check_account(drawn->with, result->account);
    const report::Facts facts(drawn->with, *result);
    const report::Verdict verdict = report::judge(facts);
    trial.said = said_by(verdict, result->account.end - Instant{});
    trial.shares = report::time_shares_text(facts);
    trial.shares_without = shares_of(drawn->without);
    trial.is_right =
        !verdict.causes.empty() && std::ranges::any_of(drawn->answers, [&](const Answer& answer) {
            const report::Cause& first = verdict.causes.front();
            return first.kind == answer.kind && first.place == answer.place;
        });
    return trial;
}

}  // namespace tulle::causes
