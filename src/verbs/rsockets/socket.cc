#include "verbs/rsockets/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <shared_mutex>

#include "live/clock.h"

namespace tulle::verbs::rsockets {

// ---- pieces -------------------------------------------------------------------------------------

size_t Pieces::left() const {
    size_t left = 0;
    for (const iovec& piece : pieces_) left += piece.iov_len;
    return left - done_;
}

void Pieces::skip_empty() {
    while (!pieces_.empty() && pieces_.front().iov_len == done_) {
        pieces_ = pieces_.subspan(1);
        done_ = 0;
    }
}

void Pieces::advance(size_t count) {
    done_ += count;
    skip_empty();
}

size_t Pieces::copy_to(std::byte* place, size_t room) {
    size_t copied = 0;
    while (copied < room && !pieces_.empty()) {
        const size_t count = std::min(room - copied, pieces_.front().iov_len - done_);
        const auto* from = static_cast<const std::byte*>(pieces_.front().iov_base) + done_;
        std::memcpy(place + copied, from, count);
        copied += count;
        advance(count);
    }
    return copied;
}

size_t Pieces::copy_from(const std::byte* place, size_t count) {
    size_t copied = 0;
    while (copied < count && !pieces_.empty()) {
        const size_t part = std::min(count - copied, pieces_.front().iov_len - done_);
        std::memcpy(static_cast<std::byte*>(pieces_.front().iov_base) + done_, place + copied,
                    part);
        copied += part;
        advance(part);
    }
    return copied;
}

// ---- names --------------------------------------------------------------------------------------

Name name_of(const sockaddr* address, socklen_t length) {
    Name name;
    if (address == nullptr) return name;
    name.length = std::min<socklen_t>(length, sizeof name.address);
    std::memcpy(&name.address, address, name.length);
    return name;
}

Name any_name(int domain) {
    Name name;
    name.address.ss_family = static_cast<sa_family_t>(domain);
    name.length = domain == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    return name;
}

void show_name(const Name& name, sockaddr* place, socklen_t* room) {
    if (place == nullptr || room == nullptr) return;
    std::memcpy(place, &name.address, std::min(*room, name.length));
    *room = name.length;
}

// ---- waiting ------------------------------------------------------------------------------------

Socket::Socket(int domain, int type)
    : domain_(domain), type_(type), number_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Socket::progress(bool thoroughly) {
    if (take_news(thoroughly) && watchers_ > 0) eventfd_write(number(), 1);
}

void Socket::watch(std::vector<pollfd>& files) {
    const std::lock_guard guard(lock_);
    files.push_back({number(), POLLIN, 0});
    add_files(files);
    arm();
    ++watchers_;
}

void Socket::unwatch() {
    const std::lock_guard guard(lock_);
    leave();
}

// The last watcher clears the bell.
void Socket::leave() {
    eventfd_t rings = 0;
    if (--watchers_ == 0) eventfd_read(number(), &rings);
}

bool Socket::may_be_slept_on() {
    const std::lock_guard guard(lock_);
    return is_armed();
}

short Socket::look(short wanted) {
    const std::lock_guard guard(lock_);
    progress(true);
    return ready(wanted);
}

int Socket::sleep(Guard& guard, base::Instant until) {
    constexpr int64_t kPsPerMs = 1'000'000'000;
    const bool has_end = until != base::Instant::never();
    const int64_t left_ms = has_end ? (until - live::now()).ps / kPsPerMs : -1;
    if (has_end && left_ms <= 0) return ETIMEDOUT;
    std::vector<pollfd> files{{number(), POLLIN, 0}};
    add_files(files);
    ++watchers_;
    guard.unlock();
    const int error = poll(files.data(), files.size(), static_cast<int>(left_ms)) < 0 ? errno : 0;
    guard.lock();
    leave();
    return error;
}

bool take_channel_event(ibv_comp_channel* channel) {
    pollfd look{channel->fd, POLLIN, 0};
    if (poll(&look, 1, 0) != 1) return false;
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel, &cq, &context) != 0) return false;
    ibv_ack_cq_events(cq, 1);
    return true;
}

// ---- options ------------------------------------------------------------------------------------

