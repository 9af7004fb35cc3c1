// A switch: packets in, a queue for each output port and lane, packets out.
//
// It acts on what its cables brought, on its own lines that fall free, and on timers, one instant
// after the other; what it sends is acted on by others a cable's delay later.
//
// Storage is counted at the input that a packet came through, whichever queue it waits in. On
// Ethernet it is free again when the packet begins to leave, so that one that does not wait is not
// counted, and a line that nobody waits for falls free without anyone noticing: most packets are
// one event. Credits are for the whole packet in the buffer, and come back when its last bit has
// left.
#pragma once

#include <optional>
#include <vector>

#include "base/hot.h"
#include "base/random.h"
#include "fabric/arbitration.h"
#include "fabric/cabling.h"
#include "fabric/groups.h"
#include "fabric/intake.h"
#include "fabric/routes.h"
#include "fabric/time_tree.h"
#include "fabric/timers.h"

namespace tulle::fabric {

// The output ports of fixed paths, hop by hop; Transit::flow is the index.
using FixedPaths = std::vector<std::vector<uint16_t>>;

// An entry of a switch's table that its own agent writes: a list of ports of its Routes.
struct RouteEntry {
    uint32_t target = 0;
    uint32_t list = 0;
};

// Something that happens to a node from outside, at a known time.
struct NodeChange {
    enum class Kind : uint8_t { port_down, port_up, routes, entries };
    Instant at{};
    Kind kind = Kind::port_down;
    uint16_t port = 0;
    const Routes* routes = nullptr;
    std::span<const RouteEntry> entries{};
};

struct TraceSample {
    enum class Kind : uint8_t { queue_bytes, pause_begin, pause_end, drop, mark, rate };
    Instant at{};
    Kind kind = Kind::queue_bytes;
    uint8_t lane = 0;
    uint16_t port = 0;
    uint32_t node = 0;
    uint64_t value = 0;
    uint32_t queue_pair = 0;  // of a host's rate, ...
    uint32_t peer = 0;        // ... and the endpoint that it sends to
};

struct SwitchPlan {
    uint32_t node = 0;        // of the graph
    uint32_t first_port = 0;  // of the cabling
    uint16_t port_count = 0;
    uint64_t seed = 0;
    const Routes* routes = nullptr;
    const FixedPaths* paths = nullptr;
    const Groups* groups = nullptr;  // of this switch, complete when it begins; null: none
    EtsSettings ets;
    const Settings* settings = nullptr;  // of this switch; null: the fabric's
    std::vector<EcnSettings> ecn;        // by port; empty: that of the settings for all
    std::vector<NodeChange> changes;     // by time
    std::vector<TraceSample>* trace = nullptr;
};

class Switch {
public:
    Switch(const Settings& settings, Cabling& cabling, SwitchPlan plan);
    // The cabling is complete.
    void begin();

    // Acts on everything before `until`; returns when there is more to do.
    Instant advance(Instant until);

    // What the object points to, what that points to, and so on; see cluster::Partition.
    void prefetch(uint32_t depth) const;

    uint64_t events() const { return events_; }
    uint32_t node() const { return plan_.node; }
    uint32_t first_port() const { return plan_.first_port; }
    uint16_t port_count() const { return plan_.port_count; }
    const Intake& intake() const { return intake_; }
    // The input whose buffer a packet lies in, of what its transit says; copies share one place.
    uint16_t input_of(uint16_t in_port) const {
        return in_port < plan_.port_count
                   ? in_port
                   : shared_rooms_.input_of(static_cast<uint16_t>(in_port - plan_.port_count));
    }
    // Settles what is under way, for the report.
    void finish(Instant now);

private:
    static constexpr uint16_t kNoPort = UINT16_MAX;

    void prefetch_tables() const;
    void prefetch_first() const;
    void prefetch_second() const;

    // Settles a port that has come up, or gone down.
    void settle(Port& port) const;

