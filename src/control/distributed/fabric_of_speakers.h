// Switches that speak BGP over cables that break, in virtual time, without other packets.
//
// The processor of a switch does one thing at a time. It takes `handle` for each received message,
// `route` more for each route in it, and `send` for each sent message; keepalives and BFD take no
// time. Writing a forwarding entry takes `install`, in parallel. These values are chosen, since
// nobody publishes them for switches. A switch first takes all waiting messages, then decides and
// sends the changes, as FRR queues decisions (bgp_route.c: process_main_queue). So one UPDATE has
// many routes when much is going on.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/rate.h"
#include "control/agenda.h"
#include "control/distributed/autonomous_systems.h"
#include "control/distributed/cable_states.h"
#include "control/distributed/speaker.h"
#include "control/history.h"

namespace tulle::control {

class FabricOfSpeakers {
public:
    // `delays` and `rates_bps`: one for each cable.
    FabricOfSpeakers(const topology::Graph& graph, std::vector<base::Duration> delays,
                     const std::vector<uint64_t>& rates_bps, const DistributedSettings& settings);

    base::Instant now() const { return now_; }
    void set_cable(uint32_t cable, bool is_up);
    // A switch fails or comes back. One that comes back has forgotten everything.
    void set_switch(uint32_t node, bool is_up);

    void run_until(base::Instant limit);
    // Runs until sessions match the cables and no route is pending, or until `limit`; true if
    // settled.
    bool run_until_settled(base::Instant limit);

    // By endpoint: the prefix of the endpoint's switch.
    const std::vector<Prefix>& prefix_of() const { return prefix_of_; }
    Prefix prefix_count() const { return prefix_count_; }
    const Speaker& speaker(uint32_t node) const { return *speakers_[node]; }
    PortLists& lists() { return lists_; }
    // Writes to forwarding tables since the last call; those of one node are ordered by time.
    const std::vector<TableWrite>& writes() const { return writes_; }
    std::vector<TableWrite> take_writes();
    uint64_t messages() const { return messages_; }  // messages sent, without keepalives and BFD
    SwitchTables tables() const;
    // What began to leave a port since the last call; that of the first call is not kept.
    std::vector<ManagementSent> take_sent() {
        keeps_sent_ = true;
        return std::exchange(sent_, {});
    }

private:
    enum class Kind : uint8_t { arrival, handled, timer, light, resume };
    struct Event {
        base::Instant at;
        Kind kind = Kind::arrival;
        bool is_up = false;
        uint32_t node = 0;
        uint16_t port = 0;
        uint64_t number = 0;   // of the message, on its direction of the cable
        uint32_t outages = 0;  // of the cable, at the time of sending
        uint32_t message = 0;  // a place in the pool
    };
    // One direction of a cable, identified by its sending end.
    struct Direction {
        uint64_t sent = 0;
        base::Instant free_at{};              // messages leave one after the other
        std::map<uint64_t, BgpMessage> lost;  // TCP will retransmit them
    };

    void handle(const Event& event);
    void arrive(const Event& event);
    void drain(uint32_t node);
    void transmit(base::Instant at, uint32_t node, BgpOut&& out);
    void hand_over(base::Instant at, topology::CableEnd from, uint64_t number, BgpMessage message);
    void note_sent(base::Instant at, topology::CableEnd from, uint32_t bytes);
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
    uint32_t keep(BgpMessage message);

    const topology::Graph topology_;
    topology::Ports ports_;
    std::vector<base::Duration> delays_;
    std::vector<base::Rate> rates_;
    DistributedSettings settings_;
    AsPaths paths_;
    std::vector<uint32_t> systems_;   // by node
    std::vector<Prefix> prefix_of_;   // by endpoint
    std::vector<Prefix> own_prefix_;  // by node
    Prefix prefix_count_ = 0;
    std::vector<std::unique_ptr<Speaker>> speakers_;  // by node; nullptr for hosts
    std::vector<base::Instant> free_at_;              // by node: when its processor is free
    std::vector<uint32_t> waiting_;                   // by node: messages to handle
    std::vector<base::Instant> installed_at_;         // by node: when its last entry is installed
    std::vector<base::Instant> timer_;
    CableStates states_;
    std::vector<bool> is_unsettled_;  // by cable: a session does not match the cable
    uint64_t unsettled_ = 0;
    uint64_t under_way_ = 0;  // messages, without keepalives and BFD
    std::vector<Direction> directions_;
    base::Instant now_{};
    uint64_t messages_ = 0;
    bool keeps_sent_ = false;
    std::vector<ManagementSent> sent_;
    PortLists lists_;
    std::vector<TableWrite> writes_;
    Agenda<Event> agenda_;
    std::vector<BgpMessage> pool_;
    std::vector<uint32_t> free_;
};

}  // namespace tulle::control
