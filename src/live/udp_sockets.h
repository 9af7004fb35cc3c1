// Datagrams of RoCE v2, in and out of the kernel many at a time: UDP port 4791 of some addresses of
// this machine (IBTA annex A17).
//
// Out: packets of one size to one place are one call (UDP_SEGMENT), several such calls one more
// (sendmmsg). They leave from a few ports of their own, so that routers spread queue pairs over
// their paths. In: the kernel joins what came together (UDP_GRO), and we cut it again.
//
// The kernel numbers what it cuts: unconnected and with "don't fragment", the first datagram of a
// call has the IPv4 identification 0, the next 1, and so on. The ICRC covers it, so whoever writes
// a datagram is told its place.
#pragma once

#include <sys/socket.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/descriptor.h"
#include "live/udp_addresses.h"

namespace tulle::live {

// What a socket tells of one that came.
struct UdpArrival {
    wire::Gid source;
    wire::Gid destination;
    uint16_t source_port = 0;
    uint8_t traffic_class = 0;
    uint16_t place = 0;  // among those that came together
    std::span<const std::byte> body;
};

// Where one goes.
struct UdpDeparture {
    wire::Gid source;  // one of ours
    wire::Gid destination;
    uint16_t entropy = 0;  // of the queue pair: chooses the port that it leaves from
    uint8_t traffic_class = 0;
    size_t bytes = 0;
    uint32_t queue_pair = 0;  // that it is for: what goes together is for one process
    // An acknowledgement: what is sent next to the same place may go before it, so that both are
    // one call and one packet of the kernel. Segments have one size but for the last.
    bool may_follow = false;
};

class UdpSockets {
public:
    static constexpr size_t kMostBytes = 64'000;  // of one call: below what an IP packet holds

    // Takes the port at each of these addresses.
    static base::Result<std::unique_ptr<UdpSockets>> open(const std::vector<UdpAddress>& addresses);

    // How many packets a queue pair may have under way, so that they fit into a receive buffer as
    // the kernel gives it to us: the peer's is taken to be as large.
    static uint32_t window();
    // How many packets fit into it in all.
    static uint32_t room();
    static constexpr uint32_t kMostUnderWay = 128;  // chosen

    struct Place {
        std::span<std::byte> bytes;  // to be written
        uint16_t number = 0;         // its IPv4 identification
        uint16_t source_port = 0;
        std::span<std::byte> moved;  // one that now follows: its identification is number + 1
    };
    // Room for one, until flush(). Nothing (no bytes) if the source is not ours or there is no
    // port left.
    Place reserve(const UdpDeparture& to);
    // The one that was reserved last does not go, nor the one that it has moved.
    void withdraw();
    // What was written goes, a lot of it before this is called. What the kernel has no room for
    // stays; see is_full().
    void flush();
    bool is_full() const { return closed_.size() >= kMostWaiting; }
    bool is_empty() const { return closed_.empty() && open_.empty(); }

    // Calls take(arrival) for each one that came, and pause() amid many: the peer works on while it
    // hears of what has arrived. True if there may be more: a call that finds less than it has room
    // for has found all, and one more would only cost time.
    template <class Take, class Pause>
    bool receive(Take&& take, Pause&& pause) {
        bool has_more = false;
        for (Receiver& receiver : receivers_) {
            if (is_skipped(receiver)) continue;
            const int count = fill(receiver);
            for (int i = 0; i < count; ++i) {
                cut(receiver, static_cast<size_t>(i), take);
                if (receiver.messages[static_cast<size_t>(i)].msg_len >= kWorthACall) pause();
            }
            has_more = has_more || count == static_cast<int>(kArrivals);
        }
        return has_more;
    }
    template <class Take>
    bool receive(Take&& take) {
        return receive(std::forward<Take>(take), [] {});
    }
    // Hears what is sent to a group, on the interface of this address of ours: the file that is
    // readable when something has come, or -1. Local programs are reached otherwise.
    int join(const wire::Gid& group, const UdpAddress& own);
    void leave(const wire::Gid& group);
    // Readable when something has come.
    std::vector<int> files() const;

    // Among processes that share the port: who has this slot gets what is for it. A place is one in
    // the kernel's list, and is asked for by a probe, which is given to it (udp_neighbours.h).
    struct Steering {
        uint32_t slot = 0;
        uint32_t place = 0;
    };
    void steer(const wire::Gid& address, std::span<const Steering> table);
    void probe(uint32_t places);
    static std::optional<uint32_t> place_in_probe(const UdpArrival& arrival);

    // Whether another machine speaks as we do: asked, and answered, by datagrams that are shorter
    // than any packet and begin with an opcode that nobody has. `place` is where the asker gets
    // what is for it, `slot` its own; an answer repeats them.
    struct Greeting {
        bool is_answer = false;
        uint8_t place = 0;
        uint8_t slot = 0;
    };
    void greet(const wire::Gid& from, const wire::Gid& to, const Greeting& greeting);
    static std::optional<Greeting> greeting_in(const UdpArrival& arrival);

