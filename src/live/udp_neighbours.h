// Processes of one machine share UDP port 4791, and none of them is in charge. The kernel gives
// each datagram to one of them. A small program of ours decides which (classic BPF,
// SO_ATTACH_REUSEPORT_CBPF): by the slot in the number of the destination queue pair. If a datagram
// still lands at the wrong process, it is handed over to the right one through its ring.
//
// The program names processes by their places in the kernel's list. Places change when a process
// comes or goes, and the kernel tells nobody. So we send probes: a datagram of our own names the
// place that gets it. The process that receives it knows that the place is its own, and shows it on
// its board. If a datagram lands wrong, all places are probed again and the program is made anew.
//
// Messages of the connection manager are for queue pair 1 of the whole machine. A request is for
// the process that listens on its port; all other messages name a communication ID, whose highest
// bits are a slot. The program in the kernel reads both. Otherwise a message could lie in the
// socket of another process and be lost with it, and its sender retransmits only after seconds.
//
// A request that comes before its listener is held for a moment: a program may have told its client
// by other means that it is ready, and be about to listen. A message for a process that has begun
// and is not known yet is held, too. Managers wait longer for an answer than we hold a message
// (IBTA vol 1, 12.7.4: seconds as a rule), so they do not notice.
//
// What a stranger on the network can make us hold is bounded: 4,096 addresses, 64 messages that
// came too early, 256 packets out of order for each queue pair that is connected to it, and as many
// requests for connections as the listener's backlog and the manager's table take (transport/cm).
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "live/udp_path.h"
#include "live/world.h"

namespace tulle::live {

class UdpNeighbours {
public:
    UdpNeighbours(World& world, UdpPath& udp) : world_(world), udp_(udp) {}

    enum class Whose : uint8_t { ours, others, nobodys };  // nobodys: the arrival is dealt with
    struct Handling {
        Whose whose = Whose::ours;
        uint32_t peer = 0;  // for `others`: the peer whose ring has it and must be flushed
    };
    // Judges an arrival by the number of its queue pair, before anything else.
    Handling judge(base::Instant now, const UdpArrival& arrival);
    // Judges an arrival that is known to be a message of the connection manager.
    Handling judge_management(base::Instant now, const UdpArrival& arrival,
                              std::span<const std::byte> message);
    // Reads an arrival that a neighbour has handed over; nothing if it is malformed.
    static std::optional<UdpArrival> read_handed(std::span<const std::byte> record);

    // Asks whether a peer runs Tulle (udp_sockets.h). Other peers do not answer.
    void greet(base::Instant now, Peer& peer);
    // The end points that have answered since the last call.
    bool has_ours() const { return !ours_.empty(); }
    std::vector<uint32_t> take_ours() { return std::exchange(ours_, {}); }

    // A held request that is due: there is a listener now, or it was held for long enough. It is
    // judged once more and not held again.
    std::optional<UdpArrival> take_held(base::Instant now);

    void begin(base::Instant now);
    // Probes places and updates the kernel's program, when it is time.
    void work(base::Instant now);
    bool has_work(base::Instant now) const { return next_deadline() <= now; }
    base::Instant next_deadline() const { return std::min(work_at_, look_at_held_); }
    uint64_t handed_over() const { return handed_over_; }
    uint64_t held() const { return held_count_; }
    uint64_t nobodys() const { return nobodys_; }

private:
    // The addressee of a message that nobody has taken yet: the listener on a port, or the process
    // in a slot.
    struct Addressee {
        uint32_t port = 0;
        std::optional<uint32_t> slot{};
    };
    struct Held {
        UdpArrival arrival;
        std::vector<std::byte> body;
        Addressee whom;
        base::Instant until;
    };
    // A look for a process in a slot that found none.
    struct LastLook {
        base::Instant until{};  // how long it is valid
        bool was_marked = false;
    };

    bool hold(base::Instant now, const UdpArrival& arrival, Addressee whom);
    bool take_probe(const UdpArrival& arrival);
    Handling judge_greeting(base::Instant now, const UdpArrival& arrival);
    std::optional<uint32_t> neighbour_in(base::Instant now, uint32_t slot);
    std::optional<uint32_t> neighbour_listening(base::Instant now, uint32_t port);
    Handling hand_over(base::Instant now, uint32_t peer, const UdpArrival& arrival);
    bool is_neighbour(const Peer& peer) const;
    bool takes_what_is_handed(uint32_t index);
    uint32_t ask();
    void steer();

    World& world_;
    UdpPath& udp_;
    std::array<LastLook, kSlots> last_looks_{};
    base::Instant meet_again_{};
    base::Instant work_at_ = base::Instant::never();
    base::Instant not_before_{};
    bool has_asked_ = false;
    uint64_t handed_over_ = 0;
    std::vector<uint32_t> ours_;
    std::deque<Held> held_;
    Held released_;  // the last one that take_held() returned
    base::Instant look_at_held_ = base::Instant::never();
    uint64_t held_count_ = 0;
    uint64_t nobodys_ = 0;
};

}  // namespace tulle::live
