// Finds causes. Shares of a run's time are grouped by port and passed on to the port at their root.
// The properties of that port, the link behind it (cables.h) and its users (sharers.h) decide the
// cause. Each file of this folder holds a part of it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/causes.h"
#include "report/causes/cables.h"
#include "report/causes/links.h"
#include "report/causes/lost_packets.h"
#include "report/causes/sharers.h"
#include "report/time_shares.h"

namespace tulle::report::causes {

using fabric::Place;
using fabric::ShareKind;

constexpr uint64_t kOverloadPermille = 700;  // of the chain's duration: a link above this was full

// Shares of time caused by one port.
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

using Computing = std::map<uint32_t, std::map<uint32_t, Duration>>;  // by phase, by rank

class Investigation {
public:
    // The facts must outlive it.
    explicit Investigation(const Facts& facts);

    std::vector<Cause> causes();

private:
    void sort(const sim::TimeShare& share);
    void rank();
    // Sorted by time. Avoidable time counts more than double. Of the data itself only the part
    // above the limit counts, or a small part near the limit.
    Duration weight(const Cause& cause) const;
    void add(CauseKind kind, const std::string& place, Duration time, std::string sentence,
             Place at = fabric::kNowhere, std::optional<uint32_t> node = {},
             std::optional<uint32_t> group = {}, Duration inherent = {});
    // Inside servers.
    void explain_inside();
    void explain_deadlock();
    void explain_rest();
    // Adapters and switches whose latency is far above that of others (ways.cc).
    void explain_slow_ways();

    // Cables and their causes (cable_causes.cc).
    // A cable on the chain that is far longer than others: its round trip holds more data than
    // windows and credits are sized for.
    std::optional<uint32_t> far_cable() const;
    void explain_far(Place place, Duration time);
    // Returns what is not because of its rate.
    Trouble explain_slow(Place place, const Trouble& trouble);
    std::string retries_text(topology::CableEnd end) const;

    // Ports and what they wait for (ports.cc).
    // The link to a host, if no other work has as many senders.
    bool is_of_own_work(Place place, topology::CableEnd end) const;
    // If a port was held for long, its packets waited for whatever held it.
    void follow_pauses();
    Place root_of(Place place) const;
    // If credits returned slowly but steadily, no port is blamed: takes the next port with the
    // longest queue.
    Place next_after(Place place, const sim::LinkResult& link) const;
    void explain_place(Place place, const Trouble& trouble);
    // Either the port had more to send than it could, or senders were held back although it had
    // room. A port with a single user is never overloaded. If the work asks for more than a host's
    // link can carry, only the idle time of the link is a loss.
    void explain_contention(Place place, topology::CableEnd end, const Trouble& trouble);
    // How long a line was idle, of the time that is not distance; `useful` is what it was busy
    // with.
    Duration idle_time(Duration useful) const;
    void explain_thin(Place place, topology::CableEnd end, const Trouble& trouble, uint64_t busy);

    // Overloaded links (full_links.cc).
    // An overloaded link; the users of the link tell why.
    void explain_full(Place place, topology::CableEnd end, Duration time, uint64_t busy);
    // What waits before a full link, and would wait at its receiver otherwise. Returns the rest.
    Duration explain_receiver(const std::vector<Pair>& pairs, Duration time);
    // One of these links that was down.
    std::optional<Place> first_down_of(const std::set<Place>& equals) const;
    // Whether equal paths were down, or had room.
    bool explain_uneven(Place place, topology::CableEnd end, Duration time, uint64_t busy,
                        const std::set<Place>& equals);

    // Hosts, senders and ranks (ends.cc).
    // Why a host holds up the link to it.
    CauseKind why_it_does_not_take(uint32_t node) const;
    void explain_not_taken(Place place, uint32_t node, Duration time);
    // The port of a host: what it sends, and what it does not accept.
    void explain_host(Place place, topology::CableEnd end, const Trouble& trouble);
    // Packets of others that a host sent first.
    void explain_adapter(Place place, topology::CableEnd end, Duration time);
    // Limits that a sender sets itself.
    void explain_senders();
    std::optional<std::string> what_cuts_off_the_chain() const;
    // A rank that computes for longer than most others of its phase.
    void explain_ranks();
    Duration excess_of(uint32_t rank, const Computing& by_phase) const;
    std::string storage_at(uint32_t rank) const;
    Duration slow_software_of(uint32_t rank) const;

    // Losses (losses.cc).
    void explain_loss();
    Duration explain_crowding(const sim::TimeAccount::Loss& loss, Duration time);
    void explain_resending(Duration time);
    // Needless packets that stood before others.
    void separate_needless();

    const Facts& facts_;
    const sim::TimeAccount& account_;
    Cables cables_;
    Crossings crossings_;
    Links links_;
    LostPackets lost_;
    std::map<Place, Trouble> troubles_;
    std::map<ShareKind, Duration> nowhere_;
    std::map<Place, Trouble> inside_;
    std::map<uint32_t, Duration> computing_;  // by rank
    std::map<uint32_t, Duration> software_;   // likewise, a part of nowhere_
    // Time of the chain that keeps no line busy: propagation, ends, start.
    Duration distance_{};
    Duration latency_{};
    Duration own_bytes_{};
    std::vector<Cause> found_;
};

}  // namespace tulle::report::causes
