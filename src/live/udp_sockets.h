// Sends and receives datagrams of RoCE v2, many per call of the kernel, on UDP port 4791 of some
// addresses of this machine (IBTA annex A17).
//
// Out: packets of one size to one destination form one batch (UDP_SEGMENT), and several batches one
// call (sendmmsg). They leave from a few source ports, so that routers spread queue pairs over
// their paths. In: the kernel joins datagrams that came together (UDP_GRO), and we cut them again.
//
// The kernel numbers the datagrams that it cuts from a batch: on an unconnected socket with "don't
// fragment" the first one has the IPv4 identification 0, the next 1, and so on. The ICRC covers the
// identification, so reserve() tells it to the caller.
#pragma once

#include <sys/socket.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "live/descriptor.h"
#include "live/udp_addresses.h"

namespace tulle::live {

// A datagram that came, and what the socket tells about it.
struct UdpArrival {
    wire::Gid source;
    wire::Gid destination;
    uint16_t source_port = 0;
    uint8_t traffic_class = 0;
    uint16_t place = 0;  // among those that came together
    std::span<const std::byte> body;
};

// Where a datagram goes.
struct UdpDeparture {
    wire::Gid source;  // one of ours
    wire::Gid destination;
    uint16_t entropy = 0;  // of the queue pair: chooses the port that it leaves from
    uint8_t traffic_class = 0;
    size_t bytes = 0;
    uint32_t queue_pair = 0;  // the destination; a batch is for one process
    // An acknowledgement: the next packet to the same destination may go before it, so that both
    // are one batch. All segments of a batch have one size; only the last may be shorter.
    bool may_follow = false;
};

class UdpSockets {
public:
    static constexpr size_t kMostBytes = 64'000;  // of one call: below what an IP packet holds

    // Takes the port at each of these addresses.
    static base::Result<std::unique_ptr<UdpSockets>> open(const std::vector<UdpAddress>& addresses);

    // How many packets a queue pair may have under way, so that they fit into the peer's receive
    // buffer. We assume that it is as large as the one that our kernel gives us.
    static uint32_t window();
    // How many packets fit into that buffer in total.
    static uint32_t room();
    static constexpr uint32_t kMostUnderWay = 128;  // chosen

    struct Place {
        std::span<std::byte> bytes;  // to be written
        uint16_t number = 0;         // its IPv4 identification
        uint16_t source_port = 0;
        std::span<std::byte> moved;  // a packet that now goes second: its identification is now 1
    };
    // Room for one datagram, until flush(). Without bytes if the source is not ours or no port is
    // left.
    Place reserve(const UdpDeparture& to);
    // Cancels the datagram that was reserved last, and the one that it has moved.
    void withdraw();
    // Sends what was written; full batches go earlier. What the kernel has no room for stays; see
    // is_full().
    void flush();
    bool is_full() const { return closed_.size() >= kMostWaiting; }
    bool is_empty() const { return closed_.empty() && open_.empty(); }

    // Calls take(arrival) for each datagram that came, and pause() between many, so that answers go
    // out and the peer can work on. True if there may be more. A call that finds less than it has
    // room for has found all; another one would only cost time.
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
    // Joins a group on the interface of this address of ours. Returns the file that is readable
    // when something has come, or -1. Programs of this machine are reached by rings.
    int join(const wire::Gid& group, const UdpAddress& own);
    void leave(const wire::Gid& group);
    // Files that are readable when something has come.
    std::vector<int> files() const;

    // Steering among processes that share the UDP port: the process with a slot gets datagrams for
    // it, and the listener on a port of the connection manager gets its requests. A place is one in
    // the kernel's list. A probe finds it, since the kernel gives it to that place
    // (udp_neighbours.h).
    struct Steering {
        uint32_t slot = 0;
        uint32_t place = 0;
    };
    struct PortSteering {
        uint32_t port = 0;  // protocol << 16 | port
        uint32_t place = 0;
    };
    void steer(const wire::Gid& address, std::span<const Steering> slots,
               std::span<const PortSteering> ports = {});
    void probe(uint32_t places);
    static std::optional<uint32_t> place_in_probe(const UdpArrival& arrival);

