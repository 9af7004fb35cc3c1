#include "sim/course.h"

#include <algorithm>
#include <utility>

namespace tulle::sim {
namespace {

constexpr Duration kAfterLastFlow{10'000'000'000};  // 10 ms, for packets that are still under way
constexpr Duration kSlowestPace{100'000'000'000};   // 100 ms between two packets
constexpr Duration kTimeoutUnit{4'096'000};  // of the local ACK timeout (IBTA vol 1, 9.9.2.1.2)
constexpr int64_t kTimeouts = 8;             // a timeout may take up to four times as long

// The time from a doorbell until the first packet is in the adapter.
Duration longest_way_to_an_adapter(const Setup& setup) {
    const auto of = [](const HostSettings& host) {
        return host.send_latency + host.memory.fetch(host.mtu);
    };
    Duration longest = of(setup.host);
    for (const HostOverride& other : setup.host_overrides)
        longest = std::max(longest, of(other.host));
    return longest;
}

}  // namespace

Course::Course(const Setup& setup, Simulation& simulation)
    : setup_(setup), simulation_(simulation), quiet_(kSlowestPace) {
    look_at(setup);
    if (setup.scale_up) look_at(*setup.scale_up);
    const Duration to_adapter = longest_way_to_an_adapter(setup);
    for (const Flow& flow : setup.flows)
        last_input_ = std::max(last_input_, flow.start + to_adapter);
    for (const workload::Job& job : setup.program.jobs)
        last_input_ = std::max(last_input_, job.start);
    last_input_ =
        std::max(last_input_, simulation.network(workload::Tier::scale_out).last_table_write());
    choose();
}

void Course::look_at(const Setup& network) {
    if (const uint8_t timeout = network.host.ack_timeout; timeout != 0)
        quiet_ = std::max(quiet_, kTimeoutUnit * (kTimeouts << timeout));
    for (const Fault& fault : network.faults)
        last_input_ = std::max(last_input_, fault.at + network.fabric.route.reroute_delay);
}

void Course::choose() {
    if (simulation_.has_failed_plugin()) return stop(Result::End::plugin_failed);
    window_ = simulation_.next_window();
    if (window_ == Simulation::kNoWindow) return;
    const Instant at = simulation_.time_of(window_);
    simulation_.set_now(simulation_.time_of(window_ + 1));
    if (at >= setup_.stop)
        return stop(has_settled(at) ? Result::End::done : Result::End::stop_time);
    if (is_idle(at)) stop(Result::End::done);
}

void Course::stop(Result::End end) {
    end_ = end;
    simulation_.set_now(std::min(simulation_.time_of(window_), setup_.stop));
    window_ = Simulation::kNoWindow;
}

bool Course::is_idle(Instant at) {
    if (simulation_.is_computing()) return false;
    if (at > last_input_ + kAfterLastFlow && has_settled(at)) return true;
    const int64_t period = at.ps / quiet_.ps;
    if (period == period_) return false;
    const uint64_t hops = simulation_.hops();
    const bool nothing_moved = hops == hops_;
    period_ = period;
    hops_ = hops;
    // After a single quiet period this may be the instant at which a slow sender goes on.
    const bool is_quiet = std::exchange(was_quiet_, nothing_moved) && nothing_moved;
    return is_quiet && period * quiet_ > last_input_ - Instant{} + quiet_;
}

// All work has ended, and what it left under way has had its time.
bool Course::has_settled(Instant at) {
    return all_work_ended() && at > last_end_ + kAfterLastFlow;
}

// Flows of several messages end more than once if they fail, so counting is not enough.
bool Course::all_work_ended() {
    if (last_end_ != Instant::never()) return true;
    if (!setup_.program.empty() && !simulation_.program_is_done()) return false;
    const size_t ends = simulation_.flows_done();
    if (ends < setup_.flows.size() || (ends == ends_seen_ && ends != 0)) return false;
    ends_seen_ = ends;
    std::vector<bool> has_ended(setup_.flows.size());
    Instant last = setup_.program.empty() ? Instant{} : simulation_.now();
    for (size_t p = 0; p < simulation_.partitions(); ++p)
        for (const cluster::FlowEnd& end : simulation_.partition(p).ends.flows) {
            has_ended[end.flow] = true;
            last = std::max(last, end.at);
        }
    if (std::ranges::find(has_ended, false) != has_ended.end()) return false;
    last_end_ = last;
    return true;
}

}  // namespace tulle::sim
