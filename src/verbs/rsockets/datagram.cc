#include "verbs/rsockets/datagram.h"

#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "verbs/rdmacm/manager.h"

namespace tulle::verbs::rsockets {
namespace {

constexpr uint32_t kReceives = 512;  // chosen
constexpr uint32_t kSends = 128;
constexpr size_t kRouteHeader = 40;    // room for the GRH before the data of a UD queue pair
constexpr size_t kPacket = 4096;       // the MTU of our ports
constexpr size_t kMostUdp = 65'507;    // bytes of a UDP datagram over IPv4
constexpr size_t kMostArrived = 512;   // chosen: beyond this unread datagrams are lost
constexpr size_t kMostHeard = 1024;    // chosen: beyond this nobody new is remembered by a packet
constexpr uint8_t kShownProtocol = 0;  // none that the connection manager looks for
constexpr uint32_t kTag = 0x5555'5555;
constexpr uint8_t kData = 0;
constexpr uint8_t kAnswer = 7;

// Precedes data sent by UDP, and is sent alone as an answer. Network order.
struct UdpHeader {
    uint32_t tag = htonl(kTag);
    uint8_t version = 4;
    uint8_t kind = kData;
    uint8_t length = 0;
    uint8_t reserved = 0;
    uint32_t qpn = 0;  // in the upper 24 bits
    std::array<uint8_t, 16> address{};
};
static_assert(sizeof(UdpHeader) == 28);
constexpr size_t kUdpFour = 16;
constexpr size_t kUdpSix = 28;

// Precedes data sent between queue pairs: the sender's address.
struct Header {
    uint8_t version = 4;
    uint8_t length = 0;
    uint16_t port = 0;
    std::array<uint8_t, 20> address{};  // IPv6: four bytes of flow information first
};
static_assert(sizeof(Header) == 24);
constexpr size_t kFour = 8;
constexpr size_t kSix = 24;

const sockaddr_in& four(const Name& name) {
    return reinterpret_cast<const sockaddr_in&>(name.address);
}
const sockaddr_in6& six(const Name& name) {
    return reinterpret_cast<const sockaddr_in6&>(name.address);
}

Header header_of(const Name& name) {
    Header header;
    if (name.address.ss_family == AF_INET6) {
        header.version = 6;
        header.length = kSix;
        header.port = six(name).sin6_port;
        std::memcpy(header.address.data() + 4, &six(name).sin6_addr, 16);
    } else {
        header.length = kFour;
        header.port = four(name).sin_port;
        std::memcpy(header.address.data(), &four(name).sin_addr, 4);
    }
    return header;
}

Name name_in(const Header& header) {
    Name name;
    if (header.version == 6) {
        auto& address = reinterpret_cast<sockaddr_in6&>(name.address);
        address.sin6_family = AF_INET6;
        address.sin6_port = header.port;
        std::memcpy(&address.sin6_addr, header.address.data() + 4, 16);
        name.length = sizeof address;
    } else {
        auto& address = reinterpret_cast<sockaddr_in&>(name.address);
        address.sin_family = AF_INET;
        address.sin_port = header.port;
        std::memcpy(&address.sin_addr, header.address.data(), 4);
        name.length = sizeof address;
    }
    return name;
}

UdpHeader udp_header(uint8_t kind, uint32_t qpn, const Name& to) {
    UdpHeader header;
    header.kind = kind;
    header.qpn = htonl(qpn << 8);
    if (to.address.ss_family == AF_INET6) {
        header.version = 6;
        header.length = kUdpSix;
        std::memcpy(header.address.data(), &six(to).sin6_addr, 16);
    } else {
        header.length = kUdpFour;
        std::memcpy(header.address.data(), &four(to).sin_addr, 4);
    }
    return header;
}

// Calls the kernel directly: a library that replaces the program's sockets by RDMA sockets must not
// replace ours.
int kernel_socket(int domain) {
    return static_cast<int>(syscall(SYS_socket, domain, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

Name name_of_file(int file) {
    Name name;
    name.length = sizeof name.address;
    if (getsockname(file, reinterpret_cast<sockaddr*>(&name.address), &name.length) != 0)
        name.length = 0;
    return name;
}

void set_port(Name& name, const Name& from) {
    // Both kinds of addresses have the port in the same place.
    reinterpret_cast<sockaddr_in&>(name.address).sin_port = four(from).sin_port;
}

}  // namespace

bool Datagram::open() {
    Manager& manager = Manager::first();
    udp_ = live::Descriptor(kernel_socket(domain_));
    context_ = manager.context();
    pd_ = manager.domain();
    if (!is_open() || !udp_ || pd_ == nullptr) return false;
    channel_ = ibv_create_comp_channel(context_);
    if (channel_ == nullptr) return false;
    cq_ = ibv_create_cq(context_, kReceives + kSends, nullptr, channel_, 0);
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = cq_;
    wanted.qp_type = IBV_QPT_UD;
    wanted.sq_sig_all = 1;
    wanted.cap = {kSends, kReceives, 1, 1, 0};
    if (cq_ == nullptr || (qp_ = ibv_create_qp(pd_, &wanted)) == nullptr) return false;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qkey = RDMA_UDP_QKEY;
    constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    if (ibv_modify_qp(qp_, &a, kInit) != 0) return false;
    a.qp_state = IBV_QPS_RTR;
    if (ibv_modify_qp(qp_, &a, IBV_QP_STATE) != 0) return false;
    a.qp_state = IBV_QPS_RTS;
    if (ibv_modify_qp(qp_, &a, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0) return false;
    if (!incoming_.allocate(pd_, kReceives * (kRouteHeader + kPacket), IBV_ACCESS_LOCAL_WRITE) ||
        !outgoing_.allocate(pd_, kSends * kPacket, IBV_ACCESS_LOCAL_WRITE))
        return false;
    for (uint32_t place = 0; place < kSends; ++place) free_places_.push_back(place);
    for (uint32_t place = 0; place < kReceives; ++place)
        if (!post_receive(place)) return false;
    return true;
}

Datagram::~Datagram() {
    for (auto& [name, peer] : peers_)
        if (peer.way != nullptr) ibv_destroy_ah(peer.way);
    if (qp_ != nullptr) ibv_destroy_qp(qp_);
    if (cq_ != nullptr) ibv_destroy_cq(cq_);
    if (channel_ != nullptr) ibv_destroy_comp_channel(channel_);
}

void Datagram::close() {
    Manager& manager = Manager::first();
    const Manager::Guard guard(manager);
    if (shown_port_ != 0) manager.bridge().hide_port(context_, kShownProtocol, shown_port_);
    shown_port_ = 0;
}

int Datagram::bind(const Name& name) {
    const std::lock_guard guard(lock_);
    const int reuse = options_.reuses_address;
    setsockopt(udp_.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    const auto* address = reinterpret_cast<const sockaddr*>(&name.address);
    if (::bind(udp_.get(), address, name.length) != 0) return -errno;
    show_port();
    return 0;
}

// Tells observers that this process waits for others.
void Datagram::show_port() {
    Manager& manager = Manager::first();
    const Manager::Guard guard(manager);
    const uint16_t port = ntohs(four(name_of_file(udp_.get())).sin_port);
    const wire::Gid anywhere;
    if (manager.bridge().show_port(context_, kShownProtocol, port, anywhere.bytes.data()))
        shown_port_ = port;
}

int Datagram::connect(const Name& name) {
    const std::lock_guard guard(lock_);
    destination_ = name;
    return 0;
}

Name Datagram::own_name() {
    const std::lock_guard guard(lock_);
    return name_of_file(udp_.get());
}

int Datagram::peer_name(Name& name) {
    const std::lock_guard guard(lock_);
    if (destination_.length == 0) return -ENOTCONN;
    name = destination_;
    return 0;
}

// ---- news ---------------------------------------------------------------------------------------

bool Datagram::take_news(bool thoroughly) {
    bool any = take_completions();
    if (thoroughly) any |= take_udp();
    if (thoroughly && is_armed_ && take_channel_event(channel_)) {
        is_armed_ = false;
        any = true;
    }
    return any;
}

bool Datagram::take_completions() {
    ibv_wc one{};
    bool any = false;
    while (ibv_poll_cq(cq_, 1, &one) == 1) {
        any = true;
        const auto place = static_cast<uint32_t>(one.wr_id);
        if (place >= kReceives) {
            free_places_.push_back(place - kReceives);
            continue;
        }
        const std::byte* bytes = incoming_.data() + place * (kRouteHeader + kPacket);
        if (one.status == IBV_WC_SUCCESS && one.byte_len > kRouteHeader)
            on_datagram(bytes + kRouteHeader, one.byte_len - kRouteHeader);
        (void)post_receive(place);
    }
    return any;
}

bool Datagram::post_receive(uint32_t place) {
    constexpr size_t kRoom = kRouteHeader + kPacket;
    ibv_sge sge{reinterpret_cast<uint64_t>(incoming_.data() + place * kRoom), kRoom,
                incoming_.lkey()};
    ibv_recv_wr request{};
    ibv_recv_wr* bad = nullptr;
    request.wr_id = place;
    request.sg_list = &sge;
    request.num_sge = 1;
    return ibv_post_recv(qp_, &request, &bad) == 0;
}

void Datagram::on_datagram(const std::byte* bytes, size_t length) {
    Header header;
    if (length < kFour) return;
    std::memcpy(&header, bytes, std::min(length, sizeof header));
    const bool is_six = header.version == 6;
    if (header.length != (is_six ? kSix : kFour) || length < header.length) return;
    keep(name_in(header), {bytes + header.length, length - header.length});
}

bool Datagram::take_udp() {
    std::array<std::byte, kMostUdp> bytes;
    bool any = false;
    for (;;) {
        Name from;
        from.length = sizeof from.address;
        const ssize_t length = recvfrom(udp_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT,
                                        reinterpret_cast<sockaddr*>(&from.address), &from.length);
        if (length < 0) return any;
        any = true;
        on_udp({bytes.data(), static_cast<size_t>(length)}, from);
    }
}

// Without our header it does not come from an RDMA socket.
void Datagram::on_udp(std::span<const std::byte> bytes, const Name& from) {
    UdpHeader header;
    if (bytes.size() < kUdpFour) return;
    std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
    const size_t length = header.version == 6 ? kUdpSix : kUdpFour;
    if (header.tag != htonl(kTag) || header.length != length || bytes.size() < length) return;
    Peer unknown;
    Peer& peer = peers_.size() < kMostHeard || knows(from) ? peer_at(from) : unknown;
    if (&peer != &unknown) learn(peer, ntohl(header.qpn) >> 8);
    if (header.kind != kData) return;
    (void)send_by_udp(from, peer, {}, kAnswer);
    keep(from, bytes.subspan(length));
}

void Datagram::keep(const Name& from, std::span<const std::byte> bytes) {
    if (arrived_.size() >= kMostArrived) return;
    arrived_.push_back({from, {bytes.begin(), bytes.end()}});
}

// The queue pair of the peer; it changes if the peer's program was restarted.
void Datagram::learn(Peer& peer, uint32_t qpn) {
    if (qpn == peer.qpn || qpn == 0) return;
    ibv_ah_attr address{};
    Manager& manager = Manager::first();
    {
        const Manager::Guard guard(manager);
        if (!manager.bridge().qp_address(context_, qpn, &address)) return;
    }
    ibv_ah* way = ibv_create_ah(pd_, &address);
    if (way == nullptr) return;
    if (peer.way != nullptr) ibv_destroy_ah(peer.way);
    peer.way = way;
    peer.qpn = qpn;
}

// The key of `peers_`.
std::string Datagram::key_of(const Name& name) {
    Name plain;
    plain.address.ss_family = name.address.ss_family;
    set_port(plain, name);
    if (name.address.ss_family == AF_INET6)
        reinterpret_cast<sockaddr_in6&>(plain.address).sin6_addr = six(name).sin6_addr;
    else
        reinterpret_cast<sockaddr_in&>(plain.address).sin_addr = four(name).sin_addr;
    return {reinterpret_cast<const char*>(&plain.address), sizeof(sockaddr_in6)};
}

void Datagram::arm() {
    if (!is_armed_) is_armed_ = ibv_req_notify_cq(cq_, 0) == 0;
}

void Datagram::add_files(std::vector<pollfd>& files) const {
    files.push_back({udp_.get(), POLLIN, 0});
    files.push_back({channel_->fd, POLLIN, 0});
}

short Datagram::ready(short wanted) const {
    int found = 0;
    if (!arrived_.empty()) found |= POLLIN | POLLRDNORM;
    if (has_place()) found |= POLLOUT | POLLWRNORM;
    return static_cast<short>(found & wanted);
}

// ---- calls --------------------------------------------------------------------------------------

ssize_t Datagram::receive(Pieces into, int flags, Name* from) {
    Guard guard(lock_);
    if (const int error = wait(guard, may_wait(flags), [&] { return !arrived_.empty(); }))
        return -error;
    const Arrived& first = arrived_.front();
    const size_t whole = first.bytes.size();
    const size_t copied = into.copy_from(first.bytes.data(), whole);
    if (from != nullptr) *from = first.from;
    if ((flags & MSG_PEEK) == 0) arrived_.pop_front();
    return static_cast<ssize_t>((flags & MSG_TRUNC) != 0 ? whole : copied);
}

ssize_t Datagram::send(Pieces from, int flags, const Name* to) {
    Guard guard(lock_);
    const Name there = to != nullptr && to->length != 0 ? *to : destination_;
    if (there.length == 0) return -EDESTADDRREQ;
    std::vector<std::byte> bytes(std::min(from.left(), kMostUdp + 1));
    from.copy_to(bytes.data(), bytes.size());
    if (bytes.size() > kMostUdp - kUdpSix) return -EMSGSIZE;
    Peer& peer = peer_at(there);
    if (peer.qpn == 0) progress(true);
    const bool fits = bytes.size() + kSix <= kPacket;
    if (peer.qpn == 0 || !fits) return send_by_udp(there, peer, bytes, kData);
    return send_by_queue_pair(guard, peer, bytes, flags);
}

ssize_t Datagram::send_by_udp(const Name& to, Peer& peer, std::span<const std::byte> bytes,
                              uint8_t kind) {
    UdpHeader header = udp_header(kind, qp_->qp_num, to);
    Name copy = to;
    std::array<iovec, 2> pieces{iovec{&header, header.length},
                                iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}};
    msghdr message{};
    message.msg_name = &copy.address;
    message.msg_namelen = copy.length;
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    if (sendmsg(udp_.get(), &message, 0) < 0) return -errno;
    if (peer.own.length != 0) return static_cast<ssize_t>(bytes.size());
    // The address by which the peer will know us: the kernel's source address for it.
    const live::Descriptor probe(kernel_socket(to.address.ss_family));
    if (probe &&
        ::connect(probe.get(), reinterpret_cast<sockaddr*>(&copy.address), copy.length) == 0) {
        peer.own = name_of_file(probe.get());
        set_port(peer.own, name_of_file(udp_.get()));
    }
    return static_cast<ssize_t>(bytes.size());
}

ssize_t Datagram::send_by_queue_pair(Guard& guard, Peer& peer, std::span<const std::byte> bytes,
                                     int flags) {
    if (!has_place())
        if (const int error = wait(guard, may_wait(flags), [&] { return has_place(); }))
            return -error;
    const uint32_t place = free_places_.back();
    std::byte* slot = outgoing_.data() + place * kPacket;
    const Header header = header_of(peer.own);
    std::memcpy(slot, &header, header.length);
    std::ranges::copy(bytes, slot + header.length);
    ibv_sge sge{reinterpret_cast<uint64_t>(slot),
                static_cast<uint32_t>(header.length + bytes.size()), outgoing_.lkey()};
    ibv_send_wr request{};
    ibv_send_wr* bad = nullptr;
    request.wr_id = kReceives + place;
    request.sg_list = &sge;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.wr.ud.ah = peer.way;
    request.wr.ud.remote_qpn = peer.qpn;
    request.wr.ud.remote_qkey = RDMA_UDP_QKEY;
    if (ibv_post_send(qp_, &request, &bad) != 0) return -ENOBUFS;
    free_places_.pop_back();
    (void)take_completions();
    return static_cast<ssize_t>(bytes.size());
}

}  // namespace tulle::verbs::rsockets
