// Switches that speak BGP over cables that break, in virtual time and without any other packet.
//
// The processor of a switch does one thing at a time: `handle` for each message that it takes,
// `route` more for each route in it, `send` for each that it sends; keepalives and BFD cost
// nothing. Writing an entry of the forwarding table takes `install`, beside all else. These are
// chosen, since nobody publishes them for switches; they scale times and do not change the number
// of messages.
#pragma once

#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "control/distributed/autonomous_systems.h"
#include "control/distributed/speaker.h"
#include "control/history.h"

namespace tulle::control {

class FabricOfSpeakers {
public:
    // `delays`: of each cable.
    FabricOfSpeakers(const topology::Graph& graph, std::vector<base::Duration> delays,
                     const DistributedSettings& settings);

    base::Instant now() const { return now_; }
    void set_cable(uint32_t cable, bool is_up);
    // One that comes back has forgotten everything.
    void set_switch(uint32_t node, bool is_up);

    void run_until(base::Instant limit);
    // Until sessions are as the cables are and no route is under way, or until the time; true if
    // so.
    bool run_until_settled(base::Instant limit);

    // By endpoint: the prefix of its switch.
    const std::vector<Prefix>& prefix_of() const { return prefix_of_; }
    Prefix prefix_count() const { return prefix_count_; }
    const Speaker& speaker(uint32_t node) const { return *speakers_[node]; }
    PortLists& lists() { return lists_; }
    // Of the forwarding tables, since the last call; those of one node by time.
    std::vector<TableWrite> take_writes();
    uint64_t messages() const { return messages_; }  // sent, without keepalives and BFD
    std::vector<uint32_t> tables() const;            // as History has them

private:
    enum class Kind : uint8_t { arrival, handled, timer, light, resume };
    struct Event {
        base::Instant at;
        uint64_t order = 0;
        Kind kind = Kind::arrival;
        bool is_up = false;
        uint32_t node = 0;
        uint16_t port = 0;
        uint64_t number = 0;   // of the message on its direction of the cable
        uint32_t outages = 0;  // of the cable, when it was sent
        uint32_t message = 0;  // a place in the pool

        bool operator>(const Event& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    // One direction of a cable, known by the end that sends.
    struct Direction {
        uint64_t sent = 0;
        std::map<uint64_t, BgpMessage> lost;  // TCP will send them again
    };

    void push(Event event);
    void handle(const Event& event);
    void arrive(const Event& event);
    void drain(uint32_t node);
    void transmit(base::Instant at, uint32_t node, const BgpOut& out);
    void deliver(base::Instant at, topology::CableEnd from, uint64_t number, BgpMessage message);
    void lose(topology::CableEnd from, uint64_t number, BgpMessage message);
    void forget_lost(topology::CableEnd from);
    void resume(topology::CableEnd from);
    void start_sessions(uint32_t node);
    void change_cable(uint32_t cable);
    void note_session(uint32_t node, uint16_t port);
    void set_timer(uint32_t node);
    void make_speaker(uint32_t node);
    Direction& direction(topology::CableEnd from) {
        return directions_[2 * size_t{ports_.at(from).cable} +
                           (topology_.cables[ports_.at(from).cable].a == from ? 0 : 1)];
    }
    bool is_between_switches(uint32_t cable) const;
    uint32_t keep(BgpMessage message);

    const topology::Graph topology_;
    topology::Ports ports_;
    std::vector<base::Duration> delays_;
    DistributedSettings settings_;
    AsPaths paths_;
    std::vector<uint32_t> systems_;   // by node
    std::vector<Prefix> prefix_of_;   // by endpoint
    std::vector<Prefix> own_prefix_;  // by node
    Prefix prefix_count_ = 0;
    std::vector<std::unique_ptr<Speaker>> speakers_;  // by node; none of hosts
    std::vector<base::Instant> free_at_;              // by node: its processor
    std::vector<base::Instant> installed_at_;         // by node: the last entry
    std::vector<base::Instant> timer_;
    std::vector<bool> cable_up_;
    std::vector<bool> node_up_;
    std::vector<bool> works_;         // by cable: it and its ends
    std::vector<uint32_t> outages_;   // by cable
    std::vector<bool> is_unsettled_;  // by cable: a session is not as the cable is
    uint64_t unsettled_ = 0;
    uint64_t under_way_ = 0;  // messages, without keepalives and BFD
    std::vector<Direction> directions_;
    base::Instant now_{};
    uint64_t order_ = 0;
    uint64_t messages_ = 0;
    PortLists lists_;
    std::vector<TableWrite> writes_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
    std::vector<BgpMessage> pool_;
    std::vector<uint32_t> free_;
};

}  // namespace tulle::control
