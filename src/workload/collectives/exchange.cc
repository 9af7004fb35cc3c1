#include "workload/collectives/exchange.h"

#include <algorithm>

#include "base/check.h"

namespace tulle::workload {
namespace {

constexpr uint32_t kServer = 0xff'ffff;  // stands for the receivers of a multicast

// The two ends determine the network. A sender with several parallel messages to one receiver uses
// different channels for them.
uint64_t connection(uint32_t from, uint32_t to, uint16_t channel) {
    TULLE_CHECK(from < kServer && to <= kServer);
    return uint64_t{from} << 40 | uint64_t{to} << 16 | channel;
}

}  // namespace

Exchange::Exchange(JobBuilder& job, const Chunking& chunking, const Software& software)
    : job_(job),
      chunking_(chunking),
      software_(software),
      begin_(job.program().size()),
      holdings_(job.placement().size()) {}

uint32_t Exchange::copy(uint32_t from, uint32_t to, Range range, uint16_t channel, uint32_t after) {
    const uint32_t task = send(Content::Effect::copy, from, to, range, channel, after);
    if (task != kNoTask) holdings_[to].replace(range, task, lists_);
    return task;
}

uint32_t Exchange::reduce(uint32_t from, uint32_t to, Range range, uint16_t channel,
                          uint32_t after) {
    const uint32_t task = send(Content::Effect::reduce, from, to, range, channel, after);
    if (task != kNoTask) holdings_[to].extend(range, task, lists_);
    return task;
}

uint32_t Exchange::send(Content::Effect effect, uint32_t from, uint32_t to, Range range,
                        uint16_t channel, uint32_t after) {
    Transfer transfer;
    transfer.effect = effect;
    transfer.from = from;
    transfer.to = to;
    transfer.range = range;
    transfer.channel = channel;
    transfer.after = after;
    return add(transfer);
}

// The owner contributes last. The first contribution names the message that the owner receives, so
// the owner's own task needs another name.
void Exchange::reduce_in_switch(uint32_t owner, Range range, uint16_t channel) {
    const uint32_t server = placement().server_of(owner);
    const uint32_t first = placement().first_of(server);
    const uint32_t count = placement().count_of(server);
    if (range.is_empty() || count < 2) return;
    Transfer transfer;
    transfer.kind = Task::Kind::contribute;
    transfer.effect = Content::Effect::reduce;
    transfer.to = owner;
    transfer.range = range;
    transfer.channel = channel;
    transfer.reduction = job_.program().size();
    for (uint32_t i = 1; i <= count; ++i) {
        transfer.from = first + (owner - first + i) % count;
        add(transfer);
    }
    holdings_[owner].replace(range, transfer.reduction, lists_);
}

// The first contribution names the message that all receive.
void Exchange::sum_in_network(std::span<const uint32_t> members, Range range, uint16_t channel) {
    if (range.is_empty() || members.size() < 2) return;
    Transfer transfer;
    transfer.kind = Task::Kind::sum_for_all;
    transfer.effect = Content::Effect::reduce;
    transfer.to = members.front();
    transfer.range = range;
    transfer.channel = channel;
    transfer.reduction = job_.program().size();
    for (const uint32_t member : members) {
        transfer.from = member;
        add(transfer);
    }
    for (const uint32_t member : members)
        holdings_[member].replace(range, transfer.reduction, lists_);
}

void Exchange::multicast(uint32_t owner, Range range, uint16_t channel) {
    const uint32_t server = placement().server_of(owner);
    if (range.is_empty() || placement().count_of(server) < 2) return;
    Transfer transfer;
    transfer.kind = Task::Kind::multicast;
    transfer.from = owner;
    transfer.to = kServer;
    transfer.range = range;
    transfer.channel = channel;
    const uint32_t task = add(transfer);
    for (uint32_t i = 0; i < placement().count_of(server); ++i)
        holdings_[placement().first_of(server) + i].replace(range, task, lists_);
}

uint32_t Exchange::ready_after(uint32_t member, Range range) {
    needs_.clear();
    holdings_[member].collect(range, lists_, needs_);
    return needs_.empty() ? 0 : *std::max_element(needs_.begin(), needs_.end());
}

uint32_t Exchange::window_of(const Transfer& transfer) const {
    uint32_t window = 0;
    if (transfer.kind == Task::Kind::contribute) window = chunking_.sum_window;
    if (transfer.kind == Task::Kind::sum_for_all) window = chunking_.tree_window;
    if (transfer.kind == Task::Kind::send &&
        placement().tier(transfer.from, transfer.to) == Tier::scale_up)
        window = chunking_.inside_window;
    return window != 0 ? window : chunking_.window;
}

uint32_t Exchange::task_in_the_way(const Transfer& transfer) const {
    const auto found = last_on_.find(connection(transfer.from, transfer.to, transfer.channel));
    const uint32_t window = window_of(transfer);
    if (window == 0 || found == last_on_.end()) return kNoTask;
    uint32_t task = found->second;
    for (uint32_t i = 1; i < window && task != kNoTask; ++i)
        task = before_on_its_connection_[task - begin_];
    return task;
}

void Exchange::remember(const Transfer& transfer, uint32_t task) {
    TULLE_CHECK(task - begin_ == before_on_its_connection_.size());
    const uint64_t key = connection(transfer.from, transfer.to, transfer.channel);
    const auto [entry, is_new] = last_on_.try_emplace(key, task);
    before_on_its_connection_.push_back(is_new ? kNoTask : entry->second);
    // A rank's part leaves long before the sum arrives.
    entry->second = transfer.kind == Task::Kind::sum_for_all ? transfer.reduction : task;
}

uint32_t Exchange::add(const Transfer& transfer) {
    if (transfer.range.is_empty()) return kNoTask;
    const bool in_switch = transfer.kind != Task::Kind::send;
    const uint32_t peer = transfer.kind == Task::Kind::multicast ? transfer.from : transfer.to;
    Task task;
    task.kind = transfer.kind;
    task.tier = in_switch ? Tier::scale_up : placement().tier(transfer.from, peer);
    if (transfer.kind == Task::Kind::sum_for_all) task.tier = Tier::scale_out;
    task.channel = transfer.channel;
    task.bytes = software_.wire_bytes(transfer.range.size());
    const bool continues = continues_ && software_.passes_on_lines;
    task.duration = software_.before(task.tier, transfer.range.size(), continues);
    task.is_in_turn = software_.is_in_turn[static_cast<size_t>(task.tier)];
    task.reduction = transfer.reduction;
    needs_.clear();
    holdings_[transfer.from].collect(transfer.range, lists_, needs_);
    for (const uint32_t other : {task_in_the_way(transfer), transfer.after})
        if (other != kNoTask) needs_.push_back(other);
    const uint32_t number =
        job_.add(task, transfer.from, peer, needs_, {transfer.effect, transfer.range});
    remember(transfer, number);
    return number;
}

}  // namespace tulle::workload
