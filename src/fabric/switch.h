// A switch: packets in, a queue for each output port and lane, packets out.
//
// It acts on packets that its cables bring, on its lines when they fall free, and on timers, in
// order of time. Other nodes act on what it sends a cable's delay later.
//
// It joins its parts: `ways` has the tables and chooses output ports; `lines` has the output ports
// and their queues, and the storage that packets take while they wait; `rare_events` has timers and
// what else is seldom.
#pragma once

#include "base/hot.h"
#include "base/random.h"
#include "fabric/back_pressure.h"
#include "fabric/lines.h"
#include "fabric/ways.h"

namespace tulle::fabric {

class Switch {
public:
    Switch(const Settings& settings, Cabling& cabling, SwitchPlan plan);
    // Call when the cabling is complete.
    void begin();

    // Acts on everything before `until`; returns when it has to act next.
    Instant advance(Instant until);

    // Prefetches what the object points to, what that points to, and so on; see cluster::Partition.
    void prefetch(uint32_t depth) const;

    uint64_t events() const { return events_; }
    uint32_t node() const { return node_; }
    uint32_t first_port() const { return lines_.ports().first(); }
    uint16_t port_count() const { return lines_.ports().count(); }
    const Storage& storage() const { return lines_.storage(); }
    bool has_been_warned() const { return ways_.warnings().has_heard(); }
    // Ends what is under way, for the report.
    void finish(Instant now);

private:
    static constexpr uint16_t kNoPort = Ways::kNoPort;

    SwitchPorts& ports() { return lines_.ports(); }
    Cabling& cabling() { return lines_.ports().cabling; }
    Intake& intake() { return lines_.storage().intake(); }

    // The path of every packet is compiled twice: with credits and without.
    template <bool kCredits>
    Instant act(Instant until);
    template <bool kCredits>
    TULLE_HOT void on_packet(Instant now, uint32_t in);
    void on_odd_packet(Instant now, uint32_t in, uint32_t index);
    void on_rare(Instant now);
    void on_control(Instant now, uint16_t port);
    void on_timer(Instant now);
    void on_change(Instant now);
    void on_link(Instant now, uint16_t port, bool is_up);

    // Moves a packet to its output port: onto the line at once, or into a queue.
    template <bool kIsOdd>
    TULLE_HOT void forward(Instant now, uint32_t in, uint32_t to, uint32_t index, bool spends);
    // Counts the packet as stored; false if there is no room for it.
    TULLE_HOT bool admit(Instant now, uint32_t in, uint32_t to, uint32_t index);
    TULLE_HOT void enqueue(Instant now, uint32_t port, uint32_t index);
    [[gnu::noinline]] void watch_queue(Instant now, uint32_t port, uint32_t index);
    void hold_up_source(Instant now, uint32_t port, uint32_t index);
    void drop_arriving(Instant now, uint32_t port, uint32_t index, Drop cause);
    void refuse(Instant now, uint32_t port, uint32_t index, bool as_sent);

    // For a packet to a group: true if it goes on to a member like any other packet. `to` is its
    // port if the member is behind another switch.
    bool leaves_group(Instant now, uint16_t in, uint32_t index, uint16_t& to);
    bool completes(Instant now, uint16_t in, uint32_t index, const Group& group, uint32_t number);
    void replicate(Instant now, uint16_t in, uint32_t index, const Group& group, uint32_t number);
    // Through port `to`; with kNoPort by its route.
    void enqueue_copy(Instant now, uint16_t in, uint32_t index, uint16_t to);

    TimeTree packets_;  // by port: when its next packet arrives
    RareEvents rare_;
    base::RandomStream random_;
    Ways ways_;
    Lines lines_;
    BackPressure back_pressure_;
    TenantGuard guard_;
    const Groups* groups_;
    Reductions reductions_;
    std::vector<NodeChange> changes_;
    uint64_t events_ = 0;
    uint32_t next_change_ = 0;
    uint32_t node_;
    bool watches_queues_;  // something acts on packets that enter queues
};

}  // namespace tulle::fabric
