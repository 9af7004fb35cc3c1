// Why a run took as long as it did: the shares of its time (sim/time_account.h), told apart by what
// a person could change. A share says that a sender was held for 300 us by a full buffer for
// leaf0[8]; a cause says why leaf0[8] was full, who filled it, and how much of the run that took.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/facts.h"

namespace tulle::report {

enum class CauseKind : uint8_t {
    incast,              // several senders, one receiver's link
    other_work,          // another piece of work uses the same link
    victim,              // it stood behind packets for a full link that its own do not cross
    uneven_paths,        // equal paths were idle meanwhile
    oversubscribed,      // all equal paths were full
    shared_adapter,      // flows of one host
    slow_cable,          // slower than its like
    long_cable,          // far longer than its like
    slow_receiver,       // a host does not take what arrives
    pause_storm,         // a host pauses its link for no reason
    small_buffer,        // pauses or missing credits, although the link behind was not full
    congestion_control,  // slows senders, although the link that marks was not full
    rate_limit,
    window,
    host_bus,         // between memory and adapter
    lossy_cable,      // bit errors: packets are lost
    link_retries,     // bit errors: the link repairs them
    buffer_overflow,  // no flow control, no room
    headroom_overflow,
    settings_disagree,  // the two ends of a cable
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
    own_bytes,  // there was that much to send
    unexplained,
};

struct Cause {
    CauseKind kind = CauseKind::unexplained;
    std::string place;  // a link, host, cable or rank by name; empty: everywhere
    Duration time{};    // that it took of the run, along the last chain of waits
    // Of that, what a better fabric or setting would save. A receiver's link that is busy with what
    // was asked for saves nothing.
    Duration avoidable{};
    std::string sentence;
    // What `tulle why` takes away; see remedies.h.
    fabric::Place at = fabric::kNowhere;
    std::optional<uint32_t> node;
    std::optional<uint32_t> group;
};

// What could have been avoided first, the largest of it first; then the rest likewise. Empty if the
// run was not explained.
std::vector<Cause> find_causes(const Facts& facts);

const char* cause_name(CauseKind kind);

}  // namespace tulle::report
