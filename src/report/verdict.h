// What a run says in the end: how close to the limit, which link set the pace, and what went wrong,
// each finding with its culprit by name. A healthy run has no findings. Where the run was
// explained, the cause that took most of its time is the verdict, and a finding that no such cause
// agrees with is a note.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "report/causes.h"
#include "report/facts.h"

namespace tulle::report {

enum class FindingKind : uint8_t {
    deadlock,            // ports wait for each other in a circle
    flows_failed,        // did not end, or ended with an error
    phases_unfinished,   // of the program
    slow_receiver,       // a host holds up the fabric
    pauses,              // a port that has more to send than it can holds up others
    victims,             // flows or phases that do not cross the congested port suffer all the same
    uneven_paths,        // equal paths that were not used equally
    idle_paths,          // cables that the spanning tree leaves out
    losses,              // one for each cause
    no_route,            // one for each fault that cost something, with a control plane
    pfc_only_brake,      // pauses, although marks should have come first
    needless_resending,  // nothing was lost
    noisy_neighbour,     // one class of traffic slows another one down in the same lane
    dcbx_disagreement,   // two ends of a cable are set differently
    full_link,           // a link between switches was full, the hosts' links were not
    host_set_the_pace,   // between its memory and its adapter
    senders_held_back,   // nothing was full, paused or lost, and yet it took long
};

// A note tells, a warning is worth a change of settings, a failure is a run that did not succeed.
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
    std::vector<Cause> causes;      // where the time went, and why; the first one is the answer
    std::string sentence;
};

Verdict judge(const Facts& facts);

const char* kind_name(FindingKind kind);
const char* severity_name(Severity severity);

}  // namespace tulle::report
