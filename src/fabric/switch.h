// A switch: packets in, a queue for each output port and lane, packets out.
//
// It acts on packets that its cables bring, on its lines when they fall free, and on timers, in
// order of time. Other nodes act on what it sends a cable's delay later.
//
// Storage is counted at the input that a packet came through, whichever queue it waits in. On
// Ethernet the room is free again when the packet begins to leave. A packet that does not wait is
// therefore not counted, and a line that nobody waits for falls free without an event: most packets
// are one event. Credits are for the whole packet in the buffer, and come back when its last bit
// has left.
#pragma once

#include <optional>
#include <vector>

#include "base/hot.h"
#include "base/random.h"
#include "fabric/arbitration.h"
#include "fabric/back_pressure.h"
#include "fabric/cabling.h"
#include "fabric/groups.h"
#include "fabric/intake.h"
#include "fabric/port_choice.h"
#include "fabric/record.h"
#include "fabric/routes.h"
#include "fabric/time_tree.h"
#include "fabric/timers.h"

namespace tulle::fabric {

// The output ports of fixed paths, hop by hop; Transit::flow is the index.
using FixedPaths = std::vector<std::vector<uint16_t>>;

// An entry that a switch's own agent writes into its table: a list of ports of its Routes.
struct RouteEntry {
    uint32_t target = 0;
    uint32_t list = 0;
};

// Something that happens to a node from outside, at a known time.
struct NodeChange {
    enum class Kind : uint8_t { port_down, port_up, routes, entries, lanes, management };
    Instant at{};
    Kind kind = Kind::port_down;
    uint16_t port = 0;
    const Routes* routes = nullptr;
    std::span<const RouteEntry> entries{};
    std::span<const uint64_t> lanes{};
};

struct SwitchPlan {
    uint32_t node = 0;        // of the graph
    uint32_t first_port = 0;  // of the cabling
    uint16_t port_count = 0;
    uint64_t seed = 0;
    const Routes* routes = nullptr;
    const FixedPaths* paths = nullptr;
    const Groups* groups = nullptr;  // of this switch, complete before begin(); null: none
    GroupPlan dragonfly;             // without ways if there is none
    EtsSettings ets;
    std::vector<EtsSettings> port_ets;   // by port, as DCBX negotiated it; empty: `ets` for all
    const Settings* settings = nullptr;  // of this switch; null: the fabric's
    std::vector<EcnSettings> ecn;        // by port; empty: that of the settings for all
    std::vector<NodeChange> changes;     // by time
    // SL to VL: by input and output port, port 0 included, with four bits per service level. Empty:
    // packets stay on their lane.
    std::span<const uint64_t> lanes;
    std::vector<TraceSample>* trace = nullptr;
    const Tenancy* tenancy = nullptr;  // checked by ports of hosts; null: none
    std::vector<uint32_t> hosts;       // by port: the end point at it, or kNoHost
    std::vector<uint32_t> neighbours;  // by port: the node there, if switches warn each other

    static constexpr uint32_t kNoHost = UINT32_MAX;
};

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
    uint32_t node() const { return plan_.node; }
    uint32_t first_port() const { return plan_.first_port; }
    uint16_t port_count() const { return plan_.port_count; }
    const Intake& intake() const { return intake_; }
    bool has_been_warned() const { return chooser_.warnings().has_heard(); }
    // The input whose buffer has a packet with this Transit::in_port; copies share one room.
    uint16_t input_of(uint16_t in_port) const {
        return in_port < plan_.port_count
                   ? in_port
                   : shared_rooms_.input_of(static_cast<uint16_t>(in_port - plan_.port_count));
    }
    // Ends what is under way, for the report.
    void finish(Instant now);

private:
    static constexpr uint16_t kNoPort = UINT16_MAX;

    void prefetch_tables() const;
    void prefetch_first() const;
    void prefetch_second() const;

    // Updates the flags of a port that has come up or gone down.
    void settle(Port& port) const;

    uint32_t global(uint32_t port) const { return plan_.first_port + port; }
    LaneOut& out(uint32_t port, uint32_t lane) { return outs_[port * lanes_ + lane]; }
    Intake::Input input(uint32_t port, uint32_t lane) {
        return {ports_[port], ins_[port * lanes_ + lane], static_cast<uint16_t>(port),
                static_cast<uint8_t>(lane)};
    }
    LaneWait& wait(uint32_t port, uint32_t lane) { return cabling_.wait(global(port), lane); }

