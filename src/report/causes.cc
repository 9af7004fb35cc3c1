#include "report/causes.h"

#include "report/causes/investigation.h"

namespace tulle::report {

std::vector<Cause> find_causes(const Facts& facts) {
    if (facts.result.account.shares.empty()) return {};
    return causes::Investigation(facts).causes();
}

const char* cause_name(CauseKind kind) {
    switch (kind) {
        case CauseKind::incast: return "incast";
        case CauseKind::other_work: return "other_work";
        case CauseKind::victim: return "victim";
        case CauseKind::uneven_paths: return "uneven_paths";
        case CauseKind::oversubscribed: return "oversubscribed";
        case CauseKind::shared_adapter: return "shared_adapter";
        case CauseKind::slow_cable: return "slow_cable";
        case CauseKind::long_cable: return "long_cable";
        case CauseKind::slow_receiver: return "slow_receiver";
        case CauseKind::pause_storm: return "pause_storm";
        case CauseKind::small_buffer: return "small_buffer";
        case CauseKind::congestion_control: return "congestion_control";
        case CauseKind::rate_limit: return "rate_limit";
        case CauseKind::window: return "window";
        case CauseKind::host_bus: return "host_bus";
        case CauseKind::lossy_cable: return "lossy_cable";
        case CauseKind::link_retries: return "link_retries";
        case CauseKind::buffer_overflow: return "buffer_overflow";
        case CauseKind::headroom_overflow: return "headroom_overflow";
        case CauseKind::settings_disagree: return "settings_disagree";
        case CauseKind::deadlock: return "deadlock";
        case CauseKind::link_down: return "link_down";
        case CauseKind::no_route: return "no_route";
        case CauseKind::watchdog: return "watchdog";
        case CauseKind::head_of_queue: return "head_of_queue";
        case CauseKind::reordering: return "reordering";
        case CauseKind::early_timeout: return "early_timeout";
        case CauseKind::not_ready: return "not_ready";
        case CauseKind::slow_rank: return "slow_rank";
        case CauseKind::software: return "software";
        case CauseKind::latency: return "latency";
        case CauseKind::compute: return "compute";
        case CauseKind::late_start: return "late_start";
        case CauseKind::own_bytes: return "own_bytes";
        case CauseKind::unexplained: return "unexplained";
    }
    return "";
}

}  // namespace tulle::report
