#include "sim/accountant.h"

#include <algorithm>
#include <tuple>

namespace tulle::sim {
namespace {

using cluster::MessageNote;
using fabric::ShareKind;
using workload::Task;
using workload::Tier;

class Accountant {
public:
    Accountant(const Setup& setup, const Ranks& ranks, const Network& network,
               const Network* scale_up)
        : setup_(setup), ranks_(ranks) {
        keep(Tier::scale_out, network.notes());
        if (scale_up != nullptr) keep(Tier::scale_up, scale_up->notes());
    }

    // Goes along the chain; `now_` is how far it is accounted for.
    void follow(const ChainLink& link) {
        if (!link.is_task) return follow_flow(link.id);
        const Task& task = setup_.program[link.id];
        const Instant ready = ranks_.ready_at(link.id);
        pass(now_.ps == 0 ? ShareKind::start : ShareKind::software, task.rank, ready);
        if (task.kind == Task::Kind::compute)
            return pass(ShareKind::compute, task.rank, ready + task.duration);
        const bool is_sum = task.kind == Task::Kind::contribute;
        follow_message(link, is_sum && link.arrives ? task.reduction : link.id, task.tier);
    }

    TimeAccount finish(std::vector<ChainLink> chain) {
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
        follow_message({number, false, false}, number, Tier::scale_out);
    }

    // From its posting to its end, as its packets tell.
    void follow_message(const ChainLink& link, uint32_t arrives_as, Tier tier) {
        const auto posted =
            notes_.find(std::tuple(tier, link.is_task, link.id, MessageNote::Kind::posted));
        const auto end = notes_.find(
            std::tuple(tier, link.is_task, arrives_as,
                       link.arrives ? MessageNote::Kind::arrived : MessageNote::Kind::completed));
        if (posted == notes_.end() || end == notes_.end()) return;
        const uint32_t rank = link.is_task ? setup_.program[link.id].rank : kNobody;
        pass(ShareKind::software, rank, posted->second.at);
        fabric::Shares shares = end->second.story;
        shares.subtract(posted->second.story);
        for (const fabric::Share& share : shares.all())
            add(share.kind, tier, share.place, kNobody, share.time);
        now_ += shares.total();
        // What is not in its story was not seen.
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

TimeAccount account_for(const Setup& setup, const std::vector<ChainLink>& chain, const Ranks& ranks,
                        const Network& network, const Network* scale_up) {
    Accountant accountant(setup, ranks, network, scale_up);
    for (const ChainLink& link : chain) accountant.follow(link);
    TimeAccount account = accountant.finish(chain);
    for (const auto& [loss, packets] : network.losses())
        account.losses.push_back({loss.place, loss.cause, packets});
    const auto crossings = network.crossings();
    account.crossings.assign(crossings.begin(), crossings.end());
    return account;
}

}  // namespace tulle::sim
