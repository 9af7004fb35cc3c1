// How causes are found: shares of a run's time are sorted by port, passed on to the port at their
// root, and told apart by what the port, the link behind it and its users are like. Each file of
// this folder has a part of it.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/causes.h"
#include "report/time_shares.h"
#include "report/usual_cable.h"

namespace tulle::report::causes {

using fabric::Place;
using fabric::ShareKind;

using Pair = std::pair<uint32_t, uint32_t>;  // endpoints that send and receive

// Shares that were spent because of one port.
struct Trouble {
    Duration held{};
    Duration queue{};
    Duration congestion{};
    Duration serialization{};
    Duration propagation{};
    Duration bus{};
    Duration retries{};

    Duration contention() const { return held + queue + congestion; }
};

// Whose messages go through a port.
struct Sharers {
    size_t sources = 0;  // hosts
    size_t own_pairs = 0;
    size_t other_pairs = 0;  // of the piece of work that has most, of all others
    uint32_t other = 0;

    bool is_of_others() const { return other_pairs != 0 && own_pairs <= other_pairs; }
};

class Investigation {
public:
    // The facts must outlive it.
    explicit Investigation(const Facts& facts);

    std::vector<Cause> causes();

private:
    void sort(const sim::TimeShare& share);
    // By time. What could have been saved counts more than twice; of what there was to send, only
    // what the limit does not ask for, or at the limit a small part.
    Duration weight(const Cause& cause) const;
    void add(CauseKind kind, const std::string& place, Duration time, std::string sentence,
             Place at = fabric::kNowhere, std::optional<uint32_t> node = {},
             std::optional<uint32_t> group = {}, Duration inherent = {});
    // Inside servers.
    void explain_inside();
    void explain_rest();

    // Cables, and what becomes of them (cables.cc).
    // What most cables of a kind are like: those of hosts, and those between switches.
    const UsualCable& usual(uint32_t cable) const;
    bool is_slow(uint32_t cable) const;
    bool is_far(uint32_t cable) const;
    // How much of a line's time goes to packets that the link sends again, and to the wait for the
    // far end's answer.
    uint64_t repair_permille(uint32_t number) const;
    // A host's own bits on its line. Of those that the link repairs, some went twice.
    void explain_sent(Place place, topology::CableEnd end, Duration time);
    // One that is far longer than others, on the way of the chain: what fills the way there and
    // back is more than windows and credits are made for.
    std::optional<uint32_t> far_cable() const;
    void explain_far(Place place, Duration time);
    std::string far_text(uint32_t cable) const;
    void explain_slow(Place place, const Trouble& trouble);
    std::string slow_text(uint32_t cable) const;
    bool has_fault(sim::Fault::Kind kind, uint32_t subject) const;
    std::string retries_text(topology::CableEnd end) const;
    // What went down first, cable or switch: why there is no way.
    std::optional<std::string> first_down() const;
    // The switch at an end of a cable, or the cable itself.
    std::optional<std::string> what_was_down(uint32_t number) const;

    // Ports, and what they wait for (ports.cc).
    // How busy a link was while the chain lasted.
    uint64_t busy_permille(topology::CableEnd end) const;
    // How long a host's link was busy: that the work asks for.
    Duration busy_time(topology::CableEnd end) const;
    // A port that was held for long is not what its packets waited for: whatever held it is.
    void follow_pauses();
    Place root_of(Place place) const;
    // Nobody is blamed where credits came back slowly but steadily: of the ports that packets go on
    // to, the one with the longest queue.
    Place next_after(Place place, const sim::LinkResult& link) const;
    Place place_at(topology::CableEnd end) const;
    void explain_place(Place place, const Trouble& trouble);
    // Either the port had more to send than it could; or senders were held back although it had
    // room. A port that nobody else uses has no more to send than it can. Where the work itself
    // asks for more than a host's link can carry, what is too much is that the link fell idle.
    void explain_contention(Place place, topology::CableEnd end, const Trouble& trouble);
    // Flow control or congestion control held senders back, and not queues.
    static bool is_thin(const Trouble& trouble);
    std::string link_name(topology::CableEnd end) const;
    void explain_thin(Place place, topology::CableEnd end, const Trouble& trouble, uint64_t busy);

