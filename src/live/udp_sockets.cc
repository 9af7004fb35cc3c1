#include "live/udp_sockets.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "live/board.h"
#include "wire/ip.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif

namespace tulle::live {
namespace {

constexpr int kBufferBytes = 8 << 20;    // requested; the kernel gives what net.core allows
constexpr uint16_t kMostSegments = 64;   // of one call, in all kernels with UDP_SEGMENT
constexpr uint16_t kFirstPort = 0xc000;  // first source port of RoCE v2 (annex A17.9.2)
constexpr uint32_t kSourcePorts = 0x4000;
constexpr size_t kMostErrors = 64;
constexpr size_t kMostQuoted = 512;      // chosen: more than a message of the connection manager
constexpr uint32_t kLeastUnderWay = 16;  // chosen

union SocketAddress {
    sockaddr generic;
    sockaddr_in four;
    sockaddr_in6 six;
};

SocketAddress address_of(const wire::Gid& gid, uint16_t port, socklen_t& length) {
    SocketAddress address{};
    if (wire::is_ipv4(gid)) {
        address.four.sin_family = AF_INET;
        address.four.sin_port = htons(port);
        std::memcpy(&address.four.sin_addr, gid.bytes.data() + wire::kIpv4Prefix, 4);
        length = sizeof address.four;
    } else {
        address.six.sin6_family = AF_INET6;
        address.six.sin6_port = htons(port);
        std::memcpy(&address.six.sin6_addr, gid.bytes.data(), 16);
        length = sizeof address.six;
    }
    return address;
}

wire::Gid gid_of(const sockaddr_storage& from, uint16_t& port) {
    wire::Gid gid;
    if (from.ss_family == AF_INET6) {
        const auto& six = reinterpret_cast<const sockaddr_in6&>(from);
        std::memcpy(gid.bytes.data(), &six.sin6_addr, 16);
        port = ntohs(six.sin6_port);
        return gid;
    }
    const auto& four = reinterpret_cast<const sockaddr_in&>(from);
    wire::Ipv4Address ip;
    std::memcpy(ip.bytes.data(), &four.sin_addr, 4);
    port = ntohs(four.sin_port);
    return wire::gid_of(ip);
}

bool set(int socket, int level, int option, int value) {
    return setsockopt(socket, level, option, &value, sizeof value) == 0;
}

// The kernel's own socket, even if a library replaces the program's sockets by RDMA sockets.
Descriptor new_socket(const wire::Gid& address) {
    const bool is_four = wire::is_ipv4(address);
    const long made = syscall(SYS_socket, is_four ? AF_INET : AF_INET6,
                              SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    Descriptor socket(static_cast<int>(made));
    if (!socket) return socket;
    set(socket.get(), SOL_SOCKET, SO_RCVBUF, kBufferBytes);
    set(socket.get(), SOL_SOCKET, SO_SNDBUF, kBufferBytes);
    if (is_four) {
        set(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
        set(socket.get(), IPPROTO_IP, IP_RECVERR, 1);
        set(socket.get(), IPPROTO_IP, IP_RECVTOS, 1);
    } else {
        set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
        set(socket.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
        set(socket.get(), IPPROTO_IPV6, IPV6_RECVERR, 1);
        set(socket.get(), IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
        // RoCE v2 has the ICRC instead of a UDP checksum; without this the kernel drops IPv6
        // datagrams that have none.
        set(socket.get(), IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
    }
    return socket;
}

// Datagrams to a group leave by the interface of their source and do not come back: programs of
// this machine are reached by rings.
void send_groups_by(int socket, const UdpAddress& own) {
    if (wire::is_ipv4(own.gid)) {
        ip_mreqn way{};
        way.imr_ifindex = static_cast<int>(own.interface_number);
        setsockopt(socket, IPPROTO_IP, IP_MULTICAST_IF, &way, sizeof way);
        set(socket, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
    } else {
        set(socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(own.interface_number));
        set(socket, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
    }
}

// A link-local address needs its interface.
bool bind_to(int socket, const wire::Gid& gid, uint16_t port, uint32_t interface = 0) {
    socklen_t length = 0;
    SocketAddress address = address_of(gid, port, length);
    if (!wire::is_ipv4(gid)) address.six.sin6_scope_id = interface;
    return bind(socket, &address.generic, length) == 0;
}

std::string why_not(int error, const UdpAddress& address) {
    const std::string place = "UDP port 4791 of " + text_of(address.gid);
    if (error == EADDRINUSE)
        return place +
               " is taken: by a program of another user, by one that is not run by Tulle, or by "
               "the "
               "kernel's own RoCE (rdma_rxe); `ss -ulpn` and `rdma link` show them";
    return place + " cannot be opened: " + std::strerror(error);
}

}  // namespace

base::Result<std::unique_ptr<UdpSockets>> UdpSockets::open(
    const std::vector<UdpAddress>& addresses) {
    auto made = std::make_unique<UdpSockets>();
    made->senders_.resize(addresses.size());
    for (const UdpAddress& address : addresses) {
        Receiver& receiver = made->receivers_.emplace_back();
        receiver.address = address;
        receiver.socket = new_socket(address.gid);
        const int socket = receiver.socket.get();
        if (!receiver.socket || !set(socket, SOL_SOCKET, SO_REUSEPORT, 1) ||
            !bind_to(socket, address.gid, wire::kRoceV2Port, address.interface_number))
            return base::Error{why_not(errno, address)};
        set(socket, IPPROTO_UDP, UDP_GRO, 1);
        receiver.make_room();
    }
    return made;
}

void UdpSockets::Receiver::make_room() {
    room.reset(new std::byte[kArrivals * kRoom]);
    for (size_t i = 0; i < kArrivals; ++i) parts[i] = {room.get() + i * kRoom, kRoom};
}

// Each socket with the same port and group gets a copy of each datagram.
int UdpSockets::join(const wire::Gid& group, const UdpAddress& own) {
    const auto is_it = [&](const Receiver& one) { return one.address.gid == group; };
    if (std::ranges::any_of(receivers_, is_it)) return -1;
    Descriptor socket = new_socket(group);
    bool is_member = false;
    if (socket && wire::is_ipv4(group)) {
        ip_mreqn request{};
        std::memcpy(&request.imr_multiaddr, group.bytes.data() + wire::kIpv4Prefix, 4);
        request.imr_ifindex = static_cast<int>(own.interface_number);
        is_member =
            setsockopt(socket.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) == 0;
        set(socket.get(), IPPROTO_IP, IP_MULTICAST_ALL, 0);
    } else if (socket) {
        ipv6_mreq request{};
        std::memcpy(&request.ipv6mr_multiaddr, group.bytes.data(), 16);
        request.ipv6mr_interface = own.interface_number;
        is_member = setsockopt(socket.get(), IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &request,
                               sizeof request) == 0;
    }
    if (!is_member || !set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1) ||
        !bind_to(socket.get(), group, wire::kRoceV2Port, own.interface_number))
        return -1;
    Receiver& receiver = receivers_.emplace_back();
    receiver.address.gid = group;
    receiver.socket = std::move(socket);
    set(receiver.socket.get(), IPPROTO_UDP, UDP_GRO, 1);
    receiver.make_room();
    return receiver.socket.get();
}

void UdpSockets::leave(const wire::Gid& group) {
    std::erase_if(receivers_, [&](const Receiver& one) { return one.address.gid == group; });
}

uint32_t UdpSockets::room() {
    constexpr uint32_t kCost = 9000;  // of the longest packet in a buffer: two pages and its head
    const Descriptor socket = new_socket(wire::gid_of(wire::Ipv4Address{}));
    int room = 0;
    socklen_t length = sizeof room;
    if (!socket || getsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &room, &length) != 0)
        return kLeastUnderWay;
    return std::max(static_cast<uint32_t>(room) / kCost, kLeastUnderWay);
}

uint32_t UdpSockets::window() {
    return std::min(room(), kMostUnderWay);
}

std::vector<int> UdpSockets::files() const {
    std::vector<int> files;
    for (const Receiver& receiver : receivers_) files.push_back(receiver.socket.get());
    return files;
}

// ---- in -----------------------------------------------------------------------------------------

namespace {

// Receives datagrams and returns their number. The call for a single one is cheaper. It bypasses
// the library, which only adds support for threads that are cancelled while they wait; nobody waits
// here.
int receive_some(int socket, std::span<mmsghdr> messages) {
    if (messages.size() != 1)
        return recvmmsg(socket, messages.data(), static_cast<unsigned>(messages.size()),
                        MSG_DONTWAIT, nullptr);
    const long length = syscall(SYS_recvmsg, socket, &messages[0].msg_hdr, MSG_DONTWAIT);
    messages[0].msg_len = static_cast<unsigned>(length);
    return length < 0 ? -1 : 1;
}

}  // namespace

int UdpSockets::fill(Receiver& receiver) {
    const size_t wanted = receiver.vain_looks < kSpins ? kArrivals : 1;
    for (size_t i = 0; i < wanted; ++i) {
        msghdr& header = receiver.messages[i].msg_hdr;
        header.msg_name = &receiver.from[i];
        header.msg_namelen = sizeof receiver.from[i];
        header.msg_iov = &receiver.parts[i];
        header.msg_iovlen = 1;
        header.msg_control = receiver.control[i].data();
        header.msg_controllen = receiver.control[i].size();
    }
    const int count =
        receive_some(receiver.socket.get(), std::span(receiver.messages).first(wanted));
    receiver.vain_looks = count > 0 ? 0 : receiver.vain_looks + 1;
    if (count > 0) {
        heard_last_ = receiver.socket.get();
        ++counts_.calls_in;
    }
    if (count < 0 && errno != EAGAIN && errno != EINTR) read_errors(receiver.socket.get());
    return count;
}

UdpArrival UdpSockets::describe(const Receiver& receiver, size_t index, size_t& segment) {
    const mmsghdr& message = receiver.messages[index];
    UdpArrival arrival;
    arrival.destination = receiver.address.gid;
    arrival.source = gid_of(receiver.from[index], arrival.source_port);
    arrival.body = {receiver.room.get() + index * kRoom, message.msg_len};
    segment = kRoom;
    auto* header = const_cast<msghdr*>(&message.msg_hdr);
    for (cmsghdr* one = CMSG_FIRSTHDR(header); one != nullptr; one = CMSG_NXTHDR(header, one)) {
        int value = 0;
        if (one->cmsg_level == IPPROTO_UDP && one->cmsg_type == UDP_GRO) {
            std::memcpy(&value, CMSG_DATA(one), sizeof value);
            if (value > 0) segment = static_cast<size_t>(value);
        } else if (one->cmsg_level == IPPROTO_IP && one->cmsg_type == IP_TOS) {
            std::memcpy(&arrival.traffic_class, CMSG_DATA(one), 1);
        } else if (one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_TCLASS) {
            std::memcpy(&value, CMSG_DATA(one), sizeof value);
            arrival.traffic_class = static_cast<uint8_t>(value);
        }
    }
    return arrival;
}

// ---- out ----------------------------------------------------------------------------------------

UdpSockets::Sender* UdpSockets::sender_for(const wire::Gid& source, uint16_t entropy) {
    const auto all = own_receivers();
    const auto own = std::ranges::find_if(
        all, [&](const Receiver& one) { return is_same(one.address.gid, source); });
    if (own == all.end()) return nullptr;
    Sender& sender = senders_[static_cast<size_t>(own - all.begin())][entropy % kSenders];
    if (sender.socket) return &sender;
    Descriptor socket = new_socket(source);
    if (!socket) return nullptr;
    send_groups_by(socket.get(), own->address);
    // Each process starts its search at another port.
    const uint32_t start = static_cast<uint32_t>(getpid()) * 61 + entropy;
    for (uint32_t tries = 0; tries < kSourcePorts; ++tries) {
        const auto port = static_cast<uint16_t>(kFirstPort + (start + tries) % kSourcePorts);
        if (!bind_to(socket.get(), source, port, own->address.interface_number)) continue;
        sender.socket = std::move(socket);
        sender.port = port;
        return &sender;
    }
    return nullptr;
}

bool UdpSockets::goes_the_same_way(const Sender& sender, const UdpDeparture& to) const {
    const Batch& open = sender.open;
    // Two messages for queue pair 1 may be for two processes.
    if (open.queue_pair == 1) return false;
    return sender.is_open && has_segments_ && is_same(open.source, to.source) &&
           is_same(open.destination, to.destination) && open.traffic_class == to.traffic_class &&
           slot_of({open.queue_pair}) == slot_of({to.queue_pair}) &&
           open.bytes + to.bytes <= kMostBytes;
}

bool UdpSockets::fits(const Batch& open, const UdpDeparture& to) {
    return !open.is_complete && to.bytes <= open.segment && open.count < kMostSegments;
}

bool UdpSockets::goes_before(const Batch& open, const UdpDeparture& to) {
    return open.may_follow && !to.may_follow && to.bytes > open.segment;
}

UdpSockets::Place UdpSockets::put_before(Batch& open, const UdpDeparture& to) {
    std::byte* const room = open.room.get();
    std::memmove(room + to.bytes, room, open.bytes);
    const Place place{{room, to.bytes}, 0, open.port, {room + to.bytes, open.bytes}};
    open.bytes += to.bytes;
    open.last = open.bytes;
    open.segment = static_cast<uint16_t>(to.bytes);
    open.last_count = open.count = 2;
    open.may_follow = false;
    open.is_complete = true;
    return place;
}

void UdpSockets::begin(Sender& sender, const UdpDeparture& to) {
    close_batch(sender);
    if (spare_.empty()) spare_.emplace_back(new std::byte[kRoom]);
    Batch& open = sender.open;
    open = {};
    open.room = std::move(spare_.back());
    spare_.pop_back();
    open.socket = sender.socket.get();
    open.port = sender.port;
    open.source = to.source;
    open.destination = to.destination;
    open.traffic_class = to.traffic_class;
    open.queue_pair = to.queue_pair;
    open.segment = static_cast<uint16_t>(to.bytes);
    sender.is_open = true;
    open_.push_back(&sender);
}

UdpSockets::Place UdpSockets::reserve(const UdpDeparture& to) {
    Sender* const sender = sender_for(to.source, to.entropy);
    if (sender == nullptr || to.bytes > kMostBytes) return {};
    last_ = sender;
    const bool is_same_way = goes_the_same_way(*sender, to);
    if (is_same_way && goes_before(sender->open, to)) return put_before(sender->open, to);
    if (!is_same_way || !fits(sender->open, to)) begin(*sender, to);
    Batch& open = sender->open;
    const Place place{{open.room.get() + open.bytes, to.bytes}, open.count, open.port, {}};
    open.bytes += to.bytes;
    open.last = to.bytes;
    open.last_count = 1;
    ++open.count;
    open.may_follow = to.may_follow && open.count == 1;
    open.is_complete = to.bytes < open.segment;
    return place;
}

void UdpSockets::withdraw() {
    if (last_ == nullptr || !last_->is_open || last_->open.count == 0) return;
    Batch& open = last_->open;
    open.bytes -= open.last;
    open.count = static_cast<uint16_t>(open.count - open.last_count);
    if (open.count != 0) return close_batch(*last_);  // the sizes of its segments are settled
    last_->is_open = false;
    std::erase(open_, last_);
    spare_.push_back(std::move(open.room));
}

void UdpSockets::close_batch(Sender& sender) {
    if (!sender.is_open) return;
    sender.is_open = false;
    std::erase(open_, &sender);
    const bool is_large = sender.open.bytes >= kWorthACall;
    closed_.push_back(std::move(sender.open));
    if (is_large) send_closed();
}

void UdpSockets::flush() {
    while (!open_.empty()) close_batch(*open_.front());
    send_closed();
}

void UdpSockets::send_closed() {
    while (!closed_.empty()) {
        const size_t gone = send_some();
        if (gone == 0) return;
        for (size_t i = 0; i < gone; ++i) {
            spare_.push_back(std::move(closed_.front().room));
            closed_.pop_front();
        }
    }
}

namespace {

struct Control {
    alignas(cmsghdr)
        std::array<std::byte, CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(int))> bytes;
    size_t used = 0;

    template <class T>
    void add(int level, int type, T value) {
        auto* one = reinterpret_cast<cmsghdr*>(bytes.data() + used);
        one->cmsg_level = level;
        one->cmsg_type = type;
        one->cmsg_len = CMSG_LEN(sizeof value);
        std::memcpy(CMSG_DATA(one), &value, sizeof value);
        used += CMSG_SPACE(sizeof value);
    }
};

// Sends datagrams and returns their number. The call for a single one is cheaper.
int send_all(int socket, std::span<mmsghdr> messages) {
    if (messages.size() == 1)
        return sendmsg(socket, &messages[0].msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1;
    return sendmmsg(socket, messages.data(), static_cast<unsigned>(messages.size()), MSG_DONTWAIT);
}

}  // namespace

// Sends the batches of one socket at the front of the queue. Returns how many are done, sent or
// lost.
size_t UdpSockets::send_some() {
    constexpr size_t kTogether = 8;
    std::array<mmsghdr, kTogether> messages;
    std::array<SocketAddress, kTogether> to;
    std::array<iovec, kTogether> parts;
    std::array<Control, kTogether> control;
    const int socket = closed_.front().socket;
    size_t count = 0;
    for (; count < std::min(kTogether, closed_.size()); ++count) {
        const Batch& batch = closed_[count];
        if (batch.socket != socket) break;
        messages[count] = {};
        msghdr& header = messages[count].msg_hdr;
        to[count] = address_of(batch.destination, wire::kRoceV2Port, header.msg_namelen);
        header.msg_name = &to[count];
        parts[count] = {batch.room.get(), batch.bytes};
        header.msg_iov = &parts[count];
        header.msg_iovlen = 1;
        if (batch.count > 1) control[count].add(IPPROTO_UDP, UDP_SEGMENT, batch.segment);
        const bool is_four = wire::is_ipv4(batch.destination);
        if (batch.traffic_class != 0)
            control[count].add(is_four ? IPPROTO_IP : IPPROTO_IPV6, is_four ? IP_TOS : IPV6_TCLASS,
                               int{batch.traffic_class});
        if (control[count].used != 0) {
            header.msg_control = control[count].bytes.data();
            header.msg_controllen = control[count].used;
        }
    }
    const int sent = send_all(socket, std::span(messages).first(count));
    ++counts_.calls_out;
    if (sent > 0) {
        for (int i = 0; i < sent; ++i) counts_.sent += closed_[static_cast<size_t>(i)].count;
        // The kernel neither reports an error after the first batch nor keeps it for the next call.
        if (static_cast<size_t>(sent) < count) read_errors(socket);
        return static_cast<size_t>(sent);
    }
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) return 0;
    // The kernel reports an error of an earlier datagram at the next one, which may be for another
    // machine and was not sent. A second error is the batch's own.
    if (!std::exchange(closed_.front().has_failed, true)) {
        read_errors(socket);
        return send_some();
    }
    on_error(closed_.front(), errno);
    return 1;
}

// Lost packets are retransmitted by the queue pair that waits for an answer.
void UdpSockets::on_error(Batch& batch, int error) {
    ++counts_.errors;
    if (batch.count > 1 && (error == EIO || error == EINVAL || error == EOPNOTSUPP))
        has_segments_ = false;  // the interface cannot
    if (error == EMSGSIZE || error == ENETUNREACH || error == EHOSTUNREACH || error == EPERM)
        note_error({batch.destination, error});
    read_errors(batch.socket);
}

void UdpSockets::note_error(Error error) {
    errors_.push_front(std::move(error));
    if (errors_.size() > kMostErrors) errors_.pop_back();
    new_errors_ = std::min(new_errors_ + 1, kMostErrors);
}

// Reads the errors that routers and peers have reported for our datagrams.
void UdpSockets::read_errors(int socket) {
    for (size_t looks = 0; looks < kMostErrors; ++looks) {
        sockaddr_storage about{};
        std::array<std::byte, kMostQuoted> room;
        alignas(cmsghdr) std::array<std::byte, 512> control;
        iovec part{room.data(), room.size()};
        msghdr header{};
        header.msg_name = &about;
        header.msg_namelen = sizeof about;
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        const ssize_t length = recvmsg(socket, &header, MSG_ERRQUEUE | MSG_DONTWAIT);
        if (length < 0) return;
        for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr;
             one = CMSG_NXTHDR(&header, one)) {
            const bool is_error =
                (one->cmsg_level == IPPROTO_IP && one->cmsg_type == IP_RECVERR) ||
                (one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_RECVERR);
            if (!is_error) continue;
            sock_extended_err what{};
            std::memcpy(&what, CMSG_DATA(one), sizeof what);
            uint16_t port = 0;
            note_error({gid_of(about, port),
                        static_cast<int>(what.ee_errno),
                        {room.begin(), room.begin() + length}});
        }
    }
}

int UdpSockets::error_of(const wire::Gid& address) const {
    for (const Error& error : errors_)
        if (error.about == address) return error.number;
    return 0;
}

}  // namespace tulle::live