    // Asks whether another machine runs Tulle, or answers. Greetings are shorter than any packet
    // and begin with an unused opcode. `place` and `slot` are those of the process that asks; an
    // answer repeats them.
    struct Greeting {
        bool is_answer = false;
        uint8_t place = 0;
        uint8_t slot = 0;
    };
    void greet(const wire::Gid& from, const wire::Gid& to, const Greeting& greeting);
    static std::optional<Greeting> greeting_in(const UdpArrival& arrival);

    // An error of the kernel for an address: nobody listens there, it cannot be reached, or a
    // datagram was too long for the path.
    struct Error {
        wire::Gid about;
        int number = 0;
        std::vector<std::byte> quoted{};  // the datagram, as far as a router or the peer quotes it
    };
    // The newest for an address, 0 if there is none.
    int error_of(const wire::Gid& address) const;
    // Calls take(error) for each error since the last call.
    bool has_new_errors() const { return new_errors_ != 0; }
    template <class Take>
    void take_new_errors(Take&& take) {
        for (size_t left = std::exchange(new_errors_, 0); left > 0; --left) take(errors_[left - 1]);
    }

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
    // Chosen: a batch of this size is worth a call of its own, which adds little to its cost.
    static constexpr size_t kWorthACall = 32 << 10;
    static constexpr size_t kSenders = 8;  // chosen: source ports per address of a process
    static constexpr size_t kArrivals = 4;
    // After this many looks in vain the caller may be spinning, and will likely find one datagram.
    // Asking for more would cost another look of the kernel each time.
    static constexpr uint32_t kSpins = 1;  // chosen
    static constexpr size_t kRoom = 1 << 16;

    struct Receiver {
        UdpAddress address;
        Descriptor socket;
        uint32_t vain_looks = 0;  // in a row
        std::unique_ptr<std::byte[]> room;
        std::array<sockaddr_storage, kArrivals> from;
        std::array<std::array<std::byte, 128>, kArrivals> control;
        std::array<iovec, kArrivals> parts;  // of the room
        std::array<mmsghdr, kArrivals> messages;
        void make_room();
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
        bool is_complete = false;  // its last datagram is shorter than the others
        bool may_follow = false;   // its only datagram may go second
        bool has_failed = false;
        size_t bytes = 0;
        size_t last = 0;  // bytes of the datagram reserved last, and of the one that it has moved
        uint16_t last_count = 0;
        std::unique_ptr<std::byte[]> room;
    };
    // Queue pairs take turns, packet by packet. Each port has its own batch, so packets of one
    // queue pair stay in one batch whatever others send meanwhile.
    struct Sender {
        Descriptor socket;
        uint16_t port = 0;
        bool is_open = false;
        Batch open;
    };

    // Addresses that receive nothing are only looked at now and then, except the one that received
    // last: a look is a system call, and a thread that spins would make one for each address.
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
    // Those of our addresses; groups come after them.
    std::span<Receiver> own_receivers() { return std::span(receivers_).first(senders_.size()); }
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
    void note_error(Error error);

    std::vector<Receiver> receivers_;
    std::vector<std::array<Sender, kSenders>> senders_;  // by receiver
    std::vector<Sender*> open_;                          // with a batch, in the order of its start
    Sender* last_ = nullptr;                             // of the last reservation
    std::deque<Batch> closed_;
    std::vector<std::unique_ptr<std::byte[]>> spare_;
    int heard_last_ = -1;  // the socket
    bool is_steered_ = false;
    bool has_segments_ = true;  // the kernel cuts what is sent together
    std::deque<Error> errors_;  // the newest in front
    size_t new_errors_ = 0;
    Counts counts_;
};

}  // namespace tulle::live
