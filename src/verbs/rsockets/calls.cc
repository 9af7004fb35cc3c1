// The calls of rsocket.h.
#include <fcntl.h>
#include <rdma/rsocket.h>

#include <cstdarg>

#include "verbs/api.h"
#include "verbs/guard.h"
#include "verbs/rsockets/datagram.h"
#include "verbs/rsockets/stream.h"

namespace tulle::verbs::rsockets {
namespace {

template <class Number>
Number answer(Number result) {
    if (result >= 0) return result;
    errno = static_cast<int>(-result);
    return -1;
}

// Calls the function with the socket of that number.
template <class Call>
auto on(int number, Call&& call) -> decltype(call(*find(number))) {
    const std::shared_ptr<Socket> socket = find(number);
    if (socket) return answer(call(*socket));
    errno = EBADF;
    return -1;
}

template <class Kind>
int open(int domain) {
    const auto socket = std::make_shared<Kind>(domain);
    if (!socket->open()) return -1;
    return add(socket);
}

bool is_supported(int domain, int type, int protocol) {
    if (domain != AF_INET && domain != AF_INET6) return false;
    if (type == SOCK_STREAM) return protocol == 0 || protocol == IPPROTO_TCP;
    return type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP);
}

ssize_t receive(int number, std::span<const iovec> into, int flags, Name* from = nullptr) {
    return on(number, [&](Socket& s) { return s.receive(Pieces(into), flags, from); });
}

ssize_t send(int number, std::span<const iovec> from, int flags, const Name* to = nullptr) {
    return on(number, [&](Socket& s) { return s.send(Pieces(from), flags, to); });
}

iovec piece(const void* memory, size_t length) {
    return {const_cast<void*>(memory), length};
}

std::span<const iovec> pieces(const iovec* vector, int count) {
    return {vector, static_cast<size_t>(std::max(0, count))};
}

}  // namespace
}  // namespace tulle::verbs::rsockets

using namespace tulle::verbs::rsockets;
using tulle::verbs::Failure;
using tulle::verbs::Guard;

TULLE_EXPORT int rsocket(int domain, int type, int protocol) {
    constexpr int kFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;
    const int kind = type & ~kFlags;
    if (!is_supported(domain, kind, protocol)) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    const int number = kind == SOCK_STREAM ? open<Stream>(domain) : open<Datagram>(domain);
    if (number >= 0 && (type & SOCK_NONBLOCK) != 0) find(number)->set_blocking(false);
    return number;
}

TULLE_EXPORT int rbind(int number, const sockaddr* address, socklen_t length) {
    return on(number, [&](Socket& s) { return s.bind(name_of(address, length)); });
}

TULLE_EXPORT int rlisten(int number, int backlog) {
    return on(number, [&](Socket& s) { return s.listen(backlog); });
}

TULLE_EXPORT int raccept(int number, sockaddr* address, socklen_t* length) {
    return on(number, [&](Socket& s) {
        std::shared_ptr<Socket> accepted;
        if (const int error = s.accept(accepted)) return error;
        Name name;
        if (accepted->peer_name(name) == 0) show_name(name, address, length);
        return add(accepted);
    });
}

TULLE_EXPORT int rconnect(int number, const sockaddr* address, socklen_t length) {
    return on(number, [&](Socket& s) { return s.connect(name_of(address, length)); });
}

TULLE_EXPORT int rshutdown(int number, int how) {
    return on(number, [&](Socket& s) { return s.shutdown(how); });
}

TULLE_EXPORT int rclose(int number) {
    const std::shared_ptr<Socket> socket = remove(number);
    if (!socket) {
        errno = EBADF;
        return -1;
    }
    socket->close();
    return 0;
}

TULLE_EXPORT ssize_t rrecv(int number, void* memory, size_t length, int flags) {
    const iovec one = piece(memory, length);
    return receive(number, {&one, 1}, flags);
}

TULLE_EXPORT ssize_t rrecvfrom(int number, void* memory, size_t length, int flags,
                               sockaddr* address, socklen_t* room) {
    const iovec one = piece(memory, length);
    Name from;
    const ssize_t result = receive(number, {&one, 1}, flags, &from);
    if (result >= 0) show_name(from, address, room);
    return result;
}