    uint32_t global(uint32_t port) const { return plan_.first_port + port; }
    LaneOut& out(uint32_t port, uint32_t lane) { return outs_[port * lanes_ + lane]; }
    Intake::Input input(uint32_t port, uint32_t lane) {
        return {ports_[port], ins_[port * lanes_ + lane], static_cast<uint16_t>(port),
                static_cast<uint8_t>(lane)};
    }
    LaneWait& wait(uint32_t port, uint32_t lane) { return cabling_.wait(global(port), lane); }

    // What is neither a packet nor a line: control packets of any port, timers, changes.
    uint32_t timer_source() const { return plan_.port_count; }
    uint32_t change_source() const { return timer_source() + 1u; }
    void on_rare(Instant now);

    // What every packet takes is there twice, with credits and without.
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

    // A packet to a group: true if it goes on from here, to a member, as any other packet.
    bool leaves_group(Instant now, uint16_t in, uint32_t index);
    bool completes(Instant now, uint16_t in, uint32_t index, const Group& group, uint32_t number);
    void replicate(Instant now, uint16_t in, uint32_t index, const Group& group, uint32_t number);
    void enqueue_copy(Instant now, uint16_t in, uint32_t index);
    void readdress(uint32_t index, uint32_t number, const Group::Member& to);
    void release_shared(Instant now, uint16_t room, uint8_t lane, uint32_t bytes);

    std::optional<Drop> flaw_of(const Port& from, const Transit& transit) const;
    uint16_t fixed_port(const Transit& transit) const;
    // False: there is no way.
    TULLE_HOT bool choose(Instant now, const Transit& transit, uint32_t index, uint16_t& to);
    uint16_t choose_otherwise(Instant now, PortList ports, uint32_t index);
    uint16_t choose_shortest(Instant now, PortList ports, uint64_t draw);
    uint16_t choose_flowlet(Instant now, PortList ports, uint64_t flow, uint64_t draw);
    uint16_t choose_sprayed(Instant now, PortList ports, uint64_t flow, uint32_t index);
    uint64_t draw_of(uint64_t flow, uint32_t index);

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
    void drop_arriving(Instant now, uint32_t port, uint32_t index, Drop cause);
    void drop_stored(Instant now, uint32_t port, uint32_t index, Drop cause);
    void drop_first(Instant now, uint16_t port, uint32_t lane, Drop cause);
    void drop_lane(Instant now, uint16_t port, uint32_t lane, Drop cause);

    // Something waits for the line: it goes now, or when the line is free.
    void start(Instant now, uint32_t port) {
        if (ports_[port].is_awaited) return;
        if (now < ports_[port].busy_until)
            await_line(port);
        else
            start_idle(now, port);
    }
    void await_line(uint32_t port) {
        ports_[port].is_awaited = true;
        lines_.set_near(port, ports_[port].busy_until);
    }
    // The line is busy now: somebody may wait for its end.
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

    struct Flowlet {
        Instant last{};
        uint16_t port = 0;
    };

    const Settings& settings_;
    Cabling& cabling_;
    SwitchPlan plan_;
    TimeTree packets_;  // by port: the first packet that comes
    TimeTree lines_;    // by port: when the line falls free
    TimeTree rare_;
    NodeTimers timers_;
    Intake intake_;
    Reductions reductions_;
    SharedRooms shared_rooms_;
    base::RandomStream random_;
    uint64_t hash_seed_;
    size_t next_change_ = 0;
    uint64_t events_ = 0;
    Port* ports_ = nullptr;  // of the cabling, from this switch's first on
    LaneOut* outs_ = nullptr;
    LaneIn* ins_ = nullptr;
    Cabling::Inbound* inbound_ = nullptr;
    const uint32_t* routes_row_ = nullptr;  // of this node in the tables
    uint32_t lanes_;
    bool has_credits_;
    bool uses_lifetime_;  // of the head of a queue
    bool cuts_through_;
    bool marks_at_dequeue_;
    bool marks_at_enqueue_;
    bool is_simple_;  // a free line is all that a packet needs
    std::vector<VlRound> rounds_;
    std::vector<Flowlet> flowlets_;
    std::vector<uint32_t> own_row_;  // instead of that of the tables, once something was written
};

}  // namespace tulle::fabric
