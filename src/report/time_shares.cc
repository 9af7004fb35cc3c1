#include "report/time_shares.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/table.h"

namespace tulle::report {
namespace {

using fabric::ShareKind;

constexpr size_t kMostRows = 12;

// For these the sum over all links is more useful than each link.
bool is_everywhere(ShareKind kind) {
    return kind == ShareKind::serialization || kind == ShareKind::propagation ||
           kind == ShareKind::switching;
}

}  // namespace

std::string share_place(const Facts& facts, const sim::TimeShare& share) {
    if (share.place != fabric::kNowhere && !is_everywhere(share.kind))
        return place_name(facts, share.tier, share.place);
    if (share.rank != sim::kNobody && share.kind == ShareKind::compute)
        return fmt::format("rank {}", share.rank);
    return "";
}

const char* share_name(ShareKind kind) {
    switch (kind) {
        case ShareKind::start: return "start";
        case ShareKind::compute: return "compute";
        case ShareKind::software: return "software";
        case ShareKind::serialization: return "serialization";
        case ShareKind::propagation: return "propagation";
        case ShareKind::switching: return "switching";
        case ShareKind::queue: return "queue";
        case ShareKind::held: return "held";
        case ShareKind::congestion: return "congestion_control";
        case ShareKind::rate_limit: return "rate_limit";
        case ShareKind::window: return "window";
        case ShareKind::bus: return "host_bus";
        case ShareKind::loss: return "loss";
        case ShareKind::not_ready: return "receiver_not_ready";
        case ShareKind::unexplained: return "unexplained";
    }
    return "";
}

std::string share_text(const ShareRow& row) {
    const std::string at = row.where.empty() ? "" : " " + row.where;
    switch (row.kind) {
        case ShareKind::start: return "before it began";
        case ShareKind::compute: return "computing" + (at.empty() ? "" : "," + at);
        case ShareKind::software: return "software at the ends";
        case ShareKind::serialization: return "its own bits on the lines";
        case ShareKind::propagation: return "cables and FEC";
        case ShareKind::switching: return "pipelines of switches";
        case ShareKind::queue: return "behind other packets" + (at.empty() ? "" : " at" + at);
        case ShareKind::held: return "held by a full buffer" + (at.empty() ? "" : " for" + at);
        case ShareKind::congestion:
            return "slowed by congestion control" + (at.empty() ? "" : ", congested at" + at);
        case ShareKind::rate_limit: return "the sender's rate limit";
        case ShareKind::window: return "the window was full";
        case ShareKind::bus: return "between memory and adapter" + (at.empty() ? "" : " of" + at);
        case ShareKind::loss: return "loss: noticing and sending again" + (at.empty() ? "" : at);
        case ShareKind::not_ready: return "the receiver had no buffer ready";
        case ShareKind::unexplained: return "unexplained";
    }
    return "";
}

topology::CableEnd end_at(const sim::Setup& setup, fabric::Place place) {
    const topology::Cable& cable = setup.graph.cables[place / 2];
    return place % 2 == 0 ? cable.a : cable.b;
}

std::string place_name(const Facts& facts, workload::Tier tier, fabric::Place place) {
    const bool is_inside = tier == workload::Tier::scale_up && facts.setup.scale_up;
    const sim::Setup& setup = is_inside ? *facts.setup.scale_up : facts.setup;
    const topology::CableEnd end = end_at(setup, place);
    if (setup.graph.nodes[end.node].is_host()) return setup.graph.nodes[end.node].name;
    return is_inside ? Names(setup).link(end.node, end.port) : facts.names.link(end.node, end.port);
}

std::vector<ShareRow> share_rows(const Facts& facts) {
    std::vector<ShareRow> rows;
    for (const sim::TimeShare& share : facts.result.account.shares) {
        const std::string where = share_place(facts, share);
        const auto same = std::find_if(rows.begin(), rows.end(), [&](const ShareRow& row) {
            return row.kind == share.kind && row.where == where;
        });
        if (same != rows.end())
            same->time += share.time;
        else
            rows.push_back({share.kind, where, share.time});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const ShareRow& a, const ShareRow& b) { return a.time > b.time; });
    return rows;
}

std::string time_shares_text(const Facts& facts) {
    const std::vector<ShareRow> rows = share_rows(facts);
    if (rows.empty()) return "";
    const Duration whole = facts.result.account.end - Instant{};
    Table table;
    Duration rest{};
    for (size_t i = 0; i < rows.size(); ++i) {
        const uint64_t permille =
            static_cast<uint64_t>(rows[i].time.ps) * 1000 / static_cast<uint64_t>(whole.ps);
        if (i >= kMostRows || permille == 0) {
            rest += rows[i].time;
            continue;
        }
        table.row({share_text(rows[i]), base::to_string(rows[i].time), percent_text(permille)});
    }
    if (rest.ps != 0) table.row({"all else", base::to_string(rest), ""});
    return fmt::format("\nWhere the {} went, along the last chain of waits\n",
                       base::to_string(whole)) +
           table.text();
}

}  // namespace tulle::report
