// A fabric of agents and managers in virtual time, for bring-up and repair. It carries only
// management packets: MADs travel hop by hop over cables that may fail or lose them.
//
// An agent does one thing at a time: forwarding an SMP takes `relay`, answering one takes `answer`.
// A manager takes `manage` for each SMP that it sends. These values are chosen, since nobody
// publishes them for switches; they scale the times and do not change the number of SMPs.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "control/agenda.h"
#include "control/history.h"
#include "control/subnet/agent/agent.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/gmps.h"
#include "control/subnet/manager/manager.h"

namespace tulle::control {

struct WorldSettings {
    base::Duration cable{500'000};         // 500 ns: a few metres, and the port's logic
    base::Duration relay{5'000'000};       // 5 us
    base::Duration answer{20'000'000};     // 20 us
    base::Duration manage{2'000'000};      // 2 us
    std::vector<base::Duration> cables{};  // by cable, instead of `cable`; empty: all are equal
    base::Duration light{};                // until both ends notice that a cable changed
    base::Duration route{};                // for each table entry that a manager computes
    uint64_t loss_per_million = 0;         // MADs lost on each cable
    // Further losses: MADs of 10^12 lost on the way from each end of a cable; empty: none.
    std::vector<std::array<uint64_t, 2>> losses{};
    uint64_t seed = 1;
};

// A block of a switch's linear forwarding table that was written.
struct BlockWrite {
    base::Instant at;
    uint32_t node = 0;
    uint32_t block = 0;
    std::array<uint8_t, kLidsOfBlock> ports{};
};

// All SL to VL maps of a switch, after one of them was written.
struct LaneWrite {
    base::Instant at;
    uint32_t node = 0;
    std::vector<uint64_t> maps;
};

struct TableWrites {
    std::vector<BlockWrite> blocks;
    std::vector<LaneWrite> lanes;
};

// MADs in flight, by place.
class MadPool {
public:
    uint32_t keep(const MadBytes& mad) {
        if (free_.empty()) {
            mads_.push_back(mad);
            return static_cast<uint32_t>(mads_.size() - 1);
        }
        const uint32_t place = free_.back();
        free_.pop_back();
        mads_[place] = mad;
        return place;
    }
    MadBytes take(uint32_t place) {
        free_.push_back(place);
        return mads_[place];
    }

private:
    std::vector<MadBytes> mads_;
    std::vector<uint32_t> free_;
};

class World {
public:
    World(const topology::Graph& graph, WorldSettings settings);

    base::Instant now() const { return now_; }
    // Adds a manager at the first port of a host. Returns its number.
    size_t add_manager(uint32_t node, ManagerSettings settings, LidsByGuid lids = {});
    void start_manager(size_t number);
    void kill_manager(size_t number);
    Manager& manager(size_t number) { return *managers_[number].manager; }
    bool is_alive(size_t number) const { return managers_[number].manager != nullptr; }
    Gmps& gmps() { return gmps_; }
    // A host queries subnet administration, at the manager that its port knows.
    SaAnswer ask(uint32_t node, const SaQuestion& question);
    // A host sends a MAD on QP 1 to a LID; nothing: no answer came.
    std::optional<MadBytes> ask_agent(uint32_t node, uint16_t to, const MadBytes& mad);
    // Delivers a MAD to a node as if somebody there had sent it, on a lane of the caller's choice.
    void inject(uint32_t node, uint8_t port, uint8_t lane, const MadBytes& mad);
    void set_cable(uint32_t cable, bool is_up);
    // Stops or starts a switch and its cables. A switch that stops forgets everything.
    void set_switch(uint32_t node, bool is_up);
    void set_loss(uint64_t per_million) { settings_.loss_per_million = per_million; }

    // Runs until a manager has settled and nothing is in flight, or until `limit`; true if settled.
    bool run_until_settled(base::Instant limit);
    void run_until(base::Instant limit);
    // Runs until no manager has anything left to do, including changes that it has just heard of.
    bool run_until_at_rest(base::Instant limit);
    bool is_at_rest() const;

    // Writes since the last call, by time.
    TableWrites take_writes() { return std::exchange(writes_, {}); }
    // Cables that came back and that a manager made active since the last call, by time.
    std::vector<CableReady> take_ready() { return std::exchange(ready_, {}); }
    // MADs that began to leave a port since the last call. From the first call on these and writes
    // of lanes are kept, which are large.
    std::vector<ManagementSent> take_sent() {
        keeps_sent_ = true;
        return std::exchange(sent_, {});
    }
    // The number of SMPs that managers sent, and of traps.
    uint64_t smps() const;

    const Agent& agent(uint32_t node) const { return agents_[node]; }
    // Follows the tables of the agents, over working cables and active ports.
    Reach reach() const;
    // The same for the part of the fabric that cables join to the first port of a host.
    Reach reach_from(uint64_t port_guid) const;
    bool all_links_are_active() const;

private:
    enum class Kind : uint8_t {
        arrival,
        manager_sends,
        node_timer,
        manager_timer,
        light,
        gmp_timer
    };
    struct Event {
        base::Instant at;
        Kind kind = Kind::arrival;
        uint32_t who = 0;  // a node or a manager
        uint8_t port = 0;
        uint16_t to = 0;
        uint16_t from = 0;
        uint8_t lane = kManagementLane;
        uint32_t smp = 0;  // a place in the pool
        bool is_up = false;
    };
    struct Living {
        std::unique_ptr<Manager> manager;
        std::unique_ptr<Administration> administration;
        uint32_t node = 0;
        uint32_t sweeps = 0;  // that administration has been told of
        bool was_master = false;
        base::Instant free_at{};
        bool sends = false;  // an event is pending
        base::Instant timer = base::Instant::never();
        uint64_t routings = 0;  // whose time has been spent
    };

    void handle(const Event& event);
    void arrive(const Event& event);
    void drain(uint32_t node);
    void transmit(uint32_t node, const SmpOut& out, uint8_t lane = kManagementLane);
    void give_to_manager(uint32_t node, const MadBytes& smp);
    void take_gmp(uint32_t node, uint16_t from, const MadBytes& mad);
    void send_gmp(uint32_t node, uint16_t to, const MadBytes& mad);
    void drain_gmps(uint32_t node);
    bool step(base::Instant limit);
    void touch(size_t number);
    void change_cable(uint32_t cable);
    void note_active(uint32_t node);
    void set_link(topology::CableEnd end, bool is_up);
    void set_timer(uint32_t node);

    const topology::Graph graph_;
    topology::Ports ports_;
    WorldSettings settings_;
    base::RandomStream random_;
    base::Instant now_{};
    uint64_t asked_ = 0;         // requests of ask_agent()
    uint64_t under_way_ = 0;     // SMPs
    std::vector<Agent> agents_;  // by node
    Gmps gmps_;
    std::map<uint32_t, base::Instant> gmp_timer_;  // by node
    std::vector<base::Instant> free_at_;           // by node
    std::vector<base::Instant> timer_;             // by node
    std::vector<uint64_t> guids_;                  // by node
    std::vector<bool> cable_whole_;
    std::vector<bool> node_up_;
    std::vector<bool> cable_up_;  // by cable: it and both its ends work
    TableWrites writes_;
    bool keeps_sent_ = false;
    std::vector<ManagementSent> sent_;
    std::vector<bool> is_ready_;  // by cable
    std::vector<CableReady> ready_;
    uint64_t lights_pending_ = 0;
    uint64_t sent_by_the_dead_ = 0;
    std::vector<Living> managers_;
    Agenda<Event> agenda_;
    MadPool pool_;
};

}  // namespace tulle::control
