#include "cluster/partition.h"

#include <algorithm>

namespace tulle::cluster {

void Partition::add_host(HostPlan plan, const transport::AdapterConfig& adapter) {
    host_places_.push_back(next_place());
    nodes_.push_back({true, static_cast<uint32_t>(hosts_.size())});
    cabling_.add_node();
    hosts_.emplace_back(settings_, framing_, cabling_, std::move(plan), adapter);
}

void Partition::add_switch(fabric::SwitchPlan plan) {
    nodes_.push_back({false, static_cast<uint32_t>(switches_.size())});
    cabling_.add_node();
    const fabric::Settings& own = plan.settings != nullptr ? *plan.settings : settings_;
    switches_.emplace_back(own, cabling_, std::move(plan));
}

void Partition::begin() {
    constexpr size_t kFewNodes = 512;  // some megabytes
    outgrows_cache_ = nodes_.size() > kFewNodes;
    for (HostNode& host : hosts_) host.begin();
    for (fabric::Switch& node : switches_) node.begin();
    for (uint32_t place = 0; place < nodes_.size(); ++place) {
        const Node node = nodes_[place];
        const Instant first = node.is_host ? hosts_[node.index].advance(Instant{}, ends)
                                           : switches_[node.index].advance(Instant{});
        cabling_.set_due(place, first);
        if (first != Instant::never()) wheel_.add(window_of(first), place);
    }
}

void Partition::post(uint32_t host, const Posting& posting) {
    const Instant at = hosts_[host].add(posting);
    const uint32_t place = host_places_[host];
    if (at >= cabling_.due(place)) return;
    cabling_.set_due(place, at);
    wheel_.add(window_of(at), place);
}

void Partition::note_woken() {
    for (const uint32_t place : cabling_.woken) wheel_.add(window_of(cabling_.due(place)), place);
    cabling_.woken.clear();
}

void Partition::advance(uint64_t window) {
    for (auto& crossings : cabling_.crossings) crossings.clear();
    const Instant until{static_cast<int64_t>(window + 1) * window_.ps};
    wheel_.take(window, acting_);
    if (outgrows_cache_) std::ranges::sort(acting_);  // in the order of memory
    for (size_t i = 0; i < acting_.size(); ++i) {
        const uint32_t place = acting_[i];
        if (outgrows_cache_)
            for (uint32_t depth = 0; depth < kDepths; ++depth) prefetch(i + kDepths - depth, depth);
        if (cabling_.due(place) >= until) continue;
        acted_until_ = until;
        const Node node = nodes_[place];
        const Instant next = node.is_host ? hosts_[node.index].advance(until, ends)
                                          : switches_[node.index].advance(until);
        cabling_.set_due(place, next);
        if (next != Instant::never()) wheel_.add(window_of(next), place);
        note_woken();
    }
}

// When a node's turn comes, it is in memory, not in the cache. It is therefore prefetched while
// others act: first the object, a turn later what it points to, which can then be read, and so on.
void Partition::prefetch(size_t turn, uint32_t depth) const {
    if (turn >= acting_.size()) return;
    const Node node = nodes_[acting_[turn]];
    if (node.is_host)
        prefetch(hosts_[node.index], depth);
    else
        prefetch(switches_[node.index], depth);
}

void Partition::take_over(std::vector<fabric::Crossing>& crossings) {
    for (fabric::Crossing& crossing : crossings) cabling_.take_over(std::move(crossing));
    note_woken();
}

}  // namespace tulle::cluster