TULLE_EXPORT ssize_t rrecvmsg(int number, msghdr* message, int flags) {
    Name from;
    const ssize_t result = receive(number, {message->msg_iov, message->msg_iovlen}, flags, &from);
    if (result < 0) return result;
    show_name(from, static_cast<sockaddr*>(message->msg_name), &message->msg_namelen);
    message->msg_controllen = 0;
    message->msg_flags = 0;
    return result;
}

TULLE_EXPORT ssize_t rsend(int number, const void* memory, size_t length, int flags) {
    const iovec one = piece(memory, length);
    return send(number, {&one, 1}, flags);
}

TULLE_EXPORT ssize_t rsendto(int number, const void* memory, size_t length, int flags,
                             const sockaddr* address, socklen_t size) {
    const iovec one = piece(memory, length);
    const Name to = name_of(address, size);
    return send(number, {&one, 1}, flags, &to);
}

TULLE_EXPORT ssize_t rsendmsg(int number, const msghdr* message, int flags) {
    if (message->msg_controllen != 0) {
        errno = EOPNOTSUPP;
        return -1;
    }
    const Name to = name_of(static_cast<const sockaddr*>(message->msg_name), message->msg_namelen);
    return send(number, {message->msg_iov, message->msg_iovlen}, flags, &to);
}

TULLE_EXPORT ssize_t rread(int number, void* memory, size_t count) {
    return rrecv(number, memory, count, 0);
}

TULLE_EXPORT ssize_t rreadv(int number, const iovec* vector, int count) {
    return receive(number, pieces(vector, count), 0);
}

TULLE_EXPORT ssize_t rwrite(int number, const void* memory, size_t count) {
    return rsend(number, memory, count, 0);
}

TULLE_EXPORT ssize_t rwritev(int number, const iovec* vector, int count) {
    return send(number, pieces(vector, count), 0);
}

TULLE_EXPORT int rgetpeername(int number, sockaddr* address, socklen_t* length) {
    return on(number, [&](Socket& s) {
        Name name;
        const int error = s.peer_name(name);
        if (error == 0) show_name(name, address, length);
        return error;
    });
}

TULLE_EXPORT int rgetsockname(int number, sockaddr* address, socklen_t* length) {
    return on(number, [&](Socket& s) {
        show_name(s.own_name(), address, length);
        return 0;
    });
}

TULLE_EXPORT int rsetsockopt(int number, int level, int option, const void* value,
                             socklen_t length) {
    return on(number, [&](Socket& s) { return s.set_option(level, option, value, length); });
}

TULLE_EXPORT int rgetsockopt(int number, int level, int option, void* value, socklen_t* length) {
    return on(number, [&](Socket& s) { return s.get_option(level, option, value, length); });
}

// The exported function is variadic, so this one has the guard.
static int control(int number, int command, long argument) {
    return on(number, [&](Socket& s) {
        switch (command) {
            case F_GETFL: return s.is_blocking() ? O_RDWR : O_RDWR | O_NONBLOCK;
            case F_SETFL: s.set_blocking((argument & O_NONBLOCK) == 0); return 0;
            case F_GETFD: return FD_CLOEXEC;
            case F_SETFD: return 0;
            default: return -EINVAL;
        }
    });
}

TULLE_EXPORT int rfcntl(int number, int command, ...) {
    va_list list;
    va_start(list, command);
    const long argument = va_arg(list, long);
    va_end(list);
    return Guard<control, Failure::minus_one, void>::call(number, command, argument);
}

TULLE_EXPORT off_t riomap(int number, void* memory, size_t length, int protection, int,
                          off_t offset) {
    return on(number, [&](Socket& s) { return s.map(memory, length, protection, offset); });
}

TULLE_EXPORT int riounmap(int number, void* memory, size_t length) {
    return on(number, [&](Socket& s) { return s.unmap(memory, length); });
}

TULLE_EXPORT size_t riowrite(int number, const void* memory, size_t count, off_t offset,
                             int flags) {
    const iovec one = piece(memory, count);
    return static_cast<size_t>(on(number, [&](Socket& s) {
        return s.write_mapped(Pieces({&one, 1}), offset, flags);
    }));
}
