// rpoll and rselect: RDMA sockets and the kernel's descriptors together.
#include <rdma/rsocket.h>

#include <algorithm>
#include <chrono>

#include "verbs/api.h"
#include "verbs/rsockets/socket.h"

namespace tulle::verbs::rsockets {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Sockets that ring the sleeper; the destructor ends that.
struct Watched {
    std::vector<Socket*> sockets;

    void add(Socket& socket, std::vector<pollfd>& files) {
        socket.watch(files);
        sockets.push_back(&socket);
    }
    Watched() = default;
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    ~Watched() {
        const int error = errno;
        for (Socket* socket : sockets) socket->unwatch();
        errno = error;
    }
};

class Poll {
public:
    explicit Poll(std::span<pollfd> wanted) : wanted_(wanted) {
        for (const pollfd& one : wanted_) sockets_.push_back(find(one.fd));
    }

    int run(int timeout) {
        const auto end = Clock::now() + milliseconds(std::max(timeout, 0));
        for (;;) {
            if (const int found = look(); found != 0 || timeout == 0) return found;
            const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
            const int patience = timeout < 0 ? -1 : static_cast<int>(std::max<long>(0, left));
            const int result = sleep(patience);
            if (result < 0) return result;
            if (timeout > 0 && Clock::now() >= end) return look();
        }
    }

private:
    int look() {
        int found = look_at_files();
        if (found < 0) return found;
        for (size_t i = 0; i < wanted_.size(); ++i) {
            if (!sockets_[i]) continue;
            wanted_[i].revents = sockets_[i]->look(wanted_[i].events);
            if (wanted_[i].revents != 0) ++found;
        }
        return found;
    }

    // Other descriptors are polled by the kernel.
    int look_at_files() {
        std::vector<pollfd> files = others();
        if (files.empty()) return 0;
        const int found = poll(files.data(), files.size(), 0);
        if (found < 0) return found;
        for (size_t i = 0, next = 0; i < wanted_.size(); ++i)
            if (!sockets_[i]) wanted_[i].revents = files[next++].revents;
        return found;
    }

    std::vector<pollfd> others() const {
        std::vector<pollfd> files;
        for (size_t i = 0; i < wanted_.size(); ++i)
            if (!sockets_[i]) files.push_back({wanted_[i].fd, wanted_[i].events, 0});
        return files;
    }

    // Waits until something may have changed. Data may arrive between the last check and the sleep
    // without ringing, so each socket is checked once more after it is armed.
    int sleep(int timeout) {
        std::vector<pollfd> files = others();
        Watched watched;
        watched.sockets.reserve(sockets_.size());
        for (const auto& socket : sockets_)
            if (socket) watched.add(*socket, files);
        const int found = look();
        const bool may_sleep = std::ranges::all_of(
            sockets_, [](const auto& socket) { return !socket || socket->may_be_slept_on(); });
        return found != 0 || !may_sleep ? found : poll(files.data(), files.size(), timeout);
    }

    std::span<pollfd> wanted_;
    std::vector<std::shared_ptr<Socket>> sockets_;  // nullptr for other descriptors
};

bool is_in(int number, const fd_set* set) {
    return set != nullptr && FD_ISSET(number, set);
}

// Removes those that are not ready; returns how many are left.
int keep_ready(fd_set* set, const std::vector<pollfd>& files, short ready) {
    if (set == nullptr) return 0;
    int kept = 0;
    for (const pollfd& one : files) {
        if (!is_in(one.fd, set)) continue;
        if ((one.revents & ready) != 0)
            ++kept;
        else
            FD_CLR(one.fd, set);
    }
    return kept;
}

}  // namespace
}  // namespace tulle::verbs::rsockets

using namespace tulle::verbs::rsockets;

TULLE_EXPORT int rpoll(pollfd* files, nfds_t count, int timeout) {
    return Poll({files, count}).run(timeout);
}

TULLE_EXPORT int rselect(int count, fd_set* readable, fd_set* writable, fd_set* exceptional,
                         timeval* timeout) {
    std::vector<pollfd> files;
    for (int number = 0; number < count; ++number) {
        int events = 0;
        if (is_in(number, readable)) events |= POLLIN;
        if (is_in(number, writable)) events |= POLLOUT;
        if (is_in(number, exceptional)) events |= POLLPRI;
        if (events != 0) files.push_back({number, static_cast<short>(events), 0});
    }
    const int patience =
        timeout != nullptr
            ? static_cast<int>(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000)
            : -1;
    const int found = Poll(files).run(patience);
    if (found < 0) return found;
    return keep_ready(readable, files, POLLIN | POLLHUP | POLLERR) +
           keep_ready(writable, files, POLLOUT | POLLERR) + keep_ready(exceptional, files, POLLPRI);
}