    // Sources of rare_: control packets of any port, timers, changes.
    uint32_t timer_source() const { return plan_.port_count; }
    uint32_t change_source() const { return timer_source() + 1u; }
    void on_rare(Instant now);

    // The path of every packet is compiled twice: with credits and without.
    template <bool kCredits>
    Instant act(Instant until);
    template <bool kCredits>
    TULLE_HOT void on_packet(Instant now, uint32_t in);
    void on_odd_packet(Instant now, uint32_t in, uint32_t index);
    template <bool kIsOdd>
    TULLE_HOT void forward(Instant now, uint32_t in, uint32_t to, uint32_t index, bool spends);
    void on_control(Instant now, uint16_t port);
    template <bool kCredits>
    TULLE_HOT void on_line_free(Instant now, uint32_t port);
    TULLE_HOT void free_buffer(Instant now, uint32_t port);
    void on_timer(Instant now);
    void on_change(Instant now);
    void write(std::span<const RouteEntry> entries);

    // For a packet to a group: true if it goes on to a member like any other packet. `to` is its
    // port if the member is behind another switch.
    bool leaves_group(Instant now, uint16_t in, uint32_t index, uint16_t& to);
    bool completes(Instant now, uint16_t in, uint32_t index, const Group& group, uint32_t number);
    void replicate(Instant now, uint16_t in, uint32_t index, const Group& group, uint32_t number);
    // Through port `to`; with kNoPort by its route.
    void enqueue_copy(Instant now, uint16_t in, uint32_t index, uint16_t to);
    void readdress(uint32_t index, const Group& group, uint32_t number, const Group::Member& to);
    void release_shared(Instant now, uint16_t room, uint8_t lane, uint32_t bytes);

    std::optional<Drop> flaw_of(const Port& from, const Transit& transit) const;
    // At a guarded port: checks the tenants of sender and receiver.
    bool refuses_from(uint32_t in, uint32_t index) const;
    bool refuses_to(uint32_t out, uint32_t index) const;
    void refuse(Instant now, uint32_t port, uint32_t index, bool as_sent);
    uint16_t fixed_port(const Transit& transit) const;
    uint8_t mapped_lane(uint32_t in, uint16_t out, uint32_t index) const;
    // Chooses the output port. False: there is no way.
    TULLE_HOT bool choose(Instant now, const Transit& transit, uint32_t index, uint16_t& to);
    [[gnu::noinline]] uint16_t choose_otherwise(Instant now, PortList ports, uint32_t index);
    uint16_t way_of(Instant now, const Port& from, uint32_t index);
    PortList ports_to(uint32_t destination) const {
        return plan_.routes->ports_of_row(routes_row_, plan_.node, destination);
    }
    PortChooser::Question ask(Instant now, PortList ports, uint32_t index) {
        return {now, *plan_.routes, ports, cabling_.store[index],
                cabling_.store.packet(index).psn().value};
    }

    bool spends_credits(const Transit& transit) const {
        return has_credits_ && transit.in_lane != kManagementLane;
    }
    // Counts the packet as stored; false if there is no room for it.
    TULLE_HOT bool admit(Instant now, uint32_t in, uint32_t out, uint32_t index);
    bool admit_lossy(uint32_t out, uint32_t index);
    bool admit_trimmed(uint32_t out, uint32_t index);
    TULLE_HOT void release(Instant now, uint32_t in, uint8_t lane, uint32_t bytes);

    TULLE_HOT void enqueue(Instant now, uint32_t out, uint32_t index);
    TULLE_HOT bool can_go_straight(Instant now, const Port& to) const;
    void note_arrival(Instant now, uint32_t port, uint32_t index);
    uint32_t own_bytes_ahead(const LaneOut& lane, uint32_t index);
    void mark(Instant now, uint32_t port, uint32_t index);
    [[gnu::noinline]] void watch_queue(Instant now, uint32_t port, uint32_t index);
    [[gnu::noinline]] void watch_head(Instant now, uint32_t port, uint32_t lane);
    void warn(Instant now, uint32_t port, uint32_t queued_bytes);
    void hold_up_source(Instant now, uint32_t port, uint32_t index);
    void drop_arriving(Instant now, uint32_t port, uint32_t index, Drop cause);
    void drop_stored(Instant now, uint32_t port, uint32_t index, Drop cause);
    void drop_first(Instant now, uint16_t port, uint32_t lane, Drop cause);
    void drop_lane(Instant now, uint16_t port, uint32_t lane, Drop cause);

