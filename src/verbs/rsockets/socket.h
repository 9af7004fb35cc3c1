// A socket over RDMA, as the calls of rsocket.h see it. There are two kinds: streams over a
// reliable connection (stream.h) and datagrams (datagram.h).
//
// The calling thread processes arrivals; there is no other thread. A caller that must wait arms the
// completion queue and sleeps on the descriptors of the socket. One of these is `number()`: another
// thread that has taken what the sleeper waits for rings it. It is also the number by which the
// program knows the socket.
//
// Calls return what the kernel's do internally: a count or 0, or a negative errno.
#pragma once

#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/time.h"
#include "live/descriptor.h"

namespace tulle::verbs::rsockets {

// Memory of the program in pieces, consumed from the front.
class Pieces {
public:
    explicit Pieces(std::span<const iovec> pieces) : pieces_(pieces) { skip_empty(); }

    size_t left() const;
    bool empty() const { return pieces_.empty(); }
    // Copies as much as both sides allow; returns how much.
    size_t copy_to(std::byte* place, size_t room);
    size_t copy_from(const std::byte* place, size_t count);

private:
    void skip_empty();
    void advance(size_t count);

    std::span<const iovec> pieces_;
    size_t done_ = 0;  // bytes of the first piece
};

struct Name {
    sockaddr_storage address{};
    socklen_t length = 0;
};

Name name_of(const sockaddr* address, socklen_t length);
Name any_name(int domain);
void show_name(const Name& name, sockaddr* place, socklen_t* room);

// Options set before a connection exists. Sizes are chosen; the manual page of rsocket mentions
// defaults but does not give them.
struct Options {
    uint32_t receive_bytes = 128 << 10;
    uint32_t send_bytes = 128 << 10;
    uint16_t send_queue = 256;
    uint16_t receive_queue = 256;
    uint16_t inline_bytes = 64;
    uint16_t io_mappings = 0;
    int reuses_address = 0;
    int keeps_alive = 0;
    int no_delay = 0;
    int only_six = 0;
    int out_of_band_inline = 0;
    linger lingers{};
};

class Socket {
public:
    Socket(int domain, int type);
    virtual ~Socket() = default;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    int number() const { return number_.get(); }
    bool is_open() const { return static_cast<bool>(number_); }

    virtual int bind(const Name& name) = 0;
    virtual int listen(int) { return -EOPNOTSUPP; }
    virtual int accept(std::shared_ptr<Socket>&) { return -EOPNOTSUPP; }
    virtual int connect(const Name& name) = 0;
    virtual int shutdown(int) { return -ENOTCONN; }
    virtual void close() = 0;
    virtual ssize_t receive(Pieces into, int flags, Name* from) = 0;
    virtual ssize_t send(Pieces from, int flags, const Name* to) = 0;
    virtual Name own_name() = 0;
    virtual int peer_name(Name& name) = 0;
    virtual int take_error() { return 0; }

    virtual off_t map(void*, size_t, int, off_t) { return -EOPNOTSUPP; }
    virtual int unmap(void*, size_t) { return -EOPNOTSUPP; }
    virtual ssize_t write_mapped(Pieces, off_t, int) { return -EOPNOTSUPP; }

    // For rpoll. Between watch() and unwatch() a thread that takes news rings the socket.
    short look(short wanted);
    void watch(std::vector<pollfd>& files);
    void unwatch();
    // Whether arrivals from now on wake a thread that waits on its files.
    bool may_be_slept_on();

    int set_option(int level, int option, const void* value, socklen_t length);
    int get_option(int level, int option, void* value, socklen_t* length);
    bool is_blocking() const { return is_blocking_; }
    void set_blocking(bool is) { is_blocking_ = is; }

protected:
    using Guard = std::unique_lock<std::mutex>;

    // With the lock held.
    virtual bool take_news(bool thoroughly) = 0;  // true if there was any
    virtual short ready(short wanted) const = 0;
    virtual void arm() = 0;
    // Whether arrivals from now on wake a sleeper.
    virtual bool is_armed() const = 0;
    virtual void add_files(std::vector<pollfd>& files) const = 0;

    void progress(bool thoroughly);
    bool may_wait(int flags) const { return is_blocking_ && (flags & MSG_DONTWAIT) == 0; }
    // Waits until it is done. Returns an errno if it may not wait, was interrupted by a signal, or
    // if it is not done by then.
    template <class IsDone>
    int wait(Guard& guard, bool may_wait, IsDone is_done,
             base::Instant until = base::Instant::never());

    const int domain_;
    const int type_;
    std::mutex lock_;
    Options options_;

private:
    int sleep(Guard& guard, base::Instant until);
    void leave();

    live::Descriptor number_;
    bool is_blocking_ = true;
    int watchers_ = 0;
};

// Takes an event of the channel, if there is one: its queue is no longer armed.
bool take_channel_event(ibv_comp_channel* channel);

// The sockets of the program by number.
std::shared_ptr<Socket> find(int number);
int add(const std::shared_ptr<Socket>& socket);
std::shared_ptr<Socket> remove(int number);

// ---------------------------------------------------------------------------------------------

template <class IsDone>
int Socket::wait(Guard& guard, bool may_wait, IsDone is_done, base::Instant until) {
    constexpr int kLooks = 100;  // chosen: a quick answer is found without sleeping
    for (;;) {
        for (int looks = 0; looks < (may_wait ? kLooks : 1); ++looks) {
            progress(looks == 0);
            if (is_done()) return 0;
        }
        if (!may_wait) return EAGAIN;
        // The poll may consume the very event that the queue was armed for.
        do {
            arm();
            progress(true);
            if (is_done()) return 0;
        } while (!is_armed());
        if (const int error = sleep(guard, until)) return error;
    }
}

}  // namespace tulle::verbs::rsockets
