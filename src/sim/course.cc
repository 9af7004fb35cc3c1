#include "sim/course.h"

#include <algorithm>

namespace tulle::sim {
namespace {

constexpr Duration kAfterLastFlow{10'000'000'000};  // 10 ms, for what is still under way
constexpr Duration kQuiet{100'000'000'000};         // 100 ms: more than any pace between packets

}  // namespace

Course::Course(const Setup& setup, Simulation& simulation)
    : setup_(setup), simulation_(simulation) {
    for (const Flow& flow : setup.flows)
        last_input_ = std::max(last_input_, flow.start + setup.host.send_latency);
    for (const Fault& fault : setup.faults)
        last_input_ = std::max(last_input_, fault.at + setup.fabric.route.reroute_delay);
    choose();
}

void Course::choose() {
    window_ = simulation_.next_window();
    if (window_ == Simulation::kNoWindow) return;
    const Instant at = simulation_.time_of(window_);
    simulation_.set_now(simulation_.time_of(window_ + 1));
    if (at >= setup_.stop) return stop(Result::End::stop_time);
    if (is_idle(at)) stop(Result::End::done);
}

void Course::stop(Result::End end) {
    end_ = end;
    simulation_.set_now(std::min(simulation_.time_of(window_), setup_.stop));
    window_ = Simulation::kNoWindow;
}

bool Course::is_idle(Instant at) {
    if (all_flows_ended() && at > std::max(last_end_, last_input_) + kAfterLastFlow) return true;
    const int64_t period = at.ps / kQuiet.ps;
    if (setup_.host.ack_timeout != 0 || period == period_) return false;
    const uint64_t hops = simulation_.hops();
    const bool nothing_moved = hops == hops_;
    period_ = period;
    hops_ = hops;
    return nothing_moved && period * kQuiet > last_input_ - Instant{} + kQuiet;
}

// Flows of several messages end more than once if they fail, so counting is not enough.
bool Course::all_flows_ended() {
    if (last_end_ != Instant::never()) return true;
    const size_t ends = simulation_.flows_done();
    if (ends < setup_.flows.size() || ends == ends_seen_) return false;
    ends_seen_ = ends;
    std::vector<bool> has_ended(setup_.flows.size());
    Instant last{};
    for (size_t p = 0; p < simulation_.partitions(); ++p)
        for (const cluster::FlowEnd& end : simulation_.partition(p).ends) {
            has_ended[end.flow] = true;
            last = std::max(last, end.at);
        }
    if (std::ranges::find(has_ended, false) != has_ended.end()) return false;
    last_end_ = last;
    return true;
}

}  // namespace tulle::sim
