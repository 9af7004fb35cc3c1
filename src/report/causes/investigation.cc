#include "report/causes/investigation.h"

#include <fmt/format.h>

#include <algorithm>

namespace tulle::report::causes {
namespace {

using workload::Tier;

// At the limit, what the work itself takes is named if nothing else takes so large a part.
constexpr int64_t kWorthNaming = 5;
constexpr uint64_t kAtLimitPermille = 950;

// Work, distance and software are there on the best of fabrics.
bool is_avoidable(CauseKind kind) {
    return kind < CauseKind::software;
}

}  // namespace

Investigation::Investigation(const Facts& facts)
    : facts_(facts), account_(facts.result.account), usual_(usual_cables(facts.setup)) {
    for (const sim::TimeShare& share : account_.shares) sort(share);
    for (const fabric::CrossingRecord& crossing : account_.crossings)
        crossings_[crossing.place].insert({crossing.source, crossing.destination});
    follow_pauses();
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
    explain_rest();
    std::stable_sort(found_.begin(), found_.end(),
                     [&](const Cause& a, const Cause& b) { return weight(a) > weight(b); });
    return std::move(found_);
}

void Investigation::sort(const sim::TimeShare& share) {
    if (share.tier == Tier::scale_up && share.place != fabric::kNowhere) {
        inside_[share.kind] += share.time;
        return;
    }
    Trouble* at = share.place == fabric::kNowhere ? nullptr : &troubles_[share.place];
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
    if (cause.kind != CauseKind::own_bytes) return cause.time + cause.avoidable * 3 / 2;
    if (facts_.permille(facts_.limit) >= kAtLimitPermille)
        return std::min(cause.time, whole / kWorthNaming);
    return cause.time - std::min(cause.time, facts_.limit);
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
    const std::string& name = facts_.setup.scale_up->fabric_name;
    Duration contention{};
    for (const auto& [kind, time] : inside_) {
        if (fabric::is_wait(kind))
            contention += time;
        else if (kind == ShareKind::propagation)
            latency_ += time;
        else
            own_bytes_ += time;
    }
    add(CauseKind::oversubscribed, name, contention,
        fmt::format("{} inside servers was full", name));
}

void Investigation::explain_rest() {
    add(CauseKind::software, "", nowhere_[ShareKind::software],
        "software at the ends: reaction, launch and adapter latency");
    add(CauseKind::latency, "", latency_ + nowhere_[ShareKind::switching],
        "the way itself: cables, FEC and switches");
    add(CauseKind::own_bytes, "", own_bytes_, "there was that much to send");
    add(CauseKind::unexplained, "", nowhere_[ShareKind::unexplained], "unexplained");
}

}  // namespace tulle::report::causes
