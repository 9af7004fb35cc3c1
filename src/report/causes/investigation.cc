#include "report/causes/investigation.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/units.h"
#include "sim/cables.h"

namespace tulle::report::causes {
namespace {

using workload::Tier;

// The work itself is named as a cause if no other takes this large a part.
constexpr int64_t kWorthNaming = 5;
constexpr uint64_t kAtLimitPermille = 950;

// Work, distance and software cost time on the best of fabrics.
bool is_avoidable(CauseKind kind) {
    return kind < CauseKind::software;
}

}  // namespace

Investigation::Investigation(const Facts& facts)
    : facts_(facts),
      account_(facts.result.account),
      cables_(facts),
      crossings_(facts),
      links_(facts, crossings_),
      lost_(facts, cables_) {
    for (const sim::TimeShare& share : account_.shares) sort(share);
    explain_deadlock();
    follow_pauses();
    separate_needless();
    for (const auto& [place, trouble] : troubles_) distance_ += trouble.propagation;
    for (const ShareKind kind : {ShareKind::switching, ShareKind::software, ShareKind::start})
        distance_ += nowhere_[kind];
}

std::vector<Cause> Investigation::causes() {
    for (const auto& [place, trouble] : troubles_) explain_place(place, trouble);
    explain_inside();
    explain_loss();
    explain_senders();
    explain_ranks();
    explain_slow_ways();
    explain_rest();
    rank();
    return std::move(found_);
}

// What happens at many places weighs as much as all of them: a collective that meets other work at
// each of its adapters waits a little at each.
void Investigation::rank() {
    const auto is_alike = [](const Cause& a, const Cause& b) {
        return a.kind == b.kind && a.group == b.group;
    };
    std::vector<Duration> weights;
    for (const Cause& cause : found_) weights.push_back(weight(cause));
    std::vector<std::pair<Duration, Duration>> keys;  // of all that are alike, of its own
    for (size_t i = 0; i < found_.size(); ++i) {
        Duration all{};
        Duration time{};
        size_t places = 0;
        for (size_t j = 0; j < found_.size(); ++j) {
            if (!is_alike(found_[i], found_[j])) continue;
            all += weights[j];
            time += found_[j].time;
            ++places;
        }
        keys.push_back({all, weights[i]});
        found_[i].alike = time;
        found_[i].places = places;
    }
    std::vector<size_t> order(found_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return keys[i]; });
    std::vector<Cause> ranked;
    for (const size_t i : order) ranked.push_back(std::move(found_[i]));
    found_ = std::move(ranked);
}

void Investigation::sort(const sim::TimeShare& share) {
    const bool is_inside = share.tier == Tier::scale_up && facts_.setup.scale_up;
    auto& places = is_inside ? inside_ : troubles_;
    Trouble* at = share.place == fabric::kNowhere ? nullptr : &places[share.place];
    switch (share.kind) {
        case ShareKind::held: (at ? at->held : nowhere_[share.kind]) += share.time; break;
        case ShareKind::queue: (at ? at->queue : nowhere_[share.kind]) += share.time; break;
        case ShareKind::congestion:
            (at ? at->congestion : nowhere_[share.kind]) += share.time;
            break;
        case ShareKind::serialization:
            (at ? at->serialization : nowhere_[share.kind]) += share.time;
            break;
        case ShareKind::propagation:
            (at ? at->propagation : nowhere_[share.kind]) += share.time;
            break;
        case ShareKind::bus: (at ? at->bus : nowhere_[share.kind]) += share.time; break;
        case ShareKind::loss: (at ? at->retries : nowhere_[share.kind]) += share.time; break;
        case ShareKind::compute: computing_[share.rank] += share.time; break;
        case ShareKind::software:
            nowhere_[share.kind] += share.time;
            if (share.rank != sim::kNobody) software_[share.rank] += share.time;
            break;
        default: nowhere_[share.kind] += share.time;
    }
}

