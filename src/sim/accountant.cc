#include "sim/accountant.h"

#include <algorithm>
#include <tuple>

namespace tulle::sim {
namespace {

using cluster::MessageNote;
using fabric::ShareKind;
using workload::Tier;

class Accountant {
public:
    Accountant(const Setup& setup, const Ranks& ranks, const Network& network,
               const Network* scale_up)
        : setup_(setup), ranks_(ranks) {
        keep(Tier::scale_out, network.notes());
        if (scale_up != nullptr) keep(Tier::scale_up, scale_up->notes());
    }

    // Accounts for one link of the chain; `now_` is the end of what is accounted for. Its end is
    // seen by the rank `seen_by`, that of a flow by none.
    void follow(const ChainLink& link, uint32_t seen_by) {
        if (!link.is_task) return follow_flow(static_cast<uint32_t>(link.id));
        const ChainTask task = ranks_.task_of(link);
        pass(now_.ps == 0 ? ShareKind::start : ShareKind::software, task.rank, task.ready);
        if (task.computes)
            return pass(task.is_launch ? ShareKind::software : ShareKind::compute, task.rank,
                        task.ready + task.computing);
        follow_message(link, task, seen_by);
    }

    TimeAccount finish(std::vector<ChainLink> chain) {
        // A message that has arrived may still be copied into its GPU.
        if (!chain.empty() && chain.back().is_task && ranks_.last().at > now_)
            pass(ShareKind::software, ranks_.last().rank, ranks_.last().at);
        TimeAccount account;
        account.chain = std::move(chain);
        account.end = now_;
        for (const auto& [key, time] : shares_)
            if (time.ps != 0)
                account.shares.push_back(
                    {std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), time});
        std::ranges::stable_sort(account.shares, std::greater{}, &TimeShare::time);
        return account;
    }

private:
    using Key = std::tuple<ShareKind, Tier, fabric::Place, uint32_t>;

    void keep(Tier tier, std::vector<MessageNote> notes) {
        for (MessageNote& note : notes)
            notes_.emplace(std::tuple(tier, note.is_task, note.id, note.kind), std::move(note));
    }

    void follow_flow(uint32_t number) {
        pass(ShareKind::start, kNobody, setup_.flows[number].start);
        ChainTask message;
        message.rank = kNobody;
        message.id = number;
        follow_message({number, false, false}, message, kNobody);
    }

    // The end of a message. A switch may send copies of it to many hosts; each notes its arrival.
    // A long flow is several messages with one number, all of which end at once if it fails.
    auto end_of(const ChainLink& link, const ChainTask& task, uint32_t seen_by) const {
        const auto kind = link.arrives ? MessageNote::Kind::arrived : MessageNote::Kind::completed;
        const auto [first, last] =
            notes_.equal_range(std::tuple(task.tier, link.is_task, task.id, kind));
        const auto one = first == last ? notes_.end() : first;
        if (seen_by == kNobody || one == notes_.end() || std::next(one) == last) return one;
        const RankPlace& rank = setup_.ranks[seen_by];
        const uint32_t host = task.tier == Tier::scale_up ? rank.scale_up : rank.endpoint;
        const auto is_own = [&](const auto& note) { return note.second.endpoint == host; };
        const auto own = std::find_if(first, last, is_own);
        return own == last ? one : own;
    }

    // Accounts for a message from its posting to its end, from the notes on its packets.
    void follow_message(const ChainLink& link, const ChainTask& task, uint32_t seen_by) {
        const Tier tier = task.tier;
        const auto posted =
            notes_.find(std::tuple(tier, link.is_task, task.id, MessageNote::Kind::posted));
        const auto end = end_of(link, task, seen_by);
        if (posted == notes_.end() || end == notes_.end()) return;
        pass(ShareKind::software, task.rank, posted->second.at);
        fabric::Shares shares = end->second.story;
        shares.subtract(posted->second.story);
        for (const fabric::Share& share : shares.all())
            add(share.kind, tier, share.place, kNobody, share.time);
        now_ += shares.total();
        // The rest of the time has no notes.
        pass(ShareKind::unexplained, kNobody, end->second.at);
    }

    void pass(ShareKind kind, uint32_t rank, Instant until) {
        add(kind, Tier::scale_out, fabric::kNowhere, rank, until - now_);
        now_ = until;
    }

    void add(ShareKind kind, Tier tier, fabric::Place place, uint32_t rank, Duration time) {
        shares_[{kind, tier, place, rank}] += time;
    }

    const Setup& setup_;
    const Ranks& ranks_;
    std::multimap<std::tuple<Tier, bool, uint32_t, MessageNote::Kind>, MessageNote> notes_;
    std::map<Key, Duration> shares_;
    Instant now_{};
};

}  // namespace

namespace {

FirstRun::OfNetwork known_of(const Setup& setup, const Result& result) {
    FirstRun::OfNetwork known{.follows_few = true, .was_held = {}, .has_marked = {}};
    known.was_held.resize(2 * setup.graph.cables.size());
    known.has_marked.resize(setup.graph.nodes.size());
    for (const LinkResult& link : result.links) {
        if (link.marked != 0) known.has_marked[link.node] = true;
        const bool is_a =
            setup.graph.cables[link.cable].a == topology::CableEnd{link.node, link.port};
        known.was_held[fabric::place_of(link.cable, is_a)] = link.was_held;
    }
    return known;
}

}  // namespace

FirstRun FirstRun::of(const Setup& setup, const Result& result) {
    FirstRun first{.chain = result.account.chain, .networks = {known_of(setup, result)}};
    if (setup.scale_up && result.scale_up)
        first.networks[1] = known_of(*setup.scale_up, *result.scale_up);
    return first;
}

TimeAccount account_for(const Setup& setup, const std::vector<ChainLink>& chain, const Ranks& ranks,
                        const Network& network, const Network* scale_up) {
    Accountant accountant(setup, ranks, network, scale_up);
    const auto seen_by = [&](size_t link) {
        if (!chain[link].is_task) return kNobody;
        if (link + 1 == chain.size()) return ranks.last().rank;
        return ranks.task_of(chain[link + 1]).rank;
    };
    for (size_t link = 0; link < chain.size(); ++link)
        accountant.follow(chain[link], seen_by(link));
    TimeAccount account = accountant.finish(chain);
    for (const auto& [loss, packets] : network.losses())
        account.losses.push_back({loss.place, loss.cause, packets});
    const auto crossings = network.crossings();
    account.crossings.assign(crossings.begin(), crossings.end());
    return account;
}

}  // namespace tulle::sim