    // An address that said that nobody listens, or that cannot be reached, or a datagram that was
    // too long for the way: the error of the kernel, 0 if there was none. Newest first.
    int error_of(const wire::Gid& address) const;

    struct Counts {
        uint64_t sent = 0;
        uint64_t received = 0;
        uint64_t calls_out = 0;
        uint64_t calls_in = 0;
        uint64_t errors = 0;
    };
    const Counts& counts() const { return counts_; }

private:
    static constexpr size_t kMostWaiting = 16;
    // Chosen: so many bytes that a call for them alone costs little of what they cost anyway.
    static constexpr size_t kWorthACall = 32 << 10;
    static constexpr size_t kSenders = 8;  // chosen: ports that a process sends from, an address
    static constexpr size_t kArrivals = 4;
    // Whoever has looked that often in vain may spin, and is likely to find one datagram: asking
    // for more would cost one more look of the kernel for each.
    static constexpr uint32_t kSpins = 1;  // chosen
    static constexpr size_t kRoom = 1 << 16;

    struct Receiver {
        UdpAddress address;
        Descriptor socket;
        uint32_t vain_looks = 0;  // in a row
        std::unique_ptr<std::byte[]> room;
        std::array<sockaddr_storage, kArrivals> from;
        std::array<std::array<std::byte, 128>, kArrivals> control;
        std::array<iovec, kArrivals> parts;
        std::array<mmsghdr, kArrivals> messages;
    };
    struct Batch {
        int socket = -1;
        uint16_t port = 0;
        wire::Gid source;
        wire::Gid destination;
        uint8_t traffic_class = 0;
        uint32_t queue_pair = 0;
        uint16_t segment = 0;
        uint16_t count = 0;
        bool is_complete = false;  // by a shorter one
        bool may_follow = false;   // the only one
        size_t bytes = 0;
        size_t last = 0;  // bytes of the one that was reserved last, and of what it has moved
        uint16_t last_count = 0;
        std::unique_ptr<std::byte[]> room;
    };
    // Queue pairs take turns, packet by packet: each port has a batch of its own, so that what one
    // of them sends is one call whatever others send meanwhile.
    struct Sender {
        Descriptor socket;
        uint16_t port = 0;
        bool is_open = false;
        Batch open;
    };

    // Of several addresses those that hear nothing are looked at now and then, but for the one that
    // has heard something last: a look is a system call, and whoever spins makes one for each.
    bool is_skipped(Receiver& receiver) const {
        constexpr uint32_t kVainLooks = 64;  // chosen
        constexpr uint32_t kEvery = 32;      // chosen
        if (receiver.vain_looks < kVainLooks || receiver.socket.get() == heard_last_) return false;
        return ++receiver.vain_looks % kEvery != 0;
    }
    int fill(Receiver& receiver);
    static UdpArrival describe(const Receiver& receiver, size_t index, size_t& segment);
    template <class Take>
    void cut(Receiver& receiver, size_t index, Take&& take) {
        size_t segment = 0;
        UdpArrival arrival = describe(receiver, index, segment);
        std::span<const std::byte> rest = arrival.body;
        while (!rest.empty()) {
            arrival.body = rest.first(std::min(segment, rest.size()));
            rest = rest.subspan(arrival.body.size());
            ++counts_.received;
            take(arrival);
            ++arrival.place;
        }
    }
    Sender* sender_for(const wire::Gid& source, uint16_t entropy);
    bool goes_the_same_way(const Sender& sender, const UdpDeparture& to) const;
    static bool fits(const Batch& open, const UdpDeparture& to);
    static bool goes_before(const Batch& open, const UdpDeparture& to);
    static Place put_before(Batch& open, const UdpDeparture& to);
    void begin(Sender& sender, const UdpDeparture& to);
    void close_batch(Sender& sender);
    void send_closed();
    size_t send_some();
    void on_error(Batch& batch, int error);
    void read_errors(int socket);

    std::vector<Receiver> receivers_;
    std::vector<std::array<Sender, kSenders>> senders_;  // beside the receivers
    std::vector<Sender*> open_;                          // those with a batch, as they began
    Sender* last_ = nullptr;                             // that was reserved from
    std::deque<Batch> closed_;
    std::vector<std::unique_ptr<std::byte[]>> spare_;
    int heard_last_ = -1;  // the socket
    bool is_steered_ = false;
    bool has_segments_ = true;  // the kernel cuts what is sent together
    std::deque<std::pair<wire::Gid, int>> errors_;
    Counts counts_;
};

}  // namespace tulle::live
