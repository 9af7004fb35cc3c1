// A fabric of agents and managers in virtual time, for bring-up and repair without packets of any
// other kind: SMPs travel hop by hop over cables that may break and lose them.
//
// An agent does one thing at a time: passing an SMP on takes `relay`, answering one `answer`; a
// manager takes `manage` for each SMP that it sends. These are chosen, since nobody publishes them
// for switches; they scale the result and do not change the number of SMPs.
#pragma once

#include <array>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "base/random.h"
#include "control/history.h"
#include "control/subnet/agent/agent.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/manager/manager.h"

namespace tulle::control {

struct WorldSettings {
    base::Duration cable{500'000};         // 500 ns: some metres, and the port's logic
    base::Duration relay{5'000'000};       // 5 us
    base::Duration answer{20'000'000};     // 20 us
    base::Duration manage{2'000'000};      // 2 us
    std::vector<base::Duration> cables{};  // by cable, instead of `cable`; empty: all are alike
    base::Duration light{};                // from a change of a cable to its ends' knowing it
    base::Duration route{};                // a manager routes: for each entry of a table
    uint64_t loss_per_million = 0;         // SMPs lost on each cable
    uint64_t seed = 1;
};

// A block of a switch's linear forwarding table that was written.
struct BlockWrite {
    base::Instant at;
    uint32_t node = 0;
    uint32_t block = 0;
    std::array<uint8_t, kLidsOfBlock> ports{};
};

class World {
public:
    World(const topology::Graph& graph, WorldSettings settings);

    base::Instant now() const { return now_; }
    // Lives at the first port of a host. Returns its number.
    size_t add_manager(uint32_t node, ManagerSettings settings, LidsByGuid lids = {});
    void start_manager(size_t number);
    void kill_manager(size_t number);
    Manager& manager(size_t number) { return *managers_[number].manager; }
    bool is_alive(size_t number) const { return managers_[number].manager != nullptr; }
    void set_cable(uint32_t cable, bool is_up);
    // A switch goes with all its cables; one that comes back has forgotten everything.
    void set_switch(uint32_t node, bool is_up);
    void set_loss(uint64_t per_million) { settings_.loss_per_million = per_million; }

    // Until a manager has settled and nothing is under way, or until the time; true if it has.
    bool run_until_settled(base::Instant limit);
    void run_until(base::Instant limit);
    // Until no manager has anything left to do: unlike settled, also not what it heard just now.
    bool run_until_at_rest(base::Instant limit);
    bool is_at_rest() const;

    // Since the last call, by time.
    std::vector<BlockWrite> take_block_writes() { return std::exchange(block_writes_, {}); }
    // Cables that came back and that a manager made active, since the last call, by time.
    std::vector<CableReady> take_ready() { return std::exchange(ready_, {}); }
    // SMPs that managers sent, and traps.
    uint64_t smps() const;
    bool is_active(uint32_t cable) const;

    Agent& agent(uint32_t node) { return agents_[node]; }
    uint64_t events() const { return events_; }
    uint64_t lost() const { return lost_; }
    // Follows the tables that the agents have, over cables that work and ports that are active.
    Reach reach() const;
    bool all_links_are_active() const;

private:
    enum class Kind : uint8_t { arrival, manager_sends, node_timer, manager_timer, light };
    struct Event {
        base::Instant at;
        uint64_t order = 0;
        Kind kind = Kind::arrival;
        uint32_t who = 0;  // a node or a manager
        uint8_t port = 0;
        uint16_t to = 0;
        uint32_t smp = 0;  // a place in the pool
        bool is_up = false;

        bool operator>(const Event& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    struct Living {
        std::unique_ptr<Manager> manager;
        uint32_t node = 0;
        base::Instant free_at{};
        bool sends = false;  // an event is under way
        base::Instant timer = base::Instant::never();
        uint64_t routings = 0;  // that were paid for in time
    };

    void push(Event event);
    void handle(const Event& event);
    void arrive(const Event& event);
    void drain(uint32_t node);
    void transmit(uint32_t node, const SmpOut& out);
    void give_to_manager(uint32_t node, const SmpBytes& smp);
    void touch(size_t number);
    void change_cable(uint32_t cable);
    Agent make_agent(uint32_t node) const;
    void note_write(uint32_t node, const SmpBytes& smp);
    void note_active(uint32_t node);
    void set_link(topology::CableEnd end, bool is_up);
    base::Duration delay(uint32_t cable) const {
        return settings_.cables.empty() ? settings_.cable : settings_.cables[cable];
    }
    void set_timer(uint32_t node);
    uint32_t keep(const SmpBytes& smp);

    const topology::Graph graph_;
    topology::Ports ports_;
    WorldSettings settings_;
    base::RandomStream random_;
    base::Instant now_{};
    uint64_t order_ = 0;
    uint64_t events_ = 0;
    uint64_t lost_ = 0;
    uint64_t under_way_ = 0;              // SMPs
    std::vector<Agent> agents_;           // by node
    std::vector<base::Instant> free_at_;  // by node
    std::vector<base::Instant> timer_;    // by node
    std::vector<uint64_t> guids_;         // by node
    std::vector<bool> cable_whole_;
    std::vector<bool> node_up_;
    std::vector<bool> cable_up_;  // it works, and so do its ends
    std::vector<BlockWrite> block_writes_;
    std::vector<bool> is_ready_;  // by cable
    std::vector<CableReady> ready_;
    uint64_t lights_pending_ = 0;
    uint64_t sent_by_the_dead_ = 0;
    std::vector<Living> managers_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
    std::vector<SmpBytes> pool_;
    std::vector<uint32_t> free_;  // places in the pool
};

}  // namespace tulle::control
