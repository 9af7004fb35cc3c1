// Why a run took as long as it did: the shares of its time (sim/time_account.h), grouped by what a
// user could change. A share says that a sender was held for 300 us by a full buffer for leaf0[8];
// a cause says why leaf0[8] was full, who filled it, and how much of the run that took.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/facts.h"

namespace tulle::report {

enum class CauseKind : uint8_t {
    incast,              // several senders, one receiver's link
    other_work,          // another piece of work uses the same link
    victim,              // queued behind packets for a full link that its own do not cross
    uneven_paths,        // equal paths were idle at the same time
    oversubscribed,      // all equal paths were full
    shared_adapter,      // flows of one host
    slow_cable,          // slower than similar cables
    long_cable,          // far longer than similar cables
    slow_receiver,       // a host does not take data as fast as it arrives
    pause_storm,         // a host pauses its link for no reason
    small_buffer,        // pauses or missing credits, although the link was not full
    congestion_control,  // slows senders, although the marking link was not full
    rate_limit,
    window,
    host_bus,         // between memory and adapter
    lossy_cable,      // bit errors: packets are lost
    link_retries,     // bit errors: the link repairs them
    buffer_overflow,  // no flow control, no room
    headroom_overflow,
    settings_disagree,  // at the two ends of a cable
    deadlock,           // ports wait for each other in a circle
    link_down,
    no_route,
    watchdog,
    head_of_queue,  // its lifetime
    reordering,     // taken for loss
    early_timeout,  // answers came, but too late
    not_ready,      // receives were not posted in time
    slow_rank,      // computes for longer than its peers
    software,
    latency,  // cables and switches
    compute,
    late_start,
    own_bytes,  // the data itself takes this long
    unexplained,
};

struct Cause {
    CauseKind kind = CauseKind::unexplained;
    std::string place;  // a link, host, cable or rank by name; empty: everywhere
    Duration time{};    // share of the run, along the last chain of waits
    // The part that a better fabric or setting would save. A receiver's link that is busy with
    // requested data saves nothing.
    Duration avoidable{};
    std::string sentence;
    // What `tulle why` removes; see remedies.h.
    fabric::Place at = fabric::kNowhere;
    std::optional<uint32_t> node;
    std::optional<uint32_t> group;
    // Of this kind, at all places together.
    Duration alike{};
    size_t places = 1;
};

// The kind that took most is first, with its largest place; avoidable time counts more. Empty if
// the run was not explained.
std::vector<Cause> find_causes(const Facts& facts);

const char* cause_name(CauseKind kind);

}  // namespace tulle::report