namespace {

constexpr int kLevelsEnd = 0x7fff'ffff;

// An integer option, with its limits.
template <class Number>
int set_number(Number& option, const void* value, socklen_t length, int least = 0,
               int most = kLevelsEnd) {
    int number = 0;
    if (value == nullptr || length < sizeof number) return -EINVAL;
    std::memcpy(&number, value, sizeof number);
    option = static_cast<Number>(std::clamp(number, least, most));
    return 0;
}

int show(void* place, socklen_t* room, const void* value, socklen_t size) {
    if (place == nullptr || room == nullptr) return -EFAULT;
    *room = std::min(*room, size);
    std::memcpy(place, value, *room);
    return 0;
}

int show(void* place, socklen_t* room, int value) {
    return show(place, room, &value, sizeof value);
}

constexpr int kLeastBytes = 4 << 10;
constexpr int kMostBytes = 64 << 20;
constexpr int kLeastQueue = 16;
constexpr int kMostQueue = 4'000;
constexpr int kLeastInline = 32;  // an entry of either table
constexpr int kMostInline = 128;
constexpr int kMostMappings = 128;

int set_socket_option(Options& o, int option, const void* value, socklen_t length) {
    switch (option) {
        // The kernel doubles it for its own needs; programs expect at least what they set.
        case SO_RCVBUF: return set_number(o.receive_bytes, value, length, kLeastBytes, kMostBytes);
        case SO_SNDBUF: return set_number(o.send_bytes, value, length, kLeastBytes, kMostBytes);
        case SO_REUSEADDR: return set_number(o.reuses_address, value, length);
        case SO_KEEPALIVE: return set_number(o.keeps_alive, value, length);
        case SO_OOBINLINE: return set_number(o.out_of_band_inline, value, length);
        case SO_LINGER:
            if (value == nullptr || length < sizeof o.lingers) return -EINVAL;
            std::memcpy(&o.lingers, value, sizeof o.lingers);
            return 0;
        default: return -ENOPROTOOPT;
    }
}

int set_rdma_option(Options& o, int option, const void* value, socklen_t length) {
    switch (option) {
        case RDMA_SQSIZE: return set_number(o.send_queue, value, length, kLeastQueue, kMostQueue);
        case RDMA_RQSIZE:
            return set_number(o.receive_queue, value, length, kLeastQueue, kMostQueue);
        case RDMA_INLINE:
            return set_number(o.inline_bytes, value, length, kLeastInline, kMostInline);
        case RDMA_IOMAPSIZE: return set_number(o.io_mappings, value, length, 0, kMostMappings);
        case RDMA_ROUTE: return 0;  // there is one
        default: return -ENOPROTOOPT;
    }
}

}  // namespace

int Socket::set_option(int level, int option, const void* value, socklen_t length) {
    const std::lock_guard guard(lock_);
    int unused = 0;
    switch (level) {
        case SOL_SOCKET: return set_socket_option(options_, option, value, length);
        case SOL_RDMA: return set_rdma_option(options_, option, value, length);
        case IPPROTO_TCP:
            if (option == TCP_NODELAY) return set_number(options_.no_delay, value, length);
            if (option == TCP_MAXSEG || option == TCP_KEEPIDLE || option == TCP_KEEPINTVL ||
                option == TCP_KEEPCNT)
                return set_number(unused, value, length);
            return -ENOPROTOOPT;
        case IPPROTO_IPV6:
            return option == IPV6_V6ONLY ? set_number(options_.only_six, value, length)
                                         : -ENOPROTOOPT;
        default: return -ENOPROTOOPT;
    }
}

int Socket::get_option(int level, int option, void* value, socklen_t* length) {
    const std::lock_guard guard(lock_);
    const Options& o = options_;
    if (level == SOL_SOCKET) switch (option) {
            case SO_ERROR: return show(value, length, take_error());
            case SO_TYPE: return show(value, length, type_);
            case SO_DOMAIN: return show(value, length, domain_);
            case SO_RCVBUF: return show(value, length, static_cast<int>(o.receive_bytes));
            case SO_SNDBUF: return show(value, length, static_cast<int>(o.send_bytes));
            case SO_REUSEADDR: return show(value, length, o.reuses_address);
            case SO_KEEPALIVE: return show(value, length, o.keeps_alive);
            case SO_OOBINLINE: return show(value, length, o.out_of_band_inline);
            case SO_LINGER: return show(value, length, &o.lingers, sizeof o.lingers);
            default: return -ENOPROTOOPT;
        }
    if (level == SOL_RDMA) switch (option) {
            case RDMA_SQSIZE: return show(value, length, o.send_queue);
            case RDMA_RQSIZE: return show(value, length, o.receive_queue);
            case RDMA_INLINE: return show(value, length, o.inline_bytes);
            case RDMA_IOMAPSIZE: return show(value, length, o.io_mappings);
            default: return -ENOPROTOOPT;
        }
    if (level == IPPROTO_TCP && option == TCP_NODELAY) return show(value, length, o.no_delay);
    // A single write is at most half of the peer's buffer.
    if (level == IPPROTO_TCP && option == TCP_MAXSEG)
        return show(value, length, static_cast<int>(o.receive_bytes / 2));
    if (level == IPPROTO_IPV6 && option == IPV6_V6ONLY) return show(value, length, o.only_six);
    return -ENOPROTOOPT;
}

// ---- the table ----------------------------------------------------------------------------------

namespace {

struct Table {
    std::shared_mutex lock;
    std::vector<std::shared_ptr<Socket>> sockets;  // by number
};

Table& table() {
    static auto* made = new Table;  // outlives the program's own destructors
    return *made;
}

}  // namespace

std::shared_ptr<Socket> find(int number) {
    Table& all = table();
    const std::shared_lock guard(all.lock);
    const auto place = static_cast<size_t>(number);
    return number >= 0 && place < all.sockets.size() ? all.sockets[place] : nullptr;
}

int add(const std::shared_ptr<Socket>& socket) {
    Table& all = table();
    const std::lock_guard guard(all.lock);
    const auto place = static_cast<size_t>(socket->number());
    if (all.sockets.size() <= place) all.sockets.resize(place + 1);
    all.sockets[place] = socket;
    return socket->number();
}

std::shared_ptr<Socket> remove(int number) {
    std::shared_ptr<Socket> socket = find(number);
    if (!socket) return nullptr;
    Table& all = table();
    const std::lock_guard guard(all.lock);
    all.sockets[static_cast<size_t>(number)] = nullptr;
    return socket;
}

}  // namespace tulle::verbs::rsockets