    // Something waits for the line: sends it now, or when the line is free. A line that is idle and
    // waits for a packet's tail sends what is owed meanwhile.
    void start(Instant now, uint32_t port) {
        if (ports_[port].is_awaited && !(cuts_through_ && is_idle_for_owed(now, port))) return;
        if (now < ports_[port].busy_until)
            await_line(port);
        else
            start_idle(now, port);
    }
    bool is_idle_for_owed(Instant now, uint32_t port) const {
        return ports_[port].owed.any() && ports_[port].busy_until < now;
    }
    void await_line(uint32_t port) {
        ports_[port].is_awaited = true;
        lines_.set_near(port, ports_[port].busy_until);
    }
    // The line is busy now: asks for an event at its end if something waits for it.
    void await_next(uint32_t port) {
        const Port& to = ports_[port];
        if (!to.is_awaited && (to.filled != 0 || to.sending_bytes != 0 || to.owed.any()))
            await_line(port);
    }
    void start_idle(Instant now, uint32_t port);
    template <bool kCredits>
    TULLE_HOT void use_line(Instant now, uint32_t port);
    TULLE_HOT uint32_t lane_to_send(Instant now, uint32_t port);
    uint32_t lane_with_care(Instant now, uint32_t port, uint32_t eligible);
    TULLE_HOT void send(Instant now, uint32_t port, uint32_t index);
    uint32_t pick(Instant now, uint32_t port);
    TULLE_HOT uint32_t take_first(Instant now, uint32_t port, uint32_t lane);
    bool must_wait_for_tail(Instant now, uint32_t port, const Transit& transit);

    void on_paused(Instant now, uint16_t port, uint32_t lane, Instant until);
    void on_pause_ends(Instant now, uint16_t port, uint32_t lane);
    void on_head_of_queue(Instant now, uint16_t port, uint32_t lane);
    void on_watchdog(Instant now, uint16_t port, uint32_t lane);
    void add_timer(NodeTimer::Kind kind, Instant at, uint16_t port, uint32_t lane);
    void heed_timers() { rare_.set(timer_source(), timers_.next_at()); }
    void sample(TraceSample::Kind kind, Instant now, uint32_t port, uint32_t lane, uint64_t value) {
        if (plan_.trace != nullptr) keep_sample(kind, now, port, lane, value);
    }
    void keep_sample(TraceSample::Kind kind, Instant now, uint32_t port, uint32_t lane,
                     uint64_t value);

    const Settings& settings_;
    Cabling& cabling_;
    SwitchPlan plan_;
    TimeTree packets_;  // by port: when its next packet arrives
    TimeTree lines_;    // by port: when the line falls free
    TimeTree rare_;
    NodeTimers timers_;
    Intake intake_;
    Reductions reductions_;
    SharedRooms shared_rooms_;
    base::RandomStream random_;
    PortChooser chooser_;
    BackPressure back_pressure_;
    size_t next_change_ = 0;
    uint64_t events_ = 0;
    Port* ports_ = nullptr;  // in the cabling, from this switch's first port on
    LaneOut* outs_ = nullptr;
    LaneIn* ins_ = nullptr;
    Cabling::Inbound* inbound_ = nullptr;
    const uint32_t* routes_row_ = nullptr;  // this node's row in the tables
    uint32_t lanes_;
    bool has_credits_;
    bool uses_lifetime_;  // of the head of a queue
    bool cuts_through_;
    bool marks_at_dequeue_;
    bool marks_at_enqueue_;
    bool watches_queues_;  // something acts on packets that enter queues, ...
    bool watches_heads_;   // ... or that leave them
    bool is_simple_;       // a packet needs only a free line
    std::vector<VlRound> rounds_;
    std::vector<uint32_t> own_row_;  // replaces the tables' row once an entry was written
};

}  // namespace tulle::fabric
