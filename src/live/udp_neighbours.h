// Processes of one machine share UDP port 4791, without anybody in charge. The kernel gives each
// datagram to one of them, as a small program of ours says (classic BPF, SO_ATTACH_REUSEPORT_CBPF):
// by the slot in the number of the queue pair that it is for. What lands at the wrong process all
// the same is handed over to the right one, through its ring.
//
// The program names processes by their places in the kernel's list, which change when one comes or
// goes, and which nobody is told. So they are asked for: a datagram of our own says which place it
// is to be given to, and whoever gets it knows that the place is its own, and shows it on its
// board. Something that lands wrong has everybody's place asked for again, and the program made
// anew.
//
// Messages of the connection manager are for queue pair 1 of the whole machine. A request is for
// whoever listens on its port; all else names a communication ID, whose highest bits are a slot.
//
// A request that comes before anybody listens is held for a moment: a program that has told its
// client by other means that it is there may be about to. Its manager waits longer for an answer
// than we hold it (IBTA vol 1, 12.7.4: seconds as a rule), so that nobody sees it.
//
// What a stranger on the network can make us hold is bounded: 4,096 addresses, 64 requests that
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

    enum class Whose : uint8_t { ours, others, nobodys };  // nobodys: nothing is left to do
    struct Verdict {
        Whose whose = Whose::ours;
        uint32_t peer = 0;  // of others: whose ring it lies in, to be flushed
    };
    // By the number of its queue pair, before anything else is looked at.
    Verdict judge(base::Instant now, const UdpArrival& arrival);
    // A message of the connection manager, once it is known to be one.
    Verdict judge_management(base::Instant now, const UdpArrival& arrival,
                             std::span<const std::byte> message);
    // One that a neighbour has handed over; nothing if it is not as it should be.
    static std::optional<UdpArrival> read_handed(std::span<const std::byte> record);

    // Asks whether a peer is one of ours (udp_sockets.h). Nobody else answers.
    void greet(base::Instant now, Peer& peer);
    // The end points that have answered, since this was last asked.
    bool has_ours() const { return !ours_.empty(); }
    std::vector<uint32_t> take_ours() { return std::exchange(ours_, {}); }

    // A request that was held and is due: somebody listens, or it was held for long. It is judged
    // once more and not held again.
    std::optional<UdpArrival> take_held(base::Instant now);

    void begin(base::Instant now);
    // Asks for places and steers, when it is time.
    void work(base::Instant now);
    bool has_work(base::Instant now) const { return next_deadline() <= now; }
    base::Instant next_deadline() const { return std::min(work_at_, look_at_held_); }
    uint64_t handed_over() const { return handed_over_; }
    uint64_t held() const { return held_count_; }
    uint64_t nobodys() const { return nobodys_; }

private:
    struct Held {
        UdpArrival arrival;
        std::vector<std::byte> body;
        uint32_t port = 0;
        base::Instant until;
    };

    bool hold(base::Instant now, const UdpArrival& arrival, uint32_t port);
    bool take_probe(const UdpArrival& arrival);
    Verdict judge_greeting(base::Instant now, const UdpArrival& arrival);
    std::optional<uint32_t> neighbour_in(base::Instant now, uint32_t slot);
    std::optional<uint32_t> neighbour_listening(base::Instant now, uint32_t port);
    Verdict hand_over(base::Instant now, uint32_t peer, const UdpArrival& arrival);
    bool is_neighbour(const Peer& peer) const;
    uint32_t ask();
    void steer();

    World& world_;
    UdpPath& udp_;
    std::array<base::Instant, kSlots> look_again_{};  // for who has a slot that nobody had
    base::Instant meet_again_{};
    base::Instant work_at_ = base::Instant::never();
    base::Instant not_before_{};
    bool has_asked_ = false;
    uint64_t handed_over_ = 0;
    std::vector<uint32_t> ours_;
    std::deque<Held> held_;
    Held released_;  // the one that was taken last
    base::Instant look_at_held_ = base::Instant::never();
    uint64_t held_count_ = 0;
    uint64_t nobodys_ = 0;
};

}  // namespace tulle::live
