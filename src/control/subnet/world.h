// A fabric of agents and managers in virtual time, for bring-up and repair without packets of any
// other kind: SMPs travel hop by hop over cables that may break and lose them.
//
// An agent does one thing at a time: passing an SMP on takes `relay`, answering one `answer`; a
// manager takes `manage` for each SMP that it sends. These are chosen, since nobody publishes them
// for switches; they scale the result and do not change the number of SMPs.
#pragma once

#include <memory>
#include <queue>
#include <vector>

#include "base/random.h"
#include "control/subnet/agent/agent.h"
#include "control/subnet/check/reach.h"
#include "control/subnet/manager/manager.h"

namespace tulle::control {

struct WorldSettings {
    base::Duration cable{500'000};      // 500 ns: some metres, and the port's logic
    base::Duration relay{5'000'000};    // 5 us
    base::Duration answer{20'000'000};  // 20 us
    base::Duration manage{2'000'000};   // 2 us
    uint64_t loss_per_million = 0;      // SMPs lost on each cable
    uint64_t seed = 1;
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
    void set_loss(uint64_t per_million) { settings_.loss_per_million = per_million; }

    // Until a manager has settled and nothing is under way, or until the time; true if it has.
    bool run_until_settled(base::Instant limit);
    void run_until(base::Instant limit);

    Agent& agent(uint32_t node) { return agents_[node]; }
    uint64_t events() const { return events_; }
    uint64_t lost() const { return lost_; }
    // Follows the tables that the agents have, over cables that work and ports that are active.
    Reach reach() const;
    bool all_links_are_active() const;

private:
    enum class Kind : uint8_t { arrival, manager_sends, node_timer, manager_timer };
    struct Event {
        base::Instant at;
        uint64_t order = 0;
        Kind kind = Kind::arrival;
        uint32_t who = 0;  // a node or a manager
        uint8_t port = 0;
        uint16_t to = 0;
        uint32_t smp = 0;  // a place in the pool

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
    };

    void push(Event event);
    void handle(const Event& event);
    void arrive(const Event& event);
    void drain(uint32_t node);
    void transmit(uint32_t node, const SmpOut& out);
    void give_to_manager(uint32_t node, const SmpBytes& smp);
    void touch(size_t number);
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
    std::vector<bool> cable_up_;
    std::vector<Living> managers_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
    std::vector<SmpBytes> pool_;
    std::vector<uint32_t> free_;  // places in the pool
};

}  // namespace tulle::control
