// A simulation: networks that share a clock, and the ranks that use them, all cut into the same
// partitions. The partitions of one window may run at the same time:
//
//     while ((window = next_window()) != kNoWindow):
//         advance(p, window) for each partition, in any order or in parallel
//         exchange(p)        for each partition, likewise, once all have advanced
//
// The result depends on the setup alone, not on the number of partitions.
#pragma once

#include <memory>

#include "base/result.h"
#include "sim/network.h"
#include "sim/ranks.h"

namespace tulle::sim {

class Simulation {
public:
    static constexpr uint64_t kNoWindow = Network::kNoWindow;

    // Returns an error if the setup is wrong. Ports and packets lie in `memory`, which outlives the
    // simulation. `first`: what is known from an earlier run of the same setup. If it has a chain,
    // the result contains only where the time of the chain went and how the run ended.
    static base::Result<std::unique_ptr<Simulation>> build(
        const Setup& setup, size_t partitions,
        std::pmr::memory_resource* memory = std::pmr::new_delete_resource(), FirstRun first = {});

    size_t partitions() const { return network_->partitions(); }
    // A partition of the network between servers, for progress displays and checks of invariants.
    cluster::Partition& partition(size_t p) { return network_->partition(p); }
    // `scale_up` only if there is a network inside servers.
    Network& network(workload::Tier tier) {
        return tier == workload::Tier::scale_up ? *scale_up_ : *network_;
    }
    // Also opens and closes connections. One thread calls it, once all partitions have exchanged.
    uint64_t next_window();
    void advance(size_t partition, uint64_t window);
    // The end of the last window that was advanced. The caller sets it.
    Instant now() const { return now_; }
    void set_now(Instant now) { now_ = now; }
    void exchange(size_t partition);

    Instant time_of(uint64_t window) const { return {static_cast<int64_t>(window) * window_.ps}; }
    // Whether a plug-in for congestion control has broken a rule.
    bool has_failed_plugin() const;
    size_t flows_done() const { return network_->flows_done(); }
    uint64_t tasks_done() const { return ranks_.tasks_done(); }
    bool follows_chain() const { return !first_.chain.empty(); }
    bool program_is_done() const { return ranks_.is_done(); }
    // Whether some rank is computing, so that time passes although no packet may move.
    bool is_computing() const { return ranks_.next_at() != Instant::never(); }
    uint64_t hops() const { return network_->hops() + (scale_up_ ? scale_up_->hops() : 0); }

    Result finish(Result::End end);

private:
    Simulation(const Setup& setup, FirstRun first)
        : setup_(setup), first_(std::move(first)), ranks_(setup) {}
    std::optional<base::Error> find_plugins(const Setup& network);
    void say_what_failed(Result& result);
    std::optional<base::Error> build(size_t partitions, std::pmr::memory_resource* memory);

    bool program_has_ended() const { return setup_.program.empty() || ranks_.is_done(); }
    void say_why_stuck(Result& result) const;
    Result finish_account(Result::End end);
    std::vector<ChainLink> find_chain(const Result& result) const;

    const Setup& setup_;
    FirstRun first_;
    Duration window_{};
    Instant now_{};
    std::unique_ptr<Network> network_;
    std::unique_ptr<Network> scale_up_;
    Ranks ranks_;
    // Each plug-in, and how often it had failed before this run.
    std::vector<std::pair<const transport::LoadedPlugin*, uint32_t>> plugins_;
};

}  // namespace tulle::sim
