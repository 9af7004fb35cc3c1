// The verdict on a run: how close to the limit it was, which link set the pace, and what went
// wrong, each finding with its culprit by name. A healthy run has no findings. If the run was
// explained, the verdict is the cause that took most of its time, and a finding that no such cause
// confirms is a note.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "report/causes.h"
#include "report/facts.h"

namespace tulle::report {

enum class FindingKind : uint8_t {
    deadlock,            // ports wait for each other in a cycle
    flows_failed,        // did not end, or ended with an error
    phases_unfinished,   // of the program
    slow_receiver,       // a host holds up the fabric
    pauses,              // an overloaded port holds up others
    victims,             // flows or phases suffer although they do not cross the congested port
    uneven_paths,        // equal paths that were not used equally
    idle_paths,          // cables outside the spanning tree
    losses,              // one for each cause
    no_route,            // one per fault with a cost, with a control plane
    pfc_only_brake,      // pauses, although marks should have come first
    needless_resending,  // nothing was lost
    noisy_neighbour,     // one class of traffic slows another in the same lane
    dcbx_disagreement,   // the two ends of a cable have different settings
    other_tenant,        // hosts sent to hosts of another tenant
    full_link,           // a link between switches was full, the hosts' links were not
    host_set_the_pace,   // between its memory and its adapter
    senders_held_back,   // nothing was full, paused or lost, but the run took long
};

// A note informs, a warning suggests a change of settings, a failure is a run that did not succeed.
enum class Severity : uint8_t { note, warning, failure };

struct Field {
    std::string name;  // with its unit: "paused_ns"
    std::variant<uint64_t, std::string, std::vector<std::string>> value;
};

struct Finding {
    FindingKind kind = FindingKind::losses;
    Severity severity = Severity::note;
    std::string culprit;  // a node, a link or a flow, by name
    std::vector<Field> fields;
    std::string sentence;
};

struct Bottleneck {
    std::string link;
    uint64_t busy_permille = 0;
};

struct Sufferer {  // the flow that was slowed most
    size_t flow = 0;
    uint64_t slowdown_permille = 0;
};

struct Verdict {
    bool complete = false;        // every flow ended well, and every phase of the program
    uint64_t limit_permille = 0;  // 1000: no fabric with these links could be faster
    std::optional<Bottleneck> bottleneck;
    std::optional<Sufferer> slowest;
    std::vector<Finding> findings;  // the gravest first
    std::vector<Cause> causes;      // where the time went, and why; the first one is the verdict
    std::string sentence;
};

Verdict judge(const Facts& facts);

const char* kind_name(FindingKind kind);
const char* severity_name(Severity severity);

}  // namespace tulle::report