Duration Investigation::weight(const Cause& cause) const {
    const Duration whole = account_.end - Instant{};
    // Nothing saves more than what is above the limit.
    const Duration most = facts_.span - std::min(facts_.span, facts_.limit);
    const bool is_at_limit = facts_.permille(facts_.limit) >= kAtLimitPermille;
    if (cause.kind == CauseKind::own_bytes)
        return is_at_limit ? std::min(cause.time, whole / kWorthNaming)
                           : cause.time - std::min(cause.time, facts_.limit);
    Duration time = cause.time;
    // Data that an adapter sends anyway, and what ranks compute, is no reason to miss the limit.
    const bool is_own_work = cause.kind == CauseKind::shared_adapter ||
                             (cause.kind == CauseKind::compute && cause.place.empty());
    if (is_own_work && !is_at_limit)
        time = cause.avoidable + std::min(time - cause.avoidable, whole / kWorthNaming);
    return time + std::min(cause.avoidable, most) * 3 / 2;
}

void Investigation::add(CauseKind kind, const std::string& place, Duration time,
                        std::string sentence, Place at, std::optional<uint32_t> node,
                        std::optional<uint32_t> group, Duration inherent) {
    if (time.ps <= 0) return;
    const Duration avoidable = is_avoidable(kind) ? time - std::min(time, inherent) : Duration{};
    for (Cause& cause : found_)
        if (cause.kind == kind && cause.place == place) {
            cause.time += time;
            cause.avoidable += avoidable;
            return;
        }
    found_.push_back({kind, place, time, avoidable, std::move(sentence), at, node, group});
}

void Investigation::explain_inside() {
    if (!facts_.setup.scale_up) return;
    const sim::Setup& inside = *facts_.setup.scale_up;
    const auto usual = usual_cables(inside)[true];
    Duration contention{};
    Place fullest = fabric::kNowhere;
    for (const auto& [place, trouble] : inside_) {
        const uint32_t cable = place / 2;
        const base::Rate rate = sim::cable_rate(inside, cable);
        latency_ += trouble.propagation;
        Duration waits = trouble.contention() + trouble.bus + trouble.retries;
        if (rate < usual->rate) {
            const Duration slow = slow_part(trouble.serialization, rate, usual->rate);
            const std::string name = Names(inside).cable(cable);
            add(CauseKind::slow_cable, name, waits + slow,
                fmt::format("the cable {} inside a server runs at {}, others at {}", name,
                            base::to_string(rate), base::to_string(usual->rate)),
                fabric::kNowhere, cable);
            own_bytes_ += trouble.serialization - slow;
            continue;
        }
        own_bytes_ += trouble.serialization;
        if (errors_at(inside, place).any() || errors_at(inside, place ^ 1).any()) {
            const bool repairs = inside.fabric.link.bit_errors == fabric::BitErrors::retransmitted;
            const std::string name = Names(inside).cable(cable);
            add(repairs ? CauseKind::link_retries : CauseKind::lossy_cable, name, waits,
                fmt::format("the cable {} inside a server has bit errors, {}", name,
                            repairs ? "which the link repairs" : "and packets are lost"),
                fabric::kNowhere, cable);
            continue;
        }
        contention += waits;
        if (fullest == fabric::kNowhere || waits > inside_[fullest].contention()) fullest = place;
    }
    if (contention.ps == 0) return;
    add(CauseKind::oversubscribed, inside.fabric_name, contention,
        fmt::format("{} inside servers was full, mostly at {}", inside.fabric_name,
                    place_name(facts_, Tier::scale_up, fullest)));
}

void Investigation::explain_deadlock() {
    if (facts_.result.deadlock.empty()) return;
    Duration held{};
    for (auto& [place, trouble] : troubles_) {
        held += trouble.held + trouble.queue;
        trouble.held = trouble.queue = {};
    }
    const sim::DeadlockHop& first = facts_.result.deadlock.front();
    const topology::CableEnd end{first.node, first.port};
    add(CauseKind::deadlock, links_.name(end), held,
        fmt::format("{} ports wait for each other in a circle, {} among them",
                    facts_.result.deadlock.size(), links_.name(end)),
        links_.place_at(end));
}

void Investigation::explain_rest() {
    add(CauseKind::software, "", nowhere_[ShareKind::software],
        facts_.setup.host.staging.is_on
            ? "software at the ends: reaction, launch, adapter latency and copies by host memory"
            : "software at the ends: reaction, launch and adapter latency");
    add(CauseKind::latency, "", latency_ + nowhere_[ShareKind::switching],
        "the way itself: cables, FEC and switches");
    add(CauseKind::own_bytes, "", own_bytes_, "there was that much to send");
    add(CauseKind::unexplained, "", nowhere_[ShareKind::unexplained], "unexplained");
}

}  // namespace tulle::report::causes