    // Links that have more to carry than they can (full_links.cc).
    // A link that had more to carry than it could. Whose traffic it was tells why.
    void explain_full(Place place, topology::CableEnd end, Duration time, uint64_t busy);
    static std::string counted_hosts(size_t count);
    // Hops from each node to a host.
    std::vector<uint32_t> hops_to(uint32_t host) const;
    // Links that a message could take instead of this one: on paths of equal length, as far from
    // where it goes.
    std::set<Place> equals_of(topology::CableEnd end, const Pair& pair) const;
    // Between switches: were there equal paths, and did they have room?
    void explain_between(Place place, topology::CableEnd end, Duration time, uint64_t busy,
                         const std::vector<Pair>& pairs);

    // Whose messages go through a port (sharers.cc).
    // The link to a host, and no other work has as many senders.
    bool is_of_own_work(Place place, topology::CableEnd end) const;
    bool crosses_chain(Place place) const;
    // How many flows go through a port; of a program, how many pairs of ranks.
    size_t messages_at(Place place) const;
    // Who sends through a port; endpoints that are in no flow or rank are passed over.
    std::vector<Pair> pairs_at(Place place) const;
    // The pieces of work between two endpoints: groups of flows, then jobs of the program.
    std::set<uint32_t> work_of(const Pair& pair) const;
    void build_work() const;
    std::string work_name(uint32_t work) const;
    // Whether messages of the chain go from one to the other.
    bool is_of_chain(const Pair& pair) const;
    uint32_t own_work() const;
    Sharers sharers_at(Place place) const;

    // Hosts, senders and ranks (ends.cc).
    // Why a host holds up the link to it.
    CauseKind why_it_does_not_take(uint32_t node) const;
    static std::string receiving_text(CauseKind kind, const std::string& name);
    void explain_not_taken(Place place, uint32_t node, Duration time);
    // The port of a host: what it sends, and what it does not take.
    void explain_host(Place place, topology::CableEnd end, const Trouble& trouble);
    // What a sender imposes on itself.
    void explain_senders();
    // A rank that computes for longer than most of its phase.
    void explain_ranks();
    Duration excess_of(uint32_t rank) const;
    Duration computing_of(const workload::Task& task) const;
    std::string storage_at(uint32_t rank) const;
    Duration slow_software_of(uint32_t rank) const;

    // Losses (losses.cc).
    void explain_loss();
    CauseKind kind_of(const sim::TimeAccount::Loss& loss) const;
    // Damage is found where a cable ends, and is that cable's. Pauses that one end does not heed
    // are the fault of their cable, too.
    std::string place_of_loss(const sim::TimeAccount::Loss& loss) const;
    // Of the cables whose ends disagree, one of this node, if any.
    uint32_t disagreement_at(uint32_t node) const;
    // Whose watchdog threw away most; a port whose watchdog has fired heeds no pauses, and what
    // overruns headroom then is its fault.
    topology::CableEnd watchdog_at(topology::CableEnd end) const;
    void explain_resending(Duration time);

    const Facts& facts_;
    const sim::TimeAccount& account_;
    std::map<Place, Trouble> troubles_;
    std::map<ShareKind, Duration> nowhere_;
    std::map<ShareKind, Duration> inside_;
    std::map<uint32_t, Duration> computing_;  // by rank
    std::map<uint32_t, Duration> software_;   // likewise, a part of nowhere_
    std::map<Place, std::set<Pair>> crossings_;
    mutable std::map<Pair, std::set<uint32_t>> work_;
    std::array<std::optional<UsualCable>, 2> usual_;
    // Of the chain, time that keeps no line busy: the way, the ends, the start.
    Duration distance_{};
    Duration latency_{};
    Duration own_bytes_{};
    std::vector<Cause> found_;
};

}  // namespace tulle::report::causes
